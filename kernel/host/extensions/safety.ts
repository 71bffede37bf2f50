/** Refuses files whose real path differs from the apparent one, and files that other users own or can write. */
import { existsSync, realpathSync } from "node:fs";
import { basename, join, relative } from "node:path";
import { listFilesBelow } from "../../files/listing.ts";
import { isInside, listPathsUpTo, findOwnershipProblem } from "../../files/own.ts";
import type { Root } from "./roots.ts";

const CODE = /\.(?:[cm]?[jt]sx?|node)$/;

/**
 * Returns why a directory is unsafe to load, or undefined. Bundled extensions are as safe as the package; files of
 * others must be owned and writable by the gateway's user alone.
 */
export function findSafetyProblem(realDir: string, entry: string, root: Root): string | undefined {
  if (root.name === "bundled") return undefined;
  const rootDir = realpathSync.native(root.dir);
  if (!isInside(realDir, rootDir))
    return "its real path is outside its root: copy it into the root instead of linking to it";
  if (!isInside(realpathSync.native(entry), realDir))
    return `the real path of ${basename(entry)} is outside its directory`;
  return findOwnershipProblem([rootDir, realDir, entry], (path) => basename(path));
}

/** Returns why the files of a bundle must not run: others own or may write one of them, or a link leaves the root. */
export function findInputProblem(
  root: Root,
  realDir: string,
  inputs: readonly string[],
): string | undefined {
  if (root.name === "bundled") return undefined;
  const files = listFilesBelow(realDir, "node_modules", ".git").filter(({ path }) =>
    existsSync(join(realDir, path)),
  );
  // Code that is only required at run time is not part of the bundle's inputs.
  const code = files.filter(({ path }) => CODE.test(path)).map(({ path }) => join(realDir, path));
  const paths = new Set([...inputs, ...code].flatMap((file) => listPathsUpTo(file, realDir)));
  const problem = findOwnershipProblem(paths, (path) => relative(realDir, path));
  if (problem) return problem;
  const links = files.filter(({ entry }) => entry.isSymbolicLink()).map(({ path }) => path);
  const escapingLink = links.find(
    (path) => !isInside(realpathSync.native(join(realDir, path)), realpathSync.native(root.dir)),
  );
  return escapingLink && `the real path of ${escapingLink} is outside its root`;
}

/** What must not be loaded: files that lie elsewhere than they seem to, or that are not the gateway's user's alone. */
import { existsSync, realpathSync } from "node:fs";
import { basename, dirname, join, relative } from "node:path";
import { filesBelow } from "../files/listing.ts";
import { isInside, whyNotOwn } from "../files/own.ts";
import type { Root } from "./roots.ts";

/** The bundled extensions are as safe as the package itself; of others nobody else may own or write the files. */
export function whyUnsafe(realDir: string, entry: string, root: Root): string | undefined {
  if (root.name === "bundled") return undefined;
  const rootDir = realpathSync.native(root.dir);
  if (!isInside(realDir, rootDir)) return "its real path leaves its root: copy it there instead of linking to it";
  if (!isInside(realpathSync.native(entry), realDir)) return `the real path of ${basename(entry)} leaves its directory`;
  for (const path of [rootDir, realDir, entry]) {
    const why = whyNotOwn(path, basename(path));
    if (why) return why;
  }
  return undefined;
}

/** Why the files that went into a bundle must not run: one of them is not ours alone, or a link leaves the root. */
export function whyInputsUnsafe(root: Root, realDir: string, inputs: readonly string[]): string | undefined {
  if (root.name === "bundled") return undefined;
  const paths = new Set<string>();
  for (const input of inputs) {
    paths.add(input);
    for (let dir = dirname(input); dir !== realDir; dir = dirname(dir)) {
      paths.add(dir);
      if (!isInside(dir, realDir)) break;
    }
  }
  for (const path of paths) {
    const why = whyNotOwn(path, relative(realDir, path));
    if (why) return why;
  }
  return linkThatLeaves(realDir, realpathSync.native(root.dir));
}

function linkThatLeaves(dir: string, root: string): string | undefined {
  const leaves = (file: string) => existsSync(file) && !isInside(realpathSync.native(file), root);
  const links = filesBelow(dir, "node_modules", ".git").filter(({ entry }) => entry.isSymbolicLink());
  const found = links.find(({ path }) => leaves(join(dir, path)));
  return found && `the real path of ${found.path} leaves its root`;
}

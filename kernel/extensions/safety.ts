/** What must not be loaded: files that lie elsewhere than they seem to, or that others may write. */
import { existsSync, readdirSync, realpathSync, statSync } from "node:fs";
import { basename, dirname, join, relative, sep } from "node:path";
import type { Found, Root } from "./discover.ts";

/** The files may not be loaded, whatever they hold. */
export class UnsafeError extends Error {}

/** The bundled extensions are as safe as the package itself; of others nobody else may write the files. */
export function whyUnsafe(realDir: string, entry: string, root: Root): string | undefined {
  if (root.name === "bundled") return undefined;
  if (!isInside(realDir, realpathSync(root.dir)))
    return "its real path leaves its root: copy it there instead of linking to it";
  if (!isInside(realpathSync(entry), realDir)) return `the real path of ${basename(entry)} leaves its directory`;
  return whyOthersMayWrite(realDir, basename(realDir)) ?? whyOthersMayWrite(entry, basename(entry));
}

/** Why the files that went into a bundle must not run: others may write one of them, or a link leaves the root. */
export function whyInputsUnsafe(
  { root, realDir }: Pick<Found, "root" | "realDir">,
  inputs: readonly string[],
): string | undefined {
  if (root.name === "bundled") return undefined;
  for (const input of inputs) {
    const paths = [input];
    for (let dir = dirname(input); isInside(dir, realDir) && dir !== realDir; dir = dirname(dir)) paths.push(dir);
    for (const path of paths) {
      const why = whyOthersMayWrite(path, relative(realDir, path));
      if (why) return why;
    }
  }
  return linkThatLeaves(realDir, realpathSync(root.dir));
}

export function isInside(path: string, dir: string): boolean {
  return path === dir || path.startsWith(dir.endsWith(sep) ? dir : dir + sep);
}

function whyOthersMayWrite(path: string, name: string): string | undefined {
  const { mode, uid } = statSync(path);
  if (mode & 0o022) return `others may write ${name}: run chmod go-w on it`;
  const own = process.getuid?.();
  return own !== undefined && own !== 0 && uid !== own && uid !== 0 ? `${name} belongs to another user` : undefined;
}

function linkThatLeaves(dir: string, root: string): string | undefined {
  for (const entry of readdirSync(dir, { withFileTypes: true })) {
    if (entry.name === "node_modules" || entry.name === ".git") continue;
    const path = join(dir, entry.name);
    if (entry.isSymbolicLink() && existsSync(path) && !isInside(realpathSync(path), root)) {
      return `the real path of ${entry.name} leaves its root`;
    }
    if (entry.isDirectory()) {
      const below = linkThatLeaves(path, root);
      if (below) return below;
    }
  }
  return undefined;
}

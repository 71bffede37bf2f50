/** Whose files are whose: code runs only where nobody else could have written it. */
import { statSync } from "node:fs";
import { dirname, join, sep } from "node:path";

export function isInside(path: string, dir: string): boolean {
  return path === dir || path.startsWith(dir.endsWith(sep) ? dir : dir + sep);
}

/** Whether it is of the package's own hooks and plugins: a home may lie below the package, and is its user's. */
export const isBundled = (file: string, packageDir: string): boolean =>
  ["hooks", "plugins"].some((kind) => isInside(file, join(packageDir, kind)));

/** Why one of these is not the gateway's user's alone; no exemption for root, neither as owner nor as that user. */
export function whyNotOwn(
  paths: Iterable<string>,
  nameOf: (path: string) => string = String,
): string | undefined {
  const own = process.getuid?.();
  for (const path of paths) {
    const { mode, uid } = statSync(path);
    if (own !== undefined && uid !== own)
      return `${nameOf(path)} belongs to another user (${uid}) than the gateway's (${own}): run chown on it`;
    if (mode & 0o022) return `others may write ${nameOf(path)}: run chmod go-w on it`;
  }
  return undefined;
}

/** A file and the directories in which it lies up to `top`, or its own where it lies elsewhere. */
export function pathsUpTo(file: string, top: string): string[] {
  const dir = dirname(file);
  return dir === top || !isInside(dir, top) ? [file, dir] : [file, ...pathsUpTo(dir, top)];
}

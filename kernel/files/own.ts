/** Checks who owns files, because code runs only if nobody else could have written it. */
import { statSync } from "node:fs";
import { dirname, join, sep } from "node:path";

export function isInside(path: string, dir: string): boolean {
  return path === dir || path.startsWith(dir.endsWith(sep) ? dir : dir + sep);
}

/** Whether the file belongs to the package's own hooks and plugins. A home below the package belongs to its user. */
export const isBundled = (file: string, packageDir: string): boolean =>
  ["hooks", "plugins"].some((kind) => isInside(file, join(packageDir, kind)));

/**
 * Returns why one of the paths does not belong to the gateway's user alone, or undefined. Root is no exception, neither
 * as owner nor as that user.
 */
export function findOwnershipProblem(
  paths: Iterable<string>,
  nameOf: (path: string) => string = String,
): string | undefined {
  const userId = process.getuid?.();
  for (const path of paths) {
    const { mode, uid } = statSync(path);
    if (userId !== undefined && uid !== userId)
      return `${nameOf(path)} belongs to user ${uid}, but the gateway runs as user ${userId}: run chown on it`;
    if (mode & 0o022) return `other users may write ${nameOf(path)}: run chmod go-w on it`;
  }
  return undefined;
}

/** Returns a file and its directories up to `top`, or only its own directory if it is outside `top`. */
export function listPathsUpTo(file: string, top: string): string[] {
  const dir = dirname(file);
  return dir === top || !isInside(dir, top) ? [file, dir] : [file, ...listPathsUpTo(dir, top)];
}

/** Confines file sources to the workspace and the directories of `polls.roots`. */
import { realpathSync } from "node:fs";
import { resolve, sep } from "node:path";
import type { PluginContext } from "portico";
import { errors } from "../errors.ts";

export const listFileRoots = ({ paths }: PluginContext, roots: readonly string[]): string[] => [
  paths.workspace,
  ...roots,
];

/**
 * Returns the real path of a requested file; undefined if it does not exist. Throws 400 for a path outside all roots.
 */
export function confinePath(roots: readonly string[], requestedPath: string): string | undefined {
  let isMissing = false;
  for (const root of roots) {
    const realRoot = realPathOf(root);
    const path = resolve(root, requestedPath);
    if (!isInside(resolve(root), path) && (realRoot === undefined || !isInside(realRoot, path)))
      continue;
    const realPath = realRoot === undefined ? undefined : realPathOf(path);
    if (realRoot === undefined || realPath === undefined) isMissing = true;
    else if (isInside(realRoot, realPath)) return realPath;
  }
  if (isMissing) return undefined;
  throw errors.pathOutside({ param: "source.path" });
}

const isInside = (root: string, path: string): boolean =>
  path === root || path.startsWith(root.endsWith(sep) ? root : root + sep);

function realPathOf(path: string): string | undefined {
  try {
    return realpathSync.native(path);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ENOTDIR") return undefined;
    throw errors.pathUnreadable({ reason: String(code) }, { param: "source.path", cause: error });
  }
}

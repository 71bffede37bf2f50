/**
 * Confines the paths that a model names to the workspace. The checks use real paths and ignore case, because on some file
 * systems `Hooks` is the same as `hooks`.
 */
import { lstat, mkdir, realpath } from "node:fs/promises";
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from "node:path";
import { errors } from "../errors.ts";
import type { GuardedPlace } from "./rules.ts";

/** The options of all errors here, which concern the parameter `path`. */
const PATH_PARAM = { param: "path" };
const errorCode = (error: unknown): string | undefined => (error as NodeJS.ErrnoException).code;

/** The agent may not access packages, because hooks import their code. */
const PACKAGES_DIRECTORY = "node_modules";

/** A place with its real paths. */
export interface ResolvedPlace {
  root: string;
  forbiddenPaths: readonly string[];
  isDenied(path: string): boolean;
}

/** Resolves the paths of a place. A forbidden path that does not exist yet is forbidden as written. */
export async function resolvePlace({
  root,
  forbiddenPaths,
  isDenied,
}: GuardedPlace): Promise<ResolvedPlace> {
  const realPaths = await Promise.all(
    forbiddenPaths.map((path) => realpath(path).catch(() => path)),
  );
  return {
    root: await realpath(root),
    forbiddenPaths: [...new Set([...forbiddenPaths, ...realPaths])],
    isDenied,
  };
}

const isWithin = (root: string, path: string): boolean => {
  const rest = relative(root, path);
  return rest === "" || (rest !== ".." && !rest.startsWith(`..${sep}`) && !isAbsolute(rest));
};

export function isForbidden(
  path: string,
  { root, forbiddenPaths, isDenied }: ResolvedPlace,
): boolean {
  const name = path.toLowerCase();
  if (isDenied(relative(root, path))) return true;
  if (relative(root, path).toLowerCase().split(sep).includes(PACKAGES_DIRECTORY)) return true;
  return forbiddenPaths.some((directory) => isWithin(directory.toLowerCase(), name));
}

function checkPath(path: string, resolved: ResolvedPlace): string {
  if (!isWithin(resolved.root, path)) throw errors.outsideWorkspace(PATH_PARAM);
  if (isForbidden(path, resolved)) throw errors.barredPath(PATH_PARAM);
  return path;
}

/** Resolves a path below the real root, without following links in the rest of it. Throws 400 for a forbidden path. */
function resolveInside(place: GuardedPlace, resolved: ResolvedPlace, path: string): string {
  if (path.includes("\0")) throw errors.nulInPath(PATH_PARAM);
  const full = resolve(place.root, path);
  const base = isWithin(resolved.root, full) ? resolved.root : resolve(place.root);
  return checkPath(
    isWithin(base, full) ? join(resolved.root, relative(base, full)) : full,
    resolved,
  );
}

/** Returns the real path of an existing file or directory. Throws 404 `not_found`, or 400 for a forbidden path. */
export async function resolveExisting(place: GuardedPlace, path: string): Promise<string> {
  const resolved = await resolvePlace(place);
  const real = await realpath(resolveInside(place, resolved, path)).catch((error: unknown) => {
    const code = errorCode(error);
    if (code === "ENOENT" || code === "ENOTDIR")
      throw errors.unknownFile({ path: JSON.stringify(path) });
    throw errors.unreadablePath({ reason: code ?? "unknown reason" }, PATH_PARAM);
  });
  return checkPath(real, resolved);
}

/**
 * Prepares a write that adds the given number of bytes: creates the missing directories, without following links, and
 * returns the path. Throws `storage_full` if the caller may not store that much, and 400 for a forbidden path.
 */
export async function prepareWrite(
  place: GuardedPlace,
  path: string,
  bytes: number,
): Promise<string> {
  const resolved = await resolvePlace(place);
  const requestedPath = resolveInside(place, resolved, path);
  if (requestedPath === resolved.root) throw errors.workspaceAsFile(PATH_PARAM);
  const reason = place.whyProtected(requestedPath);
  if (reason !== undefined) throw errors.protectedFile({ reason }, PATH_PARAM);
  await place.admit(bytes);
  let directory = resolved.root;
  for (const part of relative(resolved.root, dirname(requestedPath)).split(sep).filter(Boolean)) {
    directory = join(directory, part);
    await mkdir(directory, { mode: 0o700 }).catch((error: unknown) => {
      if (errorCode(error) !== "EEXIST")
        throw errors.directoryNotMade({ reason: errorCode(error) ?? "unknown reason" }, PATH_PARAM);
    });
    if (!(await lstat(directory)).isDirectory()) throw errors.notADirectory(PATH_PARAM);
  }
  const target = join(directory, basename(requestedPath));
  const stats = await lstat(target).catch(() => undefined);
  if (stats !== undefined && !(stats.isFile() && stats.nlink === 1))
    throw errors.notAFileOfItsOwn(PATH_PARAM);
  return target;
}

/**
 * Paths that a model names stay in the workspace. They are judged by what the file system says of them, and without
 * regard to case: there are file systems to which `Hooks` is `hooks`.
 */
import { lstat, mkdir, realpath } from "node:fs/promises";
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from "node:path";
import { errors } from "../errors.ts";
import type { GuardedPlace } from "./rules.ts";

/** Every refusal here is about the parameter `path`. */
const OF_PATH = { param: "path" };
const errno = (error: unknown): string | undefined => (error as NodeJS.ErrnoException).code;

/** Packages are code that hooks import. */
const PACKAGES = "node_modules";

/** The real path of a place. */
export interface Ground {
  root: string;
  barred: readonly string[];
  isDenied(path: string): boolean;
}

/** What is not there yet is barred by its spelling. */
export async function groundOf({ root, barred, isDenied }: GuardedPlace): Promise<Ground> {
  const real = await Promise.all(barred.map((path) => realpath(path).catch(() => path)));
  return { root: await realpath(root), barred: [...new Set([...barred, ...real])], isDenied };
}

const isWithin = (root: string, path: string): boolean => {
  const rest = relative(root, path);
  return rest === "" || (rest !== ".." && !rest.startsWith(`..${sep}`) && !isAbsolute(rest));
};

export function isBarred(path: string, { root, barred, isDenied }: Ground): boolean {
  const name = path.toLowerCase();
  if (isDenied(relative(root, path))) return true;
  if (relative(root, path).toLowerCase().split(sep).includes(PACKAGES)) return true;
  return barred.some((one) => isWithin(one.toLowerCase(), name));
}

function judge(path: string, ground: Ground): string {
  if (!isWithin(ground.root, path)) throw errors.outsideWorkspace(OF_PATH);
  if (isBarred(path, ground)) throw errors.barredPath(OF_PATH);
  return path;
}

/** The path by its spelling, from the real root on. */
function spelled(place: GuardedPlace, ground: Ground, path: string): string {
  if (path.includes("\0")) throw errors.nulInPath(OF_PATH);
  const full = resolve(place.root, path);
  const base = isWithin(ground.root, full) ? ground.root : resolve(place.root);
  return judge(isWithin(base, full) ? join(ground.root, relative(base, full)) : full, ground);
}

/** The real path of what is there. Throws 404 `not_found`, and 400 for what is not the agent's. */
export async function existing(place: GuardedPlace, path: string): Promise<string> {
  const ground = await groundOf(place);
  const real = await realpath(spelled(place, ground, path)).catch((error: unknown) => {
    const why = errno(error);
    if (why === "ENOENT" || why === "ENOTDIR")
      throw errors.unknownFile({ path: JSON.stringify(path) });
    throw errors.unreadablePath({ reason: why ?? "unknown reason" }, OF_PATH);
  });
  return judge(real, ground);
}

/**
 * Where a file may be written with so many more bytes: its directories are made, and no link is followed on the way.
 * Throws `storage_full` where the caller may not keep so much.
 */
export async function writable(place: GuardedPlace, path: string, bytes: number): Promise<string> {
  const ground = await groundOf(place);
  const wanted = spelled(place, ground, path);
  if (wanted === ground.root) throw errors.workspaceAsFile(OF_PATH);
  const why = place.whyProtected(wanted);
  if (why !== undefined) throw errors.protectedFile({ reason: why }, OF_PATH);
  await place.admit(bytes);
  let at = ground.root;
  for (const part of relative(ground.root, dirname(wanted)).split(sep).filter(Boolean)) {
    at = join(at, part);
    await mkdir(at, { mode: 0o700 }).catch((error: unknown) => {
      if (errno(error) !== "EEXIST")
        throw errors.directoryNotMade({ reason: errno(error) ?? "unknown reason" }, OF_PATH);
    });
    if (!(await lstat(at)).isDirectory()) throw errors.notADirectory(OF_PATH);
  }
  const target = join(at, basename(wanted));
  const there = await lstat(target).catch(() => undefined);
  if (there !== undefined && !(there.isFile() && there.nlink === 1))
    throw errors.notAFileOfItsOwn(OF_PATH);
  return target;
}

/**
 * Confines files that callers name to a root directory. A path is checked by its real path in the file system, not by
 * its spelling. A file is written under a random name and then renamed, so that no link in its place is followed and no
 * partial file is visible.
 */
import { randomBytes } from "node:crypto";
import { constants, type Stats } from "node:fs";
import {
  chmod,
  type FileHandle,
  lstat,
  mkdir,
  mkdtemp,
  open,
  realpath,
  rename,
  unlink,
} from "node:fs/promises";
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from "node:path";
import { isPorticoError } from "portico";
import { errors } from "../errors.ts";

/** The parameter of the request that contains the path. */
const PATH_PARAM = { param: "path" } as const;
const errorCodeOf = (error: unknown): string | undefined => (error as NodeJS.ErrnoException).code;

function isInside(root: string, path: string): boolean {
  const rest = relative(root, path);
  return rest === "" || (rest !== ".." && !rest.startsWith(`..${sep}`) && !isAbsolute(rest));
}

/** The limits of file systems in bytes. The limit of a path leaves room for the directories above the root. */
const MAX_NAME_BYTES = 255;
const MAX_PATH_BYTES = 3000;

/**
 * Resolves a path, relative to the root or absolute inside it, by its spelling. Throws a 400 if it is not below `root`.
 */
function resolveInside(rootPath: string, userPath: string): string {
  const root = resolve(rootPath);
  if (userPath === "" || userPath.includes("\0")) throw errors.pathEmpty(PATH_PARAM);
  const parts = userPath.split(/[/\\]/);
  if (parts.includes("..")) throw errors.pathWithDots(PATH_PARAM);
  if (
    parts.some((part) => Buffer.byteLength(part) > MAX_NAME_BYTES) ||
    Buffer.byteLength(userPath) > MAX_PATH_BYTES
  )
    throw errors.pathTooLong({ nameBytes: MAX_NAME_BYTES, pathBytes: MAX_PATH_BYTES }, PATH_PARAM);
  const full = resolve(root, userPath);
  if (full === root || !isInside(root, full)) {
    throw errors.pathOutside(PATH_PARAM);
  }
  return full;
}

/** Creates the directories from `root` down to `dir` one by one, and refuses to follow a link. */
async function createParents(root: string, dir: string): Promise<void> {
  let current = root;
  for (const part of relative(root, dir).split(sep).filter(Boolean)) {
    current = join(current, part);
    await mkdir(current, { mode: 0o700 }).catch((error: unknown) => {
      if (errorCodeOf(error) !== "EEXIST") throw error;
    });
    if (!(await lstat(current)).isDirectory()) throw errors.pathNotDirectory(PATH_PARAM);
  }
}

/**
 * Returns the path for a file that a caller named: below `root` (which is created if missing), with the real path of
 * its parent below that of the root, and with no link at its end. Rejects with a 400 `invalid_request_error` with
 * `param: "path"`.
 */
export async function confinedPath(root: string, userPath: string): Promise<string> {
  await mkdir(root, { recursive: true, mode: 0o700 });
  const full = resolveInside(root, userPath);
  await createParents(resolve(root), dirname(full));
  const realRoot = await realpath(root);
  const parent = await realpath(dirname(full));
  if (!isInside(realRoot, parent)) throw errors.pathLeadsOut(PATH_PARAM);
  const path = join(parent, basename(full));
  const stats = await lstat(path).catch(() => undefined);
  if (stats !== undefined && !stats.isFile()) throw errors.pathOccupied(PATH_PARAM);
  return path;
}

/** A file that is written under a random name. `commit` moves it to its path in one step, `discard` removes it. */
export interface ConfinedFile {
  /** The final path. */
  readonly path: string;
  /** The temporary path, in the same directory. */
  readonly temporary: string;
  readonly handle: FileHandle;
  commit(): Promise<string>;
  discard(): Promise<void>;
}

/** The type of `ctx.whyProtected`, which returns the reason why a path must not be written for the agent. */
export type WhyProtected = (path: string, root?: string) => string | undefined;

/**
 * Opens a file below `root` for writing (mode 0600). `commit` replaces an existing regular file. `whyProtected` is
 * passed if a caller named the file, since the gateway's own files may be below the same root.
 */
export async function openConfined(
  root: string,
  userPath: string,
  whyProtected: WhyProtected = () => undefined,
): Promise<ConfinedFile> {
  const path = await confinedPath(root, userPath);
  const reason = whyProtected(path, root);
  if (reason !== undefined) throw errors.pathProtected({ reason }, PATH_PARAM);
  const temporary = join(dirname(path), `.${randomBytes(12).toString("hex")}.part`);
  const flags =
    constants.O_CREAT | constants.O_EXCL | constants.O_WRONLY | (constants.O_NOFOLLOW ?? 0);
  const handle = await open(temporary, flags, 0o600);
  let hasEnded = false;
  const closeOnce = async (): Promise<boolean> => {
    if (hasEnded) return false;
    hasEnded = true;
    await handle.close();
    return true;
  };
  return {
    path,
    temporary,
    handle,
    async commit() {
      if (await closeOnce()) await rename(temporary, path);
      return path;
    },
    async discard() {
      if (await closeOnce()) await unlink(temporary).catch(() => {});
    },
  };
}

/** Writes a file below `root` and returns its path. */
export async function writeConfined(
  root: string,
  userPath: string,
  content: string | Uint8Array,
): Promise<string> {
  const file = await openConfined(root, userPath);
  try {
    await file.handle.writeFile(content);
    return await file.commit();
  } catch (error) {
    await file.discard();
    throw error;
  }
}

/**
 * Returns the real path of an existing file below `root` (the upload directory) that may be uploaded. Rejects with a
 * 400 with `param`, which names the request's parameter of the path.
 */
export async function checkUpload(root: string, userPath: string, param = "path"): Promise<string> {
  try {
    return await existingFile(root, userPath);
  } catch (error) {
    if (!isPorticoError(error)) throw error;
    throw errors.uploadRefused({ reason: error.message }, { param, cause: error });
  }
}

/**
 * Returns the real path of a file below `root`. It must be a regular file with a single hard link (another one could be
 * a different user's file), reached without leaving the root. Rejects with a 400 `invalid_request_error` with `param:
 * "path"`.
 */
export async function existingFile(root: string, userPath: string): Promise<string> {
  const full = resolveInside(root, userPath);
  const missing = errors.fileMissing(PATH_PARAM);
  const realRoot = await realpath(root).catch(() => Promise.reject(missing));
  const path = await realpath(full).catch(() => Promise.reject(missing));
  if (!isInside(realRoot, path)) throw errors.pathLeadsOut(PATH_PARAM);
  // To check the very file that will be opened, the last path segment follows no link and the open file itself is
  // examined.
  const handle = await open(
    path,
    constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0),
  ).catch(() => Promise.reject(errors.fileUnreadable(PATH_PARAM)));
  try {
    const stats = await handle.stat();
    if (!stats.isFile()) throw errors.fileNotRegular(PATH_PARAM);
    if (stats.nlink !== 1) throw errors.fileWithLinks(PATH_PARAM);
  } finally {
    await handle.close();
  }
  return path;
}

function isOurs(stats: Stats): boolean {
  return stats.isDirectory() && (process.getuid === undefined || stats.uid === process.getuid());
}

/**
 * Creates the temporary root, private to this user: `path` (normally `<os tmp>/portico`) with mode 0700. Its name is
 * predictable, so another user may have created it first. In that case, or if it is a link, a new private directory
 * beside it (`<path>-XXXXXX`) is used and `fallback` is true.
 */
export async function ensureTmpRoot(path: string): Promise<{ path: string; fallback: boolean }> {
  await mkdir(dirname(path), { recursive: true });
  await mkdir(path, { mode: 0o700 }).catch((error: unknown) => {
    if (errorCodeOf(error) !== "EEXIST") throw error;
  });
  const stats = await lstat(path);
  if (!isOurs(stats)) return { path: await mkdtemp(`${path}-`), fallback: true };
  if ((stats.mode & 0o077) !== 0) await chmod(path, 0o700);
  return { path, fallback: false };
}

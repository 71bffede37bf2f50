/**
 * Files that callers name stay under a root of ours. A path is checked on what the file system says (real paths), not
 * on its spelling, and a file is written under a random name that is then renamed: no link that stands in its place is
 * followed, and no half-written file is seen.
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

/** Where in a request the path stands. */
const IN_PATH = { param: "path" } as const;
const errno = (error: unknown): string | undefined => (error as NodeJS.ErrnoException).code;

function isInside(root: string, path: string): boolean {
  const rest = relative(root, path);
  return rest === "" || (rest !== ".." && !rest.startsWith(`..${sep}`) && !isAbsolute(rest));
}

/** The limits of file systems; that of a path leaves room for the directories before it. */
const LONGEST_NAME = 255;
const LONGEST_PATH = 3000;

/** Absolute path below `root` by spelling; a path may be given relative to the root or absolute inside it. */
function spelledInside(rootPath: string, userPath: string): string {
  const root = resolve(rootPath);
  if (userPath === "" || userPath.includes("\0")) throw errors.pathEmpty(IN_PATH);
  const parts = userPath.split(/[/\\]/);
  if (parts.includes("..")) throw errors.pathWithDots(IN_PATH);
  if (
    parts.some((part) => Buffer.byteLength(part) > LONGEST_NAME) ||
    Buffer.byteLength(userPath) > LONGEST_PATH
  )
    throw errors.pathTooLong({ nameBytes: LONGEST_NAME, pathBytes: LONGEST_PATH }, IN_PATH);
  const full = resolve(root, userPath);
  if (full === root || !isInside(root, full)) {
    throw errors.pathOutside(IN_PATH);
  }
  return full;
}

/** Makes the directories from `root` down to `dir`, one by one, and refuses to go through a link. */
async function makeParents(root: string, dir: string): Promise<void> {
  let at = root;
  for (const part of relative(root, dir).split(sep).filter(Boolean)) {
    at = join(at, part);
    await mkdir(at, { mode: 0o700 }).catch((error: unknown) => {
      if (errno(error) !== "EEXIST") throw error;
    });
    if (!(await lstat(at)).isDirectory()) throw errors.pathNotDirectory(IN_PATH);
  }
}

/**
 * Where a file named by a caller will lie: below `root` (made where it is missing), its parent's real path below the
 * root's, no link at the end. Throws 400 `invalid_request_error` with `param: "path"`.
 */
export async function confinedPath(root: string, userPath: string): Promise<string> {
  await mkdir(root, { recursive: true, mode: 0o700 });
  const full = spelledInside(root, userPath);
  await makeParents(resolve(root), dirname(full));
  const realRoot = await realpath(root);
  const parent = await realpath(dirname(full));
  if (!isInside(realRoot, parent)) throw errors.pathLeadsOut(IN_PATH);
  const path = join(parent, basename(full));
  const stats = await lstat(path).catch(() => undefined);
  if (stats !== undefined && !stats.isFile()) throw errors.pathOccupied(IN_PATH);
  return path;
}

/** A file being written under a random name; `commit` puts it in its place in one step, `discard` removes it. */
export interface ConfinedFile {
  /** The final path. */
  readonly path: string;
  /** Where it is written meanwhile, in the same directory. */
  readonly temporary: string;
  readonly handle: FileHandle;
  commit(): Promise<string>;
  discard(): Promise<void>;
}

/** `ctx.whyProtected`: why nothing may write a file for the agent. */
export type WhyProtected = (path: string, root?: string) => string | undefined;

/**
 * Opens a file below `root` for writing (0600); replaces a regular file that is there when committed. `whyProtected` is
 * asked where a caller named the file: the gateway's own files may lie below the same root.
 */
export async function openConfined(
  root: string,
  userPath: string,
  whyProtected: WhyProtected = () => undefined,
): Promise<ConfinedFile> {
  const path = await confinedPath(root, userPath);
  const why = whyProtected(path, root);
  if (why !== undefined) throw errors.pathProtected({ reason: why }, IN_PATH);
  const temporary = join(dirname(path), `.${randomBytes(12).toString("hex")}.part`);
  const flags =
    constants.O_CREAT | constants.O_EXCL | constants.O_WRONLY | (constants.O_NOFOLLOW ?? 0);
  const handle = await open(temporary, flags, 0o600);
  let ended = false;
  const end = async (): Promise<boolean> => {
    if (ended) return false;
    ended = true;
    await handle.close();
    return true;
  };
  return {
    path,
    temporary,
    handle,
    async commit() {
      if (await end()) await rename(temporary, path);
      return path;
    },
    async discard() {
      if (await end()) await unlink(temporary).catch(() => {});
    },
  };
}

/** Writes a whole file below `root` and answers its path. */
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
 * The real path of an existing file below `root` (the upload directory) that may be handed on. Throws 400 with `param`:
 * where in the request the path stands.
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
 * The real path of a file below `root`: a regular one, with one name only (a second hard link could be somebody else's
 * file), reached without leaving the root. Throws 400 `invalid_request_error` with `param: "path"`.
 */
export async function existingFile(root: string, userPath: string): Promise<string> {
  const full = spelledInside(root, userPath);
  const missing = errors.fileMissing(IN_PATH);
  const realRoot = await realpath(root).catch(() => Promise.reject(missing));
  const path = await realpath(full).catch(() => Promise.reject(missing));
  if (!isInside(realRoot, path)) throw errors.pathLeadsOut(IN_PATH);
  // What was judged is what is opened: the last step follows no link, and the open file itself is looked at.
  const handle = await open(
    path,
    constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0),
  ).catch(() => Promise.reject(errors.fileUnreadable(IN_PATH)));
  try {
    const stats = await handle.stat();
    if (!stats.isFile()) throw errors.fileNotRegular(IN_PATH);
    if (stats.nlink !== 1) throw errors.fileWithLinks(IN_PATH);
  } finally {
    await handle.close();
  }
  return path;
}

function isOurs(stats: Stats): boolean {
  return stats.isDirectory() && (process.getuid === undefined || stats.uid === process.getuid());
}

/**
 * The temporary root, private to this user: `path` (normally `<os tmp>/portico`) made with mode 0700. The name can be
 * guessed, so another user may have made it first: then, or where it is a link, a fresh private directory beside it
 * (`<path>-XXXXXX`) is used instead and `fallback` is true.
 */
export async function ensureTmpRoot(path: string): Promise<{ path: string; fallback: boolean }> {
  await mkdir(dirname(path), { recursive: true });
  await mkdir(path, { mode: 0o700 }).catch((error: unknown) => {
    if (errno(error) !== "EEXIST") throw error;
  });
  const stats = await lstat(path);
  if (!isOurs(stats)) return { path: await mkdtemp(`${path}-`), fallback: true };
  if ((stats.mode & 0o077) !== 0) await chmod(path, 0o700);
  return { path, fallback: false };
}

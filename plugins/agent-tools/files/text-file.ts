/** Reads and writes text files of limited size. A write replaces the file atomically. */
import { randomBytes } from "node:crypto";
import { constants } from "node:fs";
import { type FileHandle, open, rename, stat, unlink } from "node:fs/promises";
import { dirname, join } from "node:path";
import { errors } from "../errors.ts";

/** The largest file that a tool reads or writes. */
export const MAX_BYTES = 5_000_000;

/** The options of all errors here, which concern the parameter `path`. */
const PATH_PARAM = { param: "path" };

/** Opens a regular file. The open neither waits for the other end of a pipe nor follows a link. */
async function openFile(path: string): Promise<FileHandle> {
  const file = await open(
    path,
    constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW,
  ).catch((error: NodeJS.ErrnoException) => {
    throw errors.unreadableFile({ reason: error.code ?? error.message }, PATH_PARAM);
  });
  const stats = await file.stat();
  if (stats.isFile() && stats.nlink === 1 && stats.size <= MAX_BYTES) return file;
  await file.close();
  if (stats.isDirectory()) throw errors.directoryRead(PATH_PARAM);
  if (!stats.isFile()) throw errors.notRegular(PATH_PARAM);
  if (stats.nlink !== 1) throw errors.hardLinked(PATH_PARAM);
  throw errors.fileTooLarge({ bytes: stats.size, max: MAX_BYTES }, PATH_PARAM);
}

/** Reads a file whose real path was checked before. Throws 400 if it is not text, or too large. */
export async function readText(path: string): Promise<string> {
  const file = await openFile(path);
  try {
    const bytes = await file.readFile();
    if (bytes.includes(0)) throw errors.notText(PATH_PARAM);
    return bytes.toString("utf8");
  } finally {
    await file.close();
  }
}

/** Replaces a file atomically, and keeps its mode. */
export async function writeText(path: string, text: string): Promise<void> {
  const mode = (await stat(path).catch(() => undefined))?.mode ?? 0o600;
  const temporary = join(dirname(path), `.${randomBytes(8).toString("hex")}.part`);
  try {
    const file = await open(temporary, "wx", mode & 0o777);
    try {
      await file.writeFile(text);
      await file.chmod(mode & 0o777);
    } finally {
      await file.close();
    }
    await rename(temporary, path);
  } catch (error) {
    await unlink(temporary).catch(() => {});
    throw errors.unwritableFile(
      { reason: (error as NodeJS.ErrnoException).code ?? "unknown reason" },
      PATH_PARAM,
    );
  }
}

/** Text files as the tools read and write them: of bounded size, whole or not at all. */
import { randomBytes } from "node:crypto";
import { constants } from "node:fs";
import { type FileHandle, open, rename, stat, unlink } from "node:fs/promises";
import { dirname, join } from "node:path";
import { errors } from "../errors.ts";

/** Larger files are not for a model to read. */
export const MOST_BYTES = 5_000_000;

/** Every refusal here is about the parameter `path`. */
const OF_PATH = { param: "path" };

/** Opened without waiting for the other end of a pipe, and through no link. */
async function openFile(path: string): Promise<FileHandle> {
  const file = await open(
    path,
    constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW,
  ).catch((error: NodeJS.ErrnoException) => {
    throw errors.unreadableFile({ reason: error.code ?? error.message }, OF_PATH);
  });
  const facts = await file.stat();
  if (facts.isFile() && facts.nlink === 1 && facts.size <= MOST_BYTES) return file;
  await file.close();
  if (facts.isDirectory()) throw errors.directoryRead(OF_PATH);
  if (!facts.isFile()) throw errors.notRegular(OF_PATH);
  if (facts.nlink !== 1) throw errors.hardLinked(OF_PATH);
  throw errors.fileTooLarge({ bytes: facts.size, max: MOST_BYTES }, OF_PATH);
}

/** The real path `path` was judged before. Throws 400 for what is no text of a size to be read. */
export async function readText(path: string): Promise<string> {
  const file = await openFile(path);
  try {
    const bytes = await file.readFile();
    if (bytes.includes(0)) throw errors.notText(OF_PATH);
    return bytes.toString("utf8");
  } finally {
    await file.close();
  }
}

/** In one step, with the mode of what is replaced. */
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
      OF_PATH,
    );
  }
}

/** Files that several processes read and change: configuration and its history. */
import { promises } from "node:fs";
import type { FileHandle } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { openAlone } from "../files/open-alone.ts";
import { describeReason } from "../files/reason.ts";
import { errors } from "./errors.ts";

/** Reads a file; undefined if it does not exist. Throws `invalid_config` if it cannot be read or is not UTF-8. */
export async function readText(file: string): Promise<string | undefined> {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(
      await promises.readFile(file),
    );
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw unusableFile("read", file, error);
  }
}

/**
 * Replaces the file's text by the result of `edit`; undefined leaves it unchanged. No other process writes through this
 * function between the reading and the writing; if anyone else writes meanwhile, the new text is edited again. A crash
 * leaves the old text or the new one, never a part. The mode is 0600. A link is followed, not replaced. Resolves to
 * whether the text changed.
 */
export async function editFile(
  file: string,
  edit: (text: string | undefined) => Promise<string | undefined>,
): Promise<boolean> {
  const target = await promises.realpath(file).catch(() => file);
  const lock = await acquireLock(target, file);
  try {
    for (;;) {
      const originalText = await readText(target);
      const text = await edit(originalText);
      if (text === undefined || text === originalText) return false;
      await writeTo(lock.handle, text, file);
      if ((await readText(target)) !== originalText) continue;
      await replaceFile(lock.path, target, file);
      lock.renamed = true;
      return true;
    }
  } finally {
    await lock.handle.close();
    if (!lock.renamed) await promises.rm(lock.path, { force: true });
  }
}

/** Creates the temporary file, which is also the lock until it is renamed. */
async function acquireLock(target: string, file: string) {
  const directory = dirname(target);
  const path = join(directory, `.${basename(target)}.tmp`);
  try {
    await promises.mkdir(directory, { recursive: true, mode: 0o700 });
    return { path, handle: await openAlone(path), renamed: false };
  } catch (error) {
    throw unusableFile("written", file, error);
  }
}

async function writeTo(handle: FileHandle, text: string, file: string): Promise<void> {
  try {
    await handle.truncate(0);
    await handle.write(Buffer.from(text), 0, undefined, 0);
    await handle.sync();
  } catch (error) {
    throw unusableFile("written", file, error);
  }
}

async function replaceFile(temporary: string, target: string, file: string): Promise<void> {
  try {
    await promises.rename(temporary, target);
    await syncDirectory(dirname(target));
  } catch (error) {
    throw unusableFile("written", file, error);
  }
}

// The rename is durable only once the directory is synced, which not every file system supports.
async function syncDirectory(directory: string): Promise<void> {
  const handle = await promises.open(directory, "r").catch(() => undefined);
  await handle?.sync().catch(() => undefined);
  await handle?.close();
}

function unusableFile(verb: "read" | "written", file: string, cause: unknown): Error {
  const values = { file: basename(file), verb, reason: describeReason(cause) };
  return errors.unusableFile(values, { cause });
}

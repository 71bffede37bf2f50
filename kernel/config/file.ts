import { promises } from "node:fs";
import { basename, dirname, join } from "node:path";
import { PorticoError } from "../errors.ts";
import { openAlone } from "../files/open-alone.ts";
import { reasonOf } from "../files/reason.ts";

/** The file's text; undefined where there is none. Throws `invalid_config` where it cannot be read or is not UTF-8. */
export async function readText(file: string): Promise<string | undefined> {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(
      await promises.readFile(file),
    );
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw unusable("read", file, error);
  }
}

/**
 * Puts `text` in the file's place at once: a crash leaves the old text or the new, never a part. Mode 0600. A link is
 * followed, not replaced. With `unless`, nothing is written when it returns true just before the swap; between its
 * return and the swap no other process writes through here.
 */
export async function writeText(
  file: string,
  text: string,
  unless?: () => Promise<boolean>,
): Promise<boolean> {
  const target = await promises.realpath(file).catch(() => file);
  const directory = dirname(target);
  const temporary = join(directory, `.${basename(target)}.tmp`);
  let mine = false;
  try {
    await promises.mkdir(directory, { recursive: true, mode: 0o700 });
    const handle = await openAlone(temporary); // the half-made file is the lock too, until it is renamed
    mine = true;
    try {
      await handle.writeFile(text);
      await handle.sync();
    } finally {
      await handle.close();
    }
    if (await unless?.()) {
      await promises.rm(temporary, { force: true });
      return false;
    }
    await promises.rename(temporary, target);
    await syncDirectory(directory);
    return true;
  } catch (error) {
    if (mine) await promises.rm(temporary, { force: true }).catch(() => undefined);
    throw unusable("written", file, error);
  }
}

// The rename itself is only safe once the directory is on the disk. Not every file system lets a directory be synced.
async function syncDirectory(directory: string): Promise<void> {
  const handle = await promises.open(directory, "r").catch(() => undefined);
  await handle?.sync().catch(() => undefined);
  await handle?.close();
}

function unusable(what: "read" | "written", file: string, cause: unknown): PorticoError {
  const message = `The configuration ${basename(file)} cannot be ${what}: ${reasonOf(cause)}.`;
  return new PorticoError("invalid_config", message, { status: 500, cause });
}

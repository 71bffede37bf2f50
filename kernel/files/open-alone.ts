import { promises } from "node:fs";
import type { FileHandle } from "node:fs/promises";

const STALE_MS = 5_000;

/** Makes a file that is a lock while it is there: waits for the one of another process, unless that has died and left it. */
export async function openAlone(file: string): Promise<FileHandle> {
  for (;;) {
    try {
      return await promises.open(file, "wx", 0o600);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
      const { mtimeMs } = await promises.stat(file).catch(() => ({ mtimeMs: Date.now() }));
      if (Date.now() - mtimeMs > STALE_MS) await promises.rm(file, { force: true });
      else await new Promise((resolve) => setTimeout(resolve, 10));
    }
  }
}

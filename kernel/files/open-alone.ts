import { promises, rmSync, statSync } from "node:fs";
import type { FileHandle } from "node:fs/promises";

const STALE_MS = 20_000; // A live process releases the lock within this time, even on a busy disk.

/** Makes a file that is a lock while it is there: waits for the one of another process, unless that has died and left it. */
export async function openAlone(file: string): Promise<FileHandle> {
  for (;;) {
    try {
      return await promises.open(file, "wx", 0o600);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
      const age = Date.now() - (statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? Date.now());
      if (age > STALE_MS) rmSync(file, { force: true });
      else await new Promise((resolve) => setTimeout(resolve, 10)); // never between look and removal: another is faster
    }
  }
}

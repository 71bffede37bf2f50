import { promises, rmSync, statSync } from "node:fs";
import type { FileHandle } from "node:fs/promises";

const STALE_MS = 20_000; // A live process releases the lock within this time, even on a busy disk.

/** Creates a lock file. Waits while another process has it, and removes it if that process has died. */
export async function openAlone(file: string): Promise<FileHandle> {
  for (;;) {
    try {
      return await promises.open(file, "wx", 0o600);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
      const age = Date.now() - (statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? Date.now());
      if (age > STALE_MS) rmSync(file, { force: true });
      else await new Promise((resolve) => setTimeout(resolve, 10)); // not between the check and the removal, where another process could be faster
    }
  }
}

/** The log file: written in the background, limited in size, and reopened after an error. */
import { mkdirSync } from "node:fs";
import { type FileHandle, open, rename, rm, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { openAlone } from "../files/open-alone.ts";

const MAX_BYTES = 10 * 1024 * 1024;
/**
 * The time that lines may wait for others. Each write wakes a thread of the pool, which costs a busy machine as much as
 * five requests.
 */
const DELAY_MS = 50;
/** The interval of checks whether another program has moved the file. */
const CHECK_MS = 1_000;
/** At most one error is reported within this time, because a full disk causes one for every write. */
const SILENCE_MS = 60_000;

export interface LogFileOptions {
  file: string;
  /** A file that has reached this size is moved to `<file>.1`, which it replaces. */
  maxBytes?: number | undefined;
  /** Called in the background. */
  onError(error: unknown): void;
}

export class LogFile {
  readonly #file: string;
  readonly #maxBytes: number;
  readonly #onError: (error: unknown) => void;
  #handle: FileHandle | undefined;
  #bytes = 0;
  /** The lines that are not written yet. */
  #pendingText = "";
  #scheduled: NodeJS.Timeout | undefined;
  #writing: Promise<void> = Promise.resolve();
  /** True if the last write may have ended within a line. */
  #isTorn = false;
  #checkedAt = 0;
  #reportedAt = Number.NEGATIVE_INFINITY;

  constructor({ file, maxBytes = MAX_BYTES, onError }: LogFileOptions) {
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
    this.#file = file;
    this.#maxBytes = maxBytes;
    this.#onError = onError;
  }

  /** Writes a line soon. Never throws. Lines that cannot be written are missing from the file. */
  write(line: string): void {
    this.#pendingText += line;
    this.#scheduled ??= setTimeout(() => void this.flush(), DELAY_MS);
  }

  /** Writes the pending lines. */
  flush(): Promise<void> {
    clearTimeout(this.#scheduled);
    this.#scheduled = undefined;
    this.#writing = this.#writing.then(() => this.#append());
    return this.#writing;
  }

  async close(): Promise<void> {
    await this.flush();
    await this.#handle?.close().catch(() => {});
    this.#handle = undefined;
  }

  async #append(): Promise<void> {
    if (this.#pendingText === "") return;
    const lines = Buffer.from(this.#isTorn ? `\n${this.#pendingText}` : this.#pendingText);
    this.#pendingText = "";
    try {
      const handle = await this.#currentHandle();
      this.#isTorn = true;
      await handle.appendFile(lines);
      this.#isTorn = false;
      this.#bytes += lines.length;
    } catch (error) {
      await this.#handle?.close().catch(() => {});
      this.#handle = undefined;
      this.#report(error);
    }
  }

  async #currentHandle(): Promise<FileHandle> {
    this.#handle ??= await this.#reopen();
    const isDue = performance.now() - this.#checkedAt > CHECK_MS;
    if (isDue || this.#bytes >= this.#maxBytes) this.#handle = await this.#checkFile(this.#handle);
    return this.#handle;
  }

  /** Checks the file. Other processes may write to it too, and move it away; then the log continues in the new file. */
  async #checkFile(open: FileHandle): Promise<FileHandle> {
    this.#checkedAt = performance.now();
    if (!(await this.#isInPlace(open))) return this.#reopen(open);
    return this.#bytes >= this.#maxBytes ? this.#rotate(open) : open;
  }

  /**
   * Whether the path still names the open file. Another process may have moved it, and may not have created a new one
   * yet.
   */
  async #isInPlace(open: FileHandle): Promise<boolean> {
    const [openStat, pathStat] = await Promise.all([
      open.stat(),
      stat(this.#file).catch(() => undefined),
    ]);
    this.#bytes = openStat.size;
    return openStat.ino === pathStat?.ino && openStat.dev === pathStat.dev;
  }

  async #reopen(old?: FileHandle): Promise<FileHandle> {
    this.#handle = undefined;
    await old?.close();
    const handle = await open(this.#file, "a", 0o600);
    this.#bytes = (await handle.stat()).size;
    this.#checkedAt = performance.now();
    return handle;
  }

  /**
   * Rotates the file. Only one of several processes moves it, under a lock: a second one would move the new file over
   * the full one.
   */
  async #rotate(full: FileHandle): Promise<FileHandle> {
    const lock = `${this.#file}.lock`;
    try {
      const lockFile = await openAlone(lock);
      try {
        if (await this.#isInPlace(full)) await rename(this.#file, `${this.#file}.1`);
      } finally {
        await Promise.all([lockFile.close(), rm(lock, { force: true })]);
      }
    } catch (error) {
      this.#report(error);
    }
    return this.#reopen(full);
  }

  #report(error: unknown): void {
    if (performance.now() - this.#reportedAt < SILENCE_MS) return;
    this.#reportedAt = performance.now();
    this.#onError(error);
  }
}

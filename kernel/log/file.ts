/** The log's file: written in the background, kept small, and opened again after an error. */
import { mkdirSync } from "node:fs";
import { type FileHandle, open, rename, rm, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { openAlone } from "../files/open-alone.ts";

const MAX_BYTES = 10 * 1024 * 1024;
/** Lines may wait this long for others: each write wakes a thread of the pool, which costs a busy machine as much as five requests. */
const DELAY_MS = 50;
/** How long lines may go into a file that another program has moved away. */
const LOOK_MS = 1_000;
/** One error is reported within this time: a full disk causes one for every write. */
const SILENCE_MS = 60_000;

export interface LogFileOptions {
  file: string;
  /** A file that has reached this size moves to `<file>.1` and replaces it. */
  maxBytes?: number | undefined;
  /** Called from the background. */
  onError(error: unknown): void;
}

export class LogFile {
  readonly #file: string;
  readonly #maxBytes: number;
  readonly #onError: (error: unknown) => void;
  #handle: FileHandle | undefined;
  #bytes = 0;
  /** Lines that are not written yet. */
  #waiting = "";
  #scheduled: NodeJS.Timeout | undefined;
  #writing: Promise<void> = Promise.resolve();
  /** The last write may have ended within a line. */
  #isTorn = false;
  #lookedAt = 0;
  #reportedAt = Number.NEGATIVE_INFINITY;

  constructor({ file, maxBytes = MAX_BYTES, onError }: LogFileOptions) {
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
    this.#file = file;
    this.#maxBytes = maxBytes;
    this.#onError = onError;
  }

  /** Never throws. Lines that cannot be written are lost to the file. */
  write(line: string): void {
    this.#waiting += line;
    this.#scheduled ??= setTimeout(() => void this.flush(), DELAY_MS);
  }

  /** Writes the lines that wait. */
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
    if (this.#waiting === "") return;
    const lines = Buffer.from(this.#isTorn ? `\n${this.#waiting}` : this.#waiting);
    this.#waiting = "";
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
    const isDue = performance.now() - this.#lookedAt > LOOK_MS;
    if (isDue || this.#bytes >= this.#maxBytes) this.#handle = await this.#look(this.#handle);
    return this.#handle;
  }

  /** Other processes may write to the file too, and move it away: then the log continues in the file at its place. */
  async #look(open: FileHandle): Promise<FileHandle> {
    this.#lookedAt = performance.now();
    if (!(await this.#isInPlace(open))) return this.#reopen(open);
    return this.#bytes >= this.#maxBytes ? this.#rotate(open) : open;
  }

  /** A process that has moved the file may not have put another one in its place yet. */
  async #isInPlace(open: FileHandle): Promise<boolean> {
    const [own, there] = await Promise.all([open.stat(), stat(this.#file).catch(() => undefined)]);
    this.#bytes = own.size;
    return own.ino === there?.ino && own.dev === there.dev;
  }

  async #reopen(old?: FileHandle): Promise<FileHandle> {
    this.#handle = undefined;
    await old?.close();
    const handle = await open(this.#file, "a", 0o600);
    this.#bytes = (await handle.stat()).size;
    this.#lookedAt = performance.now();
    return handle;
  }

  /** One of several processes moves the file, under a lock: a second one would move the new file over the full one. */
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

/** The log's file: written in the background, kept small, and taken up again after an error. */
import { mkdirSync } from "node:fs";
import { type FileHandle, open, rename, rm, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { openAlone } from "../files/open-alone.ts";

const MAX_BYTES = 10 * 1024 * 1024;
/** Lines may wait this long for others: each write wakes a thread of the pool, which costs a busy machine as much as five requests. */
const DELAY_MS = 50;
/** How long lines may go on into a file that somebody has moved away. */
const LOOK_MS = 1_000;
/** An error is told once in this time: a full disk has one for every write. */
const SILENCE_MS = 60_000;

export interface LogFileOptions {
  file: string;
  /** A file that has reached this moves to `<file>.1`, whose place it takes. */
  maxBytes?: number | undefined;
  /** Called from the background. */
  onError(error: unknown): void;
}

export function openLogFile({ file, maxBytes = MAX_BYTES, onError }: LogFileOptions) {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  let handle: FileHandle | undefined;
  let bytes = 0;
  let waiting = "";
  let scheduled: NodeJS.Timeout | undefined;
  let writing: Promise<void> = Promise.resolve();
  let torn = false;
  let lookedAt = 0;
  let toldAt = Number.NEGATIVE_INFINITY;

  function flush(): Promise<void> {
    clearTimeout(scheduled);
    scheduled = undefined;
    writing = writing.then(append);
    return writing;
  }

  async function append(): Promise<void> {
    if (waiting === "") return;
    const lines = Buffer.from(torn ? `\n${waiting}` : waiting);
    waiting = "";
    try {
      handle ??= await reopen();
      if (bytes >= maxBytes || performance.now() - lookedAt > LOOK_MS) handle = await look(handle);
      torn = true;
      await handle.appendFile(lines);
      torn = false;
      bytes += lines.length;
    } catch (error) {
      await handle?.close().catch(() => {});
      handle = undefined;
      tell(error);
    }
  }

  /** Others may write to it too, and move it away: then what is at its place is meant. */
  async function look(open: FileHandle): Promise<FileHandle> {
    lookedAt = performance.now();
    if (!(await isInPlace(open))) return reopen(open);
    return bytes >= maxBytes ? turn(open) : open;
  }

  /** Whoever has moved it away may not have put another one in its place yet. */
  async function isInPlace(open: FileHandle): Promise<boolean> {
    const [own, there] = await Promise.all([open.stat(), stat(file).catch(() => undefined)]);
    bytes = own.size;
    return own.ino === there?.ino && own.dev === there.dev;
  }

  async function reopen(old?: FileHandle): Promise<FileHandle> {
    handle = undefined;
    await old?.close();
    const opened = await open(file, "a", 0o600);
    bytes = (await opened.stat()).size;
    lookedAt = performance.now();
    return opened;
  }

  /** One of the processes that write to it moves it, under a lock: a second one would put a new file in the full one's place. */
  async function turn(full: FileHandle): Promise<FileHandle> {
    const lock = `${file}.lock`;
    try {
      const held = await openAlone(lock);
      await isInPlace(full)
        .then((is) => (is ? rename(file, `${file}.1`) : undefined))
        .finally(() => Promise.all([held.close(), rm(lock, { force: true })]));
    } catch (error) {
      tell(error);
    }
    return reopen(full);
  }

  function tell(error: unknown): void {
    if (performance.now() - toldAt < SILENCE_MS) return;
    toldAt = performance.now();
    onError(error);
  }

  return {
    /** Never throws. Lines that cannot be written are lost to the file. */
    write(line: string): void {
      waiting += line;
      scheduled ??= setTimeout(() => void flush(), DELAY_MS);
    },
    /** Writes what waits. */
    flush,
    async close(): Promise<void> {
      await flush();
      await handle?.close().catch(() => {});
      handle = undefined;
    },
  };
}

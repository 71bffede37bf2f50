/**
 * The journal's file: entries one after the other, over and over in the same place, so that a sync has nothing but them
 * to write. What is torn, or older than what stands before it, is no entry.
 */
import {
  closeSync,
  fdatasync,
  fdatasyncSync,
  fsync,
  openSync,
  readFileSync,
  unlinkSync,
  write,
  writeSync,
} from "node:fs";
import { dirname } from "node:path";
import { promisify } from "node:util";
import { crc32 } from "node:zlib";

const SIZE = 1 << 20;
/** Length of the text, checksum, and the entry's number. */
const HEAD = 16;
/** Of a UTF-16 unit in UTF-8, in bytes. */
const LONGEST = 3;

export interface Entry {
  /** One more than that of the entry before. */
  number: number;
  text: string;
}

export class JournalFile {
  readonly #descriptor: number;
  /** As the file, as far as it is written: entries are put together in their places. */
  readonly #bytes = Buffer.allocUnsafeSlow(SIZE);
  #position = 0;
  /** Where what was written last begins. */
  #newest = 0;

  private constructor(descriptor: number) {
    this.#descriptor = descriptor;
  }

  /** One that is not there yet: as long as it will ever be, and on the disk. */
  static async create(path: string): Promise<JournalFile> {
    const descriptor = openSync(path, "wx", 0o600);
    try {
      await promisify(write)(descriptor, Buffer.alloc(SIZE));
      await promisify(fsync)(descriptor);
      await syncDirectory(dirname(path));
    } catch (error) {
      closeSync(descriptor);
      unlinkSync(path);
      throw error;
    }
    return new JournalFile(descriptor);
  }

  /** `lengths`: of the texts, in UTF-16. */
  hasRoom(lengths: readonly number[]): boolean {
    return lengths.reduce((sum, length) => sum + HEAD + length * LONGEST, this.#position) <= SIZE;
  }

  /** Written to the system; a sync brings it to the disk. */
  write(entries: readonly Entry[]): void {
    const begin = this.#position;
    for (const entry of entries) this.#position += encode(entry, this.#bytes, this.#position);
    this.#newest = begin;
    const length = this.#position - begin;
    if (writeSync(this.#descriptor, this.#bytes, begin, length, begin) < length)
      throw new Error("the journal was written in part");
  }

  /** What was written last is no entry any more: as far as a disk that fails can be told. */
  takeBack(): void {
    this.#position = this.#newest;
    writeSync(this.#descriptor, Buffer.alloc(HEAD), 0, HEAD, this.#position);
  }

  syncNow(): void {
    fdatasyncSync(this.#descriptor);
  }

  /** In another thread. */
  sync(): Promise<void> {
    return new Promise((resolve, reject) => {
      fdatasync(this.#descriptor, (error) => (error ? reject(error) : resolve()));
    });
  }

  /** What stands in it is needed no more. */
  rewind(): void {
    this.#position = 0;
  }

  close(): void {
    closeSync(this.#descriptor);
  }
}

async function syncDirectory(path: string): Promise<void> {
  const descriptor = openSync(path, "r");
  await promisify(fsync)(descriptor).finally(() => closeSync(descriptor));
}

/** Returns its length. */
function encode({ number, text }: Entry, bytes: Buffer, at: number): number {
  const length = bytes.write(text, at + HEAD);
  bytes.writeUInt32LE(length, at);
  bytes.writeDoubleLE(number, at + 8);
  bytes.writeUInt32LE(crc32(bytes.subarray(at + 8, at + HEAD + length)), at + 4);
  return HEAD + length;
}

/** The entries of a file that its process has left behind, in order. */
export function readEntries(path: string): Entry[] {
  const bytes = readFileSync(path);
  const entries: Entry[] = [];
  for (let at = 0; at + HEAD <= bytes.length; ) {
    const end = at + HEAD + bytes.readUInt32LE(at);
    const number = bytes.readDoubleLE(at + 8);
    const follows = entries.length === 0 || number === (entries.at(-1) as Entry).number + 1;
    if (end === at + HEAD || end > bytes.length || !follows) break;
    if (crc32(bytes.subarray(at + 8, end)) !== bytes.readUInt32LE(at + 4)) break;
    entries.push({ number, text: bytes.toString("utf8", at + HEAD, end) });
    at = end;
  }
  return entries;
}

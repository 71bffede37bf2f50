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

export interface Entry {
  /** One more than that of the entry before. */
  number: number;
  text: string;
}

export class JournalFile {
  readonly #descriptor: number;
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

  hasRoom(texts: readonly string[]): boolean {
    return texts.reduce((sum, text) => sum + HEAD + Buffer.byteLength(text), this.#position) <= SIZE;
  }

  /** Written to the system; a sync brings it to the disk. */
  write(entries: readonly Entry[]): void {
    const bytes = Buffer.concat(entries.map(encoded));
    const written = writeSync(this.#descriptor, bytes, 0, bytes.length, this.#position);
    this.#newest = this.#position;
    this.#position += written;
    if (written < bytes.length) throw new Error("the journal was written in part");
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

function encoded({ number, text }: Entry): Buffer {
  const bytes = Buffer.allocUnsafe(HEAD + Buffer.byteLength(text));
  bytes.writeUInt32LE(bytes.length - HEAD, 0);
  bytes.writeDoubleLE(number, 8);
  bytes.write(text, HEAD);
  bytes.writeUInt32LE(crc32(bytes.subarray(8)), 4);
  return bytes;
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

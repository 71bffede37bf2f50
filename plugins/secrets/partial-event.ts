/** Holds the beginning of an event until its end arrives. The chunks are joined only then. */

const LF = 10;
const CR = 13;

export class PartialEvent {
  #chunks: Buffer[] = [];
  /** The last two bytes: a blank line may have begun in them. */
  #tail: Buffer = Buffer.alloc(0);
  size = 0;

  /** Begins with a copy of the bytes, since their memory may be reused. */
  begin(bytes: Buffer): void {
    this.#chunks = [Buffer.from(bytes)];
    this.size = bytes.length;
    this.#tail = this.#chunks[0]!.subarray(-2);
  }

  /** Returns the held bytes and `bytes` if an event ends in `bytes`; otherwise holds `bytes` as well and returns undefined. */
  join(bytes: Buffer): Buffer | undefined {
    if (this.size === 0) return bytes;
    const isComplete = this.endIn(bytes) !== -1;
    this.#chunks.push(isComplete ? bytes : Buffer.from(bytes));
    this.size += bytes.length;
    return isComplete ? this.take() : undefined;
  }

  /** Returns the index behind the first event's end in the next chunk, or -1. */
  endIn(bytes: Buffer): number {
    const before = this.#tail.length;
    // The blank line may be split between two chunks.
    const across = Buffer.concat([this.#tail, bytes.subarray(0, 2)]);
    this.#tail = Buffer.concat([this.#tail, bytes.subarray(-2)]).subarray(-2);
    const end = blockEnd(across, 0);
    if (end > before) return end - before;
    return blockEnd(bytes, 0);
  }

  take(): Buffer {
    const all = this.#chunks.length === 1 ? this.#chunks[0]! : Buffer.concat(this.#chunks);
    this.#chunks = [];
    this.size = 0;
    return all;
  }
}

/** Returns the index behind the blank line that ends the event at `from`, or -1. */
export function blockEnd(bytes: Buffer, from: number): number {
  for (let lf = bytes.indexOf(LF, from); lf !== -1; lf = bytes.indexOf(LF, lf + 1)) {
    if (bytes[lf + 1] === LF) return lf + 2;
    if (bytes[lf + 1] === CR && bytes[lf + 2] === LF) return lf + 3;
  }
  return -1;
}

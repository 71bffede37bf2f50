/** The beginning of an event whose end has not arrived: the chunks stay apart until it arrives. */

const LF = 10;
const CR = 13;

export class PartialEvent {
  #chunks: Buffer[] = [];
  /** The last bytes, in which a blank line may have begun. */
  #tail: Buffer = Buffer.alloc(0);
  size = 0;

  /** A copy is kept: the bytes may share their memory. */
  begin(bytes: Buffer): void {
    this.#chunks = [Buffer.from(bytes)];
    this.size = bytes.length;
    this.#tail = this.#chunks[0]!.subarray(-2);
  }

  /** All held bytes and `bytes`, where an event ends in `bytes`; otherwise undefined, and `bytes` is held as well. */
  join(bytes: Buffer): Buffer | undefined {
    if (this.size === 0) return bytes;
    const ended = this.endIn(bytes) !== -1;
    this.#chunks.push(ended ? bytes : Buffer.from(bytes));
    this.size += bytes.length;
    return ended ? this.take() : undefined;
  }

  /** Where the first event ends in what comes next, or -1. */
  endIn(bytes: Buffer): number {
    const before = this.#tail.length;
    // The blank line may be split by the cut.
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

/** The end of the event that begins at `from`, behind its blank line, or -1. */
export function blockEnd(bytes: Buffer, from: number): number {
  for (let lf = bytes.indexOf(LF, from); lf !== -1; lf = bytes.indexOf(LF, lf + 1)) {
    if (bytes[lf + 1] === LF) return lf + 2;
    if (bytes[lf + 1] === CR && bytes[lf + 2] === LF) return lf + 3;
  }
  return -1;
}

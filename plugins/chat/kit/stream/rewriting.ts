/** Bytes of which some are replaced: what stays is copied only where something was, and not at all where nothing was. */
export class Rewriting {
  readonly #bytes: Buffer;
  readonly #parts: Buffer[] = [];
  /** What stands before this has been dealt with: it is the parts now, so many bytes. */
  #done: number;
  #size = 0;

  constructor(bytes: Buffer, from = 0) {
    this.#bytes = bytes;
    this.#done = from;
  }

  /** From the front to the back. */
  replace(from: number, end: number, by: Buffer): void {
    if (from === end && by.length === 0) return;
    if (from > this.#done) this.#parts.push(this.#bytes.subarray(this.#done, from));
    this.#parts.push(by);
    this.#size += from - this.#done + by.length;
    this.#done = end;
  }

  /** Where in the result that stands which stands here, behind all that was replaced. */
  position(at: number): number {
    return this.#size + at - this.#done;
  }

  /** Of what stands before `end`. Asked for once. */
  result(end = this.#bytes.length): Buffer {
    const rest =
      this.#done === 0 && end === this.#bytes.length
        ? this.#bytes
        : this.#bytes.subarray(this.#done, end);
    if (this.#parts.length === 0) return rest;
    this.#parts.push(rest);
    return Buffer.concat(this.#parts, this.#size + rest.length);
  }
}

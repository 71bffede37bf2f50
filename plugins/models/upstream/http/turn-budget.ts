/**
 * Limits the bytes that are read from all upstreams together in one turn of the event loop. A socket with much data is
 * read without a pause, and fifty of them would block all other requests. Readers over the budget continue in the next
 * turn.
 */

/** Takes a few milliseconds to process. */
export const BYTES_PER_TURN = 1024 * 1024;

export interface TurnReader {
  nextTurn(): void;
}

export class TurnBudget {
  readonly #maxBytes: number;
  #bytes = 0;
  #waitingReaders: TurnReader[] = [];

  constructor(maxBytes = BYTES_PER_TURN) {
    this.#maxBytes = maxBytes;
  }

  /**
   * Counts bytes. Returns false if the budget of this turn is used up: then `reader` must stop reading until its
   * `nextTurn` is called.
   */
  spend(bytes: number, reader: TurnReader): boolean {
    if (this.#bytes === 0) setImmediate(() => this.#begin());
    this.#bytes += bytes;
    if (this.#bytes <= this.#maxBytes) return true;
    this.#waitingReaders.push(reader);
    return false;
  }

  #begin(): void {
    this.#bytes = 0;
    const readers = this.#waitingReaders;
    this.#waitingReaders = [];
    for (const reader of readers) reader.nextTurn();
  }
}

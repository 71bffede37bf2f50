/**
 * Limits the bytes that all upstreams together may bring in one turn of the event loop. A socket with much data is read
 * without a pause, and fifty of them would block all other requests. Those over the budget continue in the next turn.
 */

/** As much as a few milliseconds of work. */
export const BYTES_PER_TURN = 1024 * 1024;

export interface Waiting {
  /** The next turn has begun. */
  nextTurn(): void;
}

export class TurnBudget {
  readonly #most: number;
  #spent = 0;
  #waiting: Waiting[] = [];

  constructor(most = BYTES_PER_TURN) {
    this.#most = most;
  }

  /** False where the budget of this turn is spent: `reader` should read no more, and hears of the next turn. */
  spend(bytes: number, reader: Waiting): boolean {
    if (this.#spent === 0) setImmediate(() => this.#begin());
    this.#spent += bytes;
    if (this.#spent <= this.#most) return true;
    this.#waiting.push(reader);
    return false;
  }

  #begin(): void {
    this.#spent = 0;
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const reader of waiting) reader.nextTurn();
  }
}

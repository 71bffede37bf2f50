/** A limit for any window of 60 s, counted in this process. */

const WINDOW_MS = 60_000;

/** A limit of the channel's own, and when it is no longer over it. */
export interface OverLimit {
  name: "requestsPerMinute" | "tokensPerMinute" | "budget";
  until: number;
}

export class RateLimit {
  readonly #most: number;
  readonly #counted: { at: number; amount: number }[] = [];
  #sum = 0;

  constructor(most: number) {
    this.#most = most;
  }

  add(now: number, amount: number): void {
    this.#counted.push({ at: now, amount });
    this.#sum += amount;
  }

  /** When the next may come: 0 where it may now. */
  until(now: number): number {
    while (this.#counted[0] !== undefined && this.#counted[0].at <= now - WINDOW_MS)
      this.#sum -= this.#counted.shift()!.amount;
    if (this.#sum < this.#most) return 0;
    let left = this.#sum;
    for (const { at, amount } of this.#counted) {
      left -= amount;
      if (left < this.#most) return at + WINDOW_MS;
    }
    return 0;
  }
}

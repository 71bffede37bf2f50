/** A limit for any window of 60 s, counted in this process. */

const WINDOW_MS = 60_000;

/** A configured limit that a channel has reached, and when it allows requests again. */
export interface OverLimit {
  name: "requestsPerMinute" | "tokensPerMinute" | "budget";
  until: number;
}

export class RateLimit {
  readonly #max: number;
  readonly #entries: { at: number; amount: number }[] = [];
  #sum = 0;

  constructor(max: number) {
    this.#max = max;
  }

  add(now: number, amount: number): void {
    this.#entries.push({ at: now, amount });
    this.#sum += amount;
  }

  /** When the next request may come; 0 if it may come now. */
  until(now: number): number {
    while (this.#entries[0] !== undefined && this.#entries[0].at <= now - WINDOW_MS)
      this.#sum -= this.#entries.shift()!.amount;
    if (this.#sum < this.#max) return 0;
    let remaining = this.#sum;
    for (const { at, amount } of this.#entries) {
      remaining -= amount;
      if (remaining < this.#max) return at + WINDOW_MS;
    }
    return 0;
  }
}

/**
 * Time-outs for what happens thousands of times a second and hardly ever is late: one clock for all, which looks every
 * tenth of a second. A timer for each costs a microsecond of the thirty that a small request takes.
 */
import { performance } from "node:perf_hooks"; // the global one is a getter

const TICK_MS = 100;

export class CoarseTimeout {
  #due: number;
  #place: number;

  constructor(
    readonly late: () => void,
    readonly ms: number,
  ) {
    this.#due = performance.now() + ms;
    this.#place = waiting.push(this) - 1;
    clock ??= setInterval(CoarseTimeout.#look, TICK_MS).unref();
  }

  /** Begins anew. */
  refresh(): void {
    this.#due = performance.now() + this.ms;
  }

  /** Once only. */
  clear(): void {
    // The last takes the place of whoever goes. (A Set would keep whole requests in its old tables until the next full
    // garbage collection.)
    const last = waiting.pop()!;
    last.#place = this.#place;
    if (last !== this) waiting[this.#place] = last;
  }

  static #look(): void {
    const now = performance.now();
    for (const one of [...waiting]) if (one.#due <= now) one.late();
    if (waiting.length > 0) return;
    clearInterval(clock);
    clock = undefined;
  }
}

const waiting: CoarseTimeout[] = [];
let clock: NodeJS.Timeout | undefined;

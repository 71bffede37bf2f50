/** Timeouts of upstreams. Long ones share one coarse ticker, because a timer for each request costs as much as routing. */
import { removeEntry } from "../unordered-list.ts";

const COARSE_FROM_MS = 5_000;
const TICK_MS = 250;

export interface Deadline {
  /** Starts the time again. */
  touch(): void;
  /** Sets another time and starts it, also after a stop. */
  set(ms: number): void;
  stop(): void;
}

const coarseDeadlines: CoarseDeadline[] = [];
let ticker: NodeJS.Timeout | undefined;

/** Is notified when a deadline passes. It is an object, because a function would be created for each request. */
export interface DeadlineListener {
  onDeadline(): void;
}

/**
 * Calls `onDeadline` once when `touch` was not called for `ms`; precise to a quarter of a second for times of 5 s and
 * more.
 */
export function startDeadline(ms: number, listener: DeadlineListener): Deadline {
  return ms < COARSE_FROM_MS ? new PreciseDeadline(ms, listener) : new CoarseDeadline(ms, listener);
}

class PreciseDeadline implements Deadline {
  #timer: NodeJS.Timeout;
  readonly #expire: () => void;
  constructor(ms: number, listener: DeadlineListener) {
    this.#expire = () => listener.onDeadline();
    this.#timer = setTimeout(this.#expire, ms);
  }
  touch(): void {
    this.#timer.refresh();
  }
  set(ms: number): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(this.#expire, ms);
  }
  stop(): void {
    clearTimeout(this.#timer);
  }
}

class CoarseDeadline implements Deadline {
  ticksLeft: number;
  readonly listener: DeadlineListener;
  #ticks: number;
  /** Index in the list; -1 if it is not in the list. */
  place = -1;
  constructor(ms: number, listener: DeadlineListener) {
    this.listener = listener;
    this.#ticks = ticksOf(ms);
    this.ticksLeft = this.#ticks;
    this.#enter();
  }
  touch(): void {
    this.ticksLeft = this.#ticks;
  }
  set(ms: number): void {
    this.#ticks = ticksOf(ms);
    this.ticksLeft = this.#ticks;
    if (this.place === -1) this.#enter();
  }
  stop(): void {
    if (this.place === -1) return;
    removeEntry(coarseDeadlines, this);
    this.place = -1;
  }
  #enter(): void {
    this.place = coarseDeadlines.push(this) - 1;
    ticker ??= setInterval(tick, TICK_MS);
  }
}

/** One tick more, so that it is never early: the current tick may be nearly over. */
function ticksOf(ms: number): number {
  return Math.ceil(ms / TICK_MS) + 1;
}

function tick(): void {
  // Iterates backwards: the entry that moves into a freed place has already been visited.
  for (let i = coarseDeadlines.length - 1; i >= 0; i--) {
    const entry = coarseDeadlines[i];
    if (entry === undefined || --entry.ticksLeft > 0) continue;
    entry.stop();
    entry.listener.onDeadline();
  }
  if (coarseDeadlines.length > 0) return;
  clearInterval(ticker);
  ticker = undefined;
}

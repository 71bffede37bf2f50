/** Timeouts of upstreams. Long ones share one coarse ticker, because a timer for each request costs as much as routing. */
import { takeOut } from "../places.ts";

const COARSE_FROM_MS = 5_000;
const TICK_MS = 250;

export interface Deadline {
  /** The time starts again. */
  touch(): void;
  /** From now on another time, started now, also after a stop. */
  set(ms: number): void;
  stop(): void;
}

const coarse: Coarse[] = [];
let ticker: NodeJS.Timeout | undefined;

/** Something that waits. It is an object, because a function would be created for each request. */
export interface Waiting {
  late(): void;
}

/** Calls `late` once when nothing was touched for `ms`; to within a quarter of a second for times of 5 s and more. */
export function startDeadline(ms: number, waiting: Waiting): Deadline {
  return ms < COARSE_FROM_MS ? new Precise(ms, waiting) : new Coarse(ms, waiting);
}

class Precise implements Deadline {
  #timer: NodeJS.Timeout;
  readonly #late: () => void;
  constructor(ms: number, waiting: Waiting) {
    this.#late = () => waiting.late();
    this.#timer = setTimeout(this.#late, ms);
  }
  touch(): void {
    this.#timer.refresh();
  }
  set(ms: number): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(this.#late, ms);
  }
  stop(): void {
    clearTimeout(this.#timer);
  }
}

class Coarse implements Deadline {
  ticksLeft: number;
  readonly waiting: Waiting;
  #ticks: number;
  /** In the list; -1 where it is in none. */
  place = -1;
  constructor(ms: number, waiting: Waiting) {
    this.waiting = waiting;
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
    takeOut(coarse, this);
    this.place = -1;
  }
  #enter(): void {
    this.place = coarse.push(this) - 1;
    ticker ??= setInterval(tick, TICK_MS);
  }
}

/** Never early: the running tick may be nearly over. */
function ticksOf(ms: number): number {
  return Math.ceil(ms / TICK_MS) + 1;
}

function tick(): void {
  // Backwards: the entry that moves into a freed place has already been visited.
  for (let i = coarse.length - 1; i >= 0; i--) {
    const entry = coarse[i];
    if (entry === undefined || --entry.ticksLeft > 0) continue;
    entry.stop();
    entry.waiting.late();
  }
  if (coarse.length > 0) return;
  clearInterval(ticker);
  ticker = undefined;
}

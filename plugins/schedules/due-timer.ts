/** Wakes at due times. */
import type { DueLoop, DueLoopOptions } from "./due-loop.ts";
import { createRounds } from "./rounds.ts";

/** The longest pause between two readings of the clock, after which a forward step or the end of a sleep is noticed. */
const CLOCK_CHECK_MS = 1_000;
/** The longest pause between two queries of the store, because another gateway may have added something. */
const STORE_CHECK_MS = 10_000;
/** Entries that come due within this time are prepared. */
const FORESEE_MS = 3_000;
const PAUSE_AFTER_FAILURE_MS = 1_000;

/**
 * Starts a loop that processes entries when they are due. Node's timers use a monotonic clock, so the loop wakes every
 * second to read the real clock. A wake without a due entry takes microseconds and does not query the store.
 */
export function startDueTimer(options: DueLoopOptions): DueLoop {
  let nextAt: number | undefined;
  let lastQueryAt = Number.NEGATIVE_INFINITY;
  let mustQuery = true;
  let preparedUntil = Number.NEGATIVE_INFINITY;

  // After the clock went back, `lastQueryAt` is in the future. The store is queried then, too.
  const isStale = (now: number): boolean =>
    now - lastQueryAt >= STORE_CHECK_MS || now < lastQueryAt;
  const isDue = (now: number): boolean => nextAt !== undefined && now >= nextAt;

  const waitMs = (now: number): number =>
    Math.max(0, Math.min(CLOCK_CHECK_MS, (nextAt ?? Number.POSITIVE_INFINITY) - now));

  async function foresee(now: number): Promise<void> {
    const isSoon = nextAt !== undefined && nextAt > now && nextAt - now < FORESEE_MS;
    if (!options.foresee || !isSoon || (nextAt ?? 0) <= preparedUntil) return;
    preparedUntil = now + FORESEE_MS;
    await options.foresee(preparedUntil).catch(options.failed);
  }

  /** Returns the time until the next round, in ms. */
  async function round(): Promise<number> {
    const now = options.now();
    if (!mustQuery && !isStale(now) && !isDue(now)) {
      await foresee(now);
      return waitMs(options.now());
    }
    mustQuery = false;
    if (now < lastQueryAt) await options.wentBack?.(now);
    nextAt = await options.nextDueAt();
    lastQueryAt = now;
    if (!isDue(options.now())) return waitMs(options.now());
    mustQuery = true;
    const progress = await options.run(options.now());
    return progress === 0 ? PAUSE_AFTER_FAILURE_MS : 0;
  }

  const rounds = createRounds({
    round,
    retryMs: PAUSE_AFTER_FAILURE_MS,
    failed(error) {
      mustQuery = true;
      options.failed(error);
    },
  });
  rounds.start();
  return {
    poke() {
      mustQuery = true;
      rounds.poke();
    },
    stop: rounds.stop,
  };
}

/** Wakes at due times, on the loop that everything periodic shares. */
import type { DueLoop, DueLoopOptions } from "./due-loop.ts";
import { createRounds } from "./rounds.ts";

/** How often the clock is compared at least: a forward step, or the end of a sleep, is noticed within this. */
const LOOK_MS = 1_000;
/** How often the store is asked although nothing seems due: another gateway may have added something. */
const ASK_MS = 10_000;
/** What is due within this is prepared ahead of time. */
const FORESEE_MS = 3_000;
const PAUSE_AFTER_FAILURE_MS = 1_000;

/**
 * Starts a loop that runs what is due. Node's timers use a clock without steps, so the loop wakes every second and
 * compares the real one; a wake without anything due takes microseconds and does not query the store.
 */
export function startDueTimer(options: DueLoopOptions): DueLoop {
  let nextAt: number | undefined;
  let askedAt = Number.NEGATIVE_INFINITY;
  let mustAsk = true;
  let foreseenUntil = Number.NEGATIVE_INFINITY;

  // A clock that went back makes `askedAt` lie in the future: the store is asked again then, too.
  const isStale = (now: number): boolean => now - askedAt >= ASK_MS || now < askedAt;
  const isDue = (now: number): boolean => nextAt !== undefined && now >= nextAt;

  const waitMs = (now: number): number =>
    Math.max(0, Math.min(LOOK_MS, (nextAt ?? Number.POSITIVE_INFINITY) - now));

  async function foresee(now: number): Promise<void> {
    const isSoon = nextAt !== undefined && nextAt > now && nextAt - now < FORESEE_MS;
    if (!options.foresee || !isSoon || (nextAt ?? 0) <= foreseenUntil) return;
    foreseenUntil = now + FORESEE_MS;
    await options.foresee(foreseenUntil).catch(options.failed);
  }

  /** Returns after how many milliseconds the next round is due. */
  async function round(): Promise<number> {
    const now = options.now();
    if (!mustAsk && !isStale(now) && !isDue(now)) {
      await foresee(now);
      return waitMs(options.now());
    }
    mustAsk = false;
    if (now < askedAt) await options.wentBack?.(now);
    nextAt = await options.nextDueAt();
    askedAt = now;
    if (!isDue(options.now())) return waitMs(options.now());
    mustAsk = true;
    const progress = await options.run(options.now());
    return progress === 0 ? PAUSE_AFTER_FAILURE_MS : 0;
  }

  const rounds = createRounds({
    round,
    retryMs: PAUSE_AFTER_FAILURE_MS,
    failed(error) {
      mustAsk = true;
      options.failed(error);
    },
  });
  rounds.start();
  return {
    poke() {
      mustAsk = true;
      rounds.poke();
    },
    stop: rounds.stop,
  };
}

import type { DueLoop, DueLoopOptions } from "portico/cron";

/** How often the clock is compared at least: a forward step, or the end of a sleep, is noticed within this. */
const LOOK_MS = 1_000;
/** How often the store is asked though nothing seems due: another gateway may have added something. */
const ASK_MS = 10_000;
/** What is due within this is foreseen. */
const FORESEE_MS = 3_000;
const PAUSE_AFTER_FAILURE_MS = 1_000;

/**
 * One timer to the next due time. Node's timers run on a clock that knows no steps, so the loop wakes now and then and
 * compares the real one; a wake without anything due costs microseconds and asks nobody.
 */
export function startLoop(options: DueLoopOptions): DueLoop {
  let nextAt: number | undefined;
  let askedAt = Number.NEGATIVE_INFINITY;
  let dirty = true;
  let stopped = false;
  let timer: NodeJS.Timeout | undefined;
  let work: Promise<void> | undefined;
  let pausedUntil = 0;
  let foreseenUntil = Number.NEGATIVE_INFINITY;

  function arm(): void {
    if (stopped) return;
    clearTimeout(timer);
    const paused = pausedUntil - performance.now();
    const wait =
      paused > 0
        ? paused
        : dirty
          ? 0
          : Math.min(LOOK_MS, (nextAt ?? Number.POSITIVE_INFINITY) - options.now());
    timer = setTimeout(wake, Math.max(0, wait)).unref();
  }

  function wake(): void {
    if (work !== undefined || stopped) return;
    const now = options.now();
    // A clock that went back makes `askedAt` lie in the future: ask again then too.
    const stale = now - askedAt >= ASK_MS || now < askedAt;
    if (!dirty && !stale && (nextAt === undefined || now < nextAt)) {
      if (nextAt === undefined || !soon(nextAt, now)) {
        arm();
        return;
      }
      work = ahead(now);
    } else work = round();
    work = work.finally(() => {
      work = undefined;
      arm();
    });
  }

  const soon = (at: number, now: number): boolean =>
    options.foresee !== undefined && at > foreseenUntil && at - now < FORESEE_MS && at - now > 0;

  async function ahead(now: number): Promise<void> {
    foreseenUntil = now + FORESEE_MS;
    await options.foresee?.(foreseenUntil).catch(options.failed);
  }

  async function round(): Promise<void> {
    dirty = false;
    try {
      const now = options.now();
      if (now < askedAt) await options.wentBack?.(now);
      nextAt = await options.nextDueAt();
      askedAt = now;
      if (nextAt === undefined || nextAt > options.now() || stopped) return;
      const progress = await options.run(options.now());
      if (progress === 0) pausedUntil = performance.now() + PAUSE_AFTER_FAILURE_MS;
      dirty = true;
    } catch (error) {
      pausedUntil = performance.now() + PAUSE_AFTER_FAILURE_MS;
      dirty = true;
      options.failed(error);
    }
  }

  arm();
  return {
    poke() {
      dirty = true;
      if (work === undefined) arm();
    },
    async stop() {
      stopped = true;
      clearTimeout(timer);
      await work;
    },
  };
}

/** Waiting for work that may never end. The work itself is not stopped: what becomes of it later is nobody's affair. */

/** 23 days. Node's timers take 2 ** 31 - 1 ms and end at once where it is more; the rest is for what is added to it. */
export const LONGEST_TIMER_MS = 2e9;
export const isTimerMs = (ms: unknown): boolean =>
  typeof ms === "number" && ms >= 1 && ms <= LONGEST_TIMER_MS;

/** The work's result; throws what `late` makes when the time is over first. */
export async function withDeadline<T>(
  work: T | PromiseLike<T>,
  ms: number,
  late: () => Error,
): Promise<Awaited<T>> {
  let timer: NodeJS.Timeout | undefined;
  const over = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(late()), Math.min(ms, LONGEST_TIMER_MS));
  });
  try {
    return await Promise.race([work, over]);
  } finally {
    clearTimeout(timer);
  }
}

/** Resolves when the work has ended, one way or the other, and at the latest after `ms`. */
export async function endOrLate(work: Promise<unknown>, ms: number): Promise<void> {
  await withDeadline(work, ms, () => new Error("late")).catch(() => {});
}

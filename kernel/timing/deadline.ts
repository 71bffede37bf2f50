/** Waits for work that may never end. The work itself is not stopped, and its later result is ignored. */

/**
 * 23 days. Node's timers accept up to 2 ** 31 - 1 ms and fire at once above that; the difference is room for additions.
 */
export const LONGEST_TIMER_MS = 2e9;
export const isTimerMs = (ms: unknown): boolean =>
  typeof ms === "number" && ms >= 1 && ms <= LONGEST_TIMER_MS;

/** Resolves to the work's result. Rejects with the error that `late` creates if `ms` pass first. */
export async function withDeadline<T>(
  work: T | PromiseLike<T>,
  ms: number,
  late: () => Error,
): Promise<Awaited<T>> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(late()), Math.min(ms, LONGEST_TIMER_MS));
  });
  try {
    return await Promise.race([work, timeout]);
  } finally {
    clearTimeout(timer);
  }
}

/** Resolves when the work has ended, whether it succeeded or not, and at the latest after `ms`. */
export async function endOrLate(work: Promise<unknown>, ms: number): Promise<void> {
  await withDeadline(work, ms, () => new Error("late")).catch(() => {});
}

/** Waiting for work that may never end. The work itself is not stopped: what becomes of it later is nobody's affair. */

/** The work's result; throws what `late` makes when the time is over first. */
export async function withDeadline<T>(work: T | PromiseLike<T>, ms: number, late: () => Error): Promise<Awaited<T>> {
  let timer: NodeJS.Timeout | undefined;
  const over = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(late()), ms);
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

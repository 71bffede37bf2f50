/**
 * How long a test waits for what must come, on a machine that is busy and ten times slower than this one. It measures
 * nothing: what has not come by then never will.
 */
export const PATIENCE_MS = 180_000;

/** Waits for a condition that has no event of its own; fails loudly instead of hanging. */
export async function until<T>(
  what: string,
  probe: () => T | Promise<T>,
  timeoutMs = PATIENCE_MS,
): Promise<NonNullable<T>> {
  const end = Date.now() + timeoutMs;
  let failure: unknown;
  for (;;) {
    try {
      const value = await probe();
      if (value) return value as NonNullable<T>;
      failure = undefined;
    } catch (error) {
      failure = error;
    }
    // In the message: the runner prints no cause.
    const last = failure === undefined ? "" : `; at last: ${failure}`;
    if (Date.now() > end) throw new Error(`waited ${timeoutMs} ms for ${what}${last}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

/** Reads again until what is read is right, and answers it; fails with what it was last. */
export async function untilRight<T>(read: () => T | Promise<T>, right: (value: T) => boolean): Promise<T> {
  let value: T | undefined;
  try {
    await until("the right value", async () => right((value = await read())));
  } catch (error) {
    throw new Error(`it was last ${JSON.stringify(value)} (${error})`);
  }
  return value as T;
}

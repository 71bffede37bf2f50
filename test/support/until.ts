/** Waits for a condition that has no event of its own; fails loudly instead of hanging. */
export async function until<T>(what: string, probe: () => T | Promise<T>, timeoutMs = 60_000): Promise<NonNullable<T>> {
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
    if (Date.now() > end) throw new Error(`waited ${timeoutMs} ms for ${what}`, { cause: failure });
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

/** Reads again until what is read is right, and answers it; fails with what it was last. */
export async function untilRight<T>(read: () => T | Promise<T>, right: (value: T) => boolean): Promise<T> {
  let value: T | undefined;
  try {
    await until("the right value", async () => right((value = await read())));
  } catch (error) {
    throw new Error(`it was last ${JSON.stringify(value)}`, { cause: error });
  }
  return value as T;
}

/** Waits for a condition that has no event of its own; fails loudly instead of hanging. */
export async function until<T>(what: string, probe: () => T | Promise<T>, timeoutMs = 30_000): Promise<NonNullable<T>> {
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

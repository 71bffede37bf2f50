import type { Readable } from "node:stream";

/**
 * How long a test waits for what must come, on a machine that is busy and ten times slower than this one. It measures
 * nothing: what has not come by then never will.
 */
export const PATIENCE_MS = 40_000;

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

/**
 * What was done within a time that the product measures too: a machine that took longer does it again, of which `act`
 * is told the count.
 */
export async function within<T>(ms: number, act: (attempt: number) => Promise<T>): Promise<T> {
  const end = Date.now() + PATIENCE_MS;
  for (let attempt = 0; Date.now() < end; attempt++) {
    const start = Date.now();
    const value = await act(attempt);
    if (Date.now() - start < ms) return value;
  }
  throw new Error(`in ${PATIENCE_MS} ms it was never done within ${ms} ms`);
}

const DAY_MS = 86_400_000;

/**
 * For what must not reach into another day (UTC, as budgets count it; a month ends with one): waits where little is left of
 * this one. Answers the day that it is then.
 */
export async function withinOneDay(): Promise<string> {
  const left = DAY_MS - (Date.now() % DAY_MS);
  if (left < PATIENCE_MS) await new Promise((resolve) => setTimeout(resolve, left + 1_000));
  return new Date().toISOString().slice(0, 10);
}

/** Reads again until what is read is right, and answers it; fails with what it was last. */
export async function untilRight<T>(
  read: () => T | Promise<T>,
  right: (value: T) => boolean,
): Promise<T> {
  let value: T | undefined;
  try {
    await until("the right value", async () => {
      value = await read();
      return right(value);
    });
  } catch (error) {
    throw new Error(`it was last ${JSON.stringify(value)} (${error})`);
  }
  return value as T;
}

/** What a stream says once that fits: what is written at once may come in parts. Rejects where it ends before. */
export function heard(stream: Readable, fits: string | RegExp): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = "";
    const hear = (part: Buffer) => {
      text += part.toString("latin1");
      if (typeof fits === "string" ? text.includes(fits) : fits.test(text))
        stop(() => resolve(text));
    };
    const fail = () =>
      stop(() => reject(new Error(`it ended with ${JSON.stringify(text)}, which is not ${fits}`)));
    const stop = (then: () => void) => {
      stream.off("data", hear).off("close", fail);
      then();
    };
    stream.on("data", hear).on("close", fail);
  });
}

/** The first line that a program prints. */
export const firstLine = async (stream: Readable): Promise<string> =>
  (await heard(stream, "\n")).split("\n")[0] ?? "";

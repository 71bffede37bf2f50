import type { Readable } from "node:stream";

/**
 * The time for which a test waits for an expected result, even on a busy machine that is ten times slower. It is not a
 * performance limit: a result that is missing after this time will never come.
 */
export const PATIENCE_MS = 40_000;

/** Waits for a condition that has no event. Rejects after the timeout instead of hanging. */
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
    // Part of the message, because the runner prints no cause.
    const last = failure === undefined ? "" : `; at last: ${failure}`;
    if (Date.now() > end) throw new Error(`waited ${timeoutMs} ms for ${what}${last}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

/**
 * Repeats an action until it takes less than `ms`, a time that the product itself measures. `act` receives the number of
 * the attempt. Resolves with the result.
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
 * For actions that must not continue into the next day (UTC, as budgets count it; a month ends with a day). Waits for the
 * next day if this one is about to end. Resolves with the current day.
 */
export async function withinOneDay(): Promise<string> {
  const remainingMs = DAY_MS - (Date.now() % DAY_MS);
  if (remainingMs < PATIENCE_MS)
    await new Promise((resolve) => setTimeout(resolve, remainingMs + 1_000));
  return new Date().toISOString().slice(0, 10);
}

/** Reads repeatedly until the value is right, and resolves with it. Rejects with the last value. */
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

/**
 * Resolves with the text of a stream when it matches, since one write may arrive in parts. Rejects if the stream ends
 * before.
 */
export function waitForText(stream: Readable, pattern: string | RegExp): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = "";
    const addPart = (part: Buffer) => {
      text += part.toString("latin1");
      if (typeof pattern === "string" ? text.includes(pattern) : pattern.test(text))
        stop(() => resolve(text));
    };
    const fail = () =>
      stop(() =>
        reject(new Error(`it ended with ${JSON.stringify(text)}, which is not ${pattern}`)),
      );
    const stop = (then: () => void) => {
      stream.off("data", addPart).off("close", fail);
      then();
    };
    stream.on("data", addPart).on("close", fail);
  });
}

/** Resolves with the first line that a program prints. */
export const firstLine = async (stream: Readable): Promise<string> =>
  (await waitForText(stream, "\n")).split("\n")[0] ?? "";

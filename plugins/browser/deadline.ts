/** Time limits, so that a caller gets a response in time whatever a page or a remote browser does. */
import type { PorticoError } from "portico";
import { errors } from "./errors.ts";

/**
 * Returns the result of `work`, or rejects with a 504 `timeout` after `ms`, which `createError` can word. The work itself cannot be stopped from
 * here; its late failure is ignored, since no caller waits for it any more.
 */
export async function withTimeout<T>(
  ms: number,
  what: string,
  work: Promise<T>,
  createError: (values: { what: string; ms: number }) => PorticoError = errors.timedOut,
): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(createError({ what, ms })), ms);
  });
  work.catch(() => {});
  try {
    return await Promise.race([work, timeout]);
  } finally {
    clearTimeout(timer);
  }
}

/** Returns the result of `work`, or `fallback` if it failed or took longer than `ms`. */
export async function attempt<T>(ms: number, work: Promise<T>, fallback: T): Promise<T> {
  return withTimeout(ms, "", work).catch(() => fallback);
}

export const pause = (ms: number): Promise<void> =>
  new Promise((resolve) => setTimeout(resolve, ms));

/**
 * Returns the remaining milliseconds of a budget that began at `start`, at least 1, because a timeout of 0 means
 * "none".
 */
export const remainingMs = (start: number, budgetMs: number): number =>
  Math.max(1, start + budgetMs - Date.now());

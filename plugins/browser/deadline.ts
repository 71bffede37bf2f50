/** Time limits: whatever a page or a remote browser does, a caller gets an answer in time. */
import { errors } from "./errors.ts";

/**
 * The work's result, or 504 `timeout` after `ms`. The work itself cannot be stopped from here; a late failure of it is
 * swallowed, since its caller has gone.
 */
export async function within<T>(ms: number, what: string, work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(errors.late({ what, ms })), ms);
  });
  work.catch(() => {});
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** The work's result, or `fallback` when it failed or took longer than `ms`. */
export async function attempt<T>(ms: number, work: Promise<T>, fallback: T): Promise<T> {
  return within(ms, "", work).catch(() => fallback);
}

export const pause = (ms: number): Promise<void> =>
  new Promise((resolve) => setTimeout(resolve, ms));

/** Milliseconds left of a budget that began at `start`; never below 1, so that a time-out of 0 is not "none". */
export const remainingMs = (start: number, budgetMs: number): number =>
  Math.max(1, start + budgetMs - Date.now());

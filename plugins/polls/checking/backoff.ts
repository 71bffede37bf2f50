const FIRST_MS = 5_000;
const FIRST_AT_MOST_MS = 60_000;
const CEILING_MS = 1_800_000;
const RETRY_AFTER_CEILING_MS = 3_600_000;
/** Statuses of errors that a retry rarely resolves, so the next check comes after the longest pause. */
const PERMANENT_STATUSES = new Set([401, 403, 404, 410, 451]);

export interface Failure {
  /** The number of consecutive failures, including this one. */
  errors: number;
  intervalMs: number;
  status?: number | undefined;
  retryAfterMs?: number | undefined;
}

/**
 * Returns the pause after a failed check, in ms: it doubles up to 30 min, with 10 % of jitter. `Retry-After` raises it, up
 * to an hour; its jitter is only positive, so that no request comes too early. `random` is a number in [0, 1).
 */
export function backoffMs(
  { errors, intervalMs, status, retryAfterMs = 0 }: Failure,
  random: number,
): number {
  const first = Math.min(Math.max(intervalMs, FIRST_MS), FIRST_AT_MOST_MS);
  const isPermanent = status !== undefined && PERMANENT_STATUSES.has(status);
  const delayMs = isPermanent
    ? CEILING_MS
    : Math.min(CEILING_MS, first * 2 ** Math.min(errors - 1, 20));
  const requestedPause = Math.min(retryAfterMs, RETRY_AFTER_CEILING_MS);
  return Math.max(
    addJitter(Math.max(delayMs, isPermanent ? intervalMs : 0), random),
    Math.ceil(requestedPause * (1 + random * 0.1)),
  );
}

/**
 * Adds up to 10 % of jitter in either direction, so that polls created together do not stay together. `random` is a
 * number in [0, 1).
 */
export function addJitter(ms: number, random: number): number {
  return Math.round(ms * (0.9 + random * 0.2));
}

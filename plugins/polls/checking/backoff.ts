const FIRST_MS = 5_000;
const FIRST_AT_MOST_MS = 60_000;
const CEILING_MS = 1_800_000;
const RETRY_AFTER_CEILING_MS = 3_600_000;
/** What waiting does not heal: asked again only at the ceiling. */
const HOPELESS = new Set([401, 403, 404, 410, 451]);

export interface Failure {
  /** In a row, this one included. */
  errors: number;
  intervalMs: number;
  status?: number | undefined;
  retryAfterMs?: number | undefined;
}

/**
 * How long a failing source is left alone: doubling from 5 s to 30 min, a tenth more or less. `Retry-After` raises it, up to
 * an hour, and by a tenth at most: nobody comes sooner than asked. `share` is a random number in [0, 1).
 */
export function backoffMs(
  { errors, intervalMs, status, retryAfterMs = 0 }: Failure,
  share: number,
): number {
  const first = Math.min(Math.max(intervalMs, FIRST_MS), FIRST_AT_MOST_MS);
  const hopeless = status !== undefined && HOPELESS.has(status);
  const doubled = hopeless
    ? CEILING_MS
    : Math.min(CEILING_MS, first * 2 ** Math.min(errors - 1, 20));
  const requestedPause = Math.min(retryAfterMs, RETRY_AFTER_CEILING_MS);
  return Math.max(
    addJitter(Math.max(doubled, hopeless ? intervalMs : 0), share),
    Math.ceil(requestedPause * (1 + share * 0.1)),
  );
}

/** A tenth more or less, so that polls made together do not stay together. `share` is a random number in [0, 1). */
export function addJitter(ms: number, share: number): number {
  return Math.round(ms * (0.9 + share * 0.2));
}

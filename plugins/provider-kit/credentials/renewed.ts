/** Credentials that expire: concurrent callers share one fetch, and a new one starts before they expire. */

/** `expiresAt`: milliseconds since 1970; undefined where it never does. */
export interface Expiring<T> {
  value: T;
  expiresAt: number | undefined;
}

/** Renewed this long before they expire, but not in the first half of their life. */
const EARLY_MS = 5 * 60_000;
/** Clocks differ, so that a value is not used in its last moments. */
const MARGIN_MS = 10_000;
/** Where renewing fails, the old value stays in use, and renewing is tried again after this time. */
const RETRY_MS = 10_000;

/**
 * Returns the value while it is valid, else a promise of the one that is being fetched. A failure reaches only callers
 * that need the value at that time. `fetch` gets the caller's argument, since a channel's settings may have changed.
 */
export function createRenewed<T, By = void>(
  fetch: (by: By) => Promise<Expiring<T>>,
  now: () => number = Date.now,
): (by: By) => T | Promise<T> {
  let held: { value: T; renewAt: number; usableUntil: number } | undefined;
  let fetching: Promise<T> | undefined;
  let retryAt = 0;

  const renew = (by: By): Promise<T> => {
    fetching ??= fetch(by)
      .then(({ value, expiresAt = Infinity }) => {
        const life = Math.max(0, expiresAt - now());
        held = {
          value,
          renewAt: expiresAt - Math.min(EARLY_MS, life / 2),
          usableUntil: expiresAt - Math.min(MARGIN_MS, life / 4),
        };
        return value;
      })
      .finally(() => {
        fetching = undefined;
      });
    return fetching;
  };

  return (by) => {
    const time = now();
    if (held === undefined || time >= held.usableUntil) return renew(by);
    if (time >= held.renewAt && time >= retryAt) {
      retryAt = time + RETRY_MS;
      renew(by).catch(() => {});
    }
    return held.value;
  };
}

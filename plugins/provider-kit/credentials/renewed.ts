/** Credentials that expire: concurrent callers share one fetch, and a new one starts before they expire. */

/** `expiresAt`: milliseconds since 1970; undefined where it never does. */
export interface Expiring<T> {
  value: T;
  expiresAt: number | undefined;
}

/** Renewed this long before they expire, but not in the first half of their life. */
const EARLY_MS = 5 * 60_000;
/** Clocks differ: not used in the last moments. */
const MARGIN_MS = 10_000;
/** Where renewing fails, the old one is used on, and renewing tried again after this. */
const RETRY_MS = 10_000;

/**
 * Gives the value at once while it is good, else a promise of the one that is being fetched. A failure reaches those who
 * need the value by then, and nobody else. `fetch` is told by whom it is asked: a channel's settings may have changed.
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

/** Caches credentials that expire. Concurrent callers share one fetch, and the next fetch starts before they expire. */

/** `expiresAt` is in milliseconds since 1970; undefined if the value never expires. */
export interface Expiring<T> {
  value: T;
  expiresAt: number | undefined;
}

/** The time before expiry at which renewal starts, but never in the first half of the lifetime. */
const EARLY_MS = 5 * 60_000;
/** A value is not used for this time before it expires, because clocks differ. */
const MARGIN_MS = 10_000;
/** If renewal fails, the old value stays in use, and renewal is tried again after this time. */
const RETRY_MS = 10_000;

/**
 * Creates a function that returns the value while it is valid, otherwise a promise of the one that is being fetched. Only
 * callers that have no valid value get a failure. `fetch` gets the caller's argument, since a channel's settings may have
 * changed.
 */
export function createRenewed<T, Argument = void>(
  fetch: (argument: Argument) => Promise<Expiring<T>>,
  now: () => number = Date.now,
): (argument: Argument) => T | Promise<T> {
  let current: { value: T; renewAt: number; usableUntil: number } | undefined;
  let fetching: Promise<T> | undefined;
  let retryAt = 0;

  const renew = (argument: Argument): Promise<T> => {
    fetching ??= fetch(argument)
      .then(({ value, expiresAt = Infinity }) => {
        const lifetime = Math.max(0, expiresAt - now());
        current = {
          value,
          renewAt: expiresAt - Math.min(EARLY_MS, lifetime / 2),
          usableUntil: expiresAt - Math.min(MARGIN_MS, lifetime / 4),
        };
        return value;
      })
      .finally(() => {
        fetching = undefined;
      });
    return fetching;
  };

  return (argument) => {
    const time = now();
    if (current === undefined || time >= current.usableUntil) return renew(argument);
    if (time >= current.renewAt && time >= retryAt) {
      retryAt = time + RETRY_MS;
      renew(argument).catch(() => {});
    }
    return current.value;
  };
}

/** Counts failures by caller in a sliding window, in bounded memory. */
import { BoundedMap } from "../../memory/bounded-map.ts";
import type { PorticoError } from "../../errors.ts";
import { getCallerKey } from "../../net/address.ts";
import { errors } from "../errors.ts";

export interface ThrottleOptions {
  /** The number of failures per window after which a caller is throttled; default 20. */
  limit?: number;
  /** The length of the window; default 60000. */
  windowMs?: number;
  /** The number of callers to remember; the one with the oldest latest failure is forgotten first. Default 10000. */
  maxAddresses?: number;
  /** A clock in ms that never goes back; default `performance.now`. */
  now?: () => number;
}

export type Throttle = ReturnType<typeof createThrottle>;

export function createThrottle(options: ThrottleOptions = {}) {
  const {
    limit = 20,
    windowMs = 60_000,
    maxAddresses = 10_000,
    now = () => performance.now(),
  } = options;
  const failures = new BoundedMap<number[]>({
    maxEntries: maxAddresses,
    maxBytes: maxAddresses * 1000,
    sizeOf: (times) => times.length * 8,
  });
  let notifyOthers = (_address: string): void => {};

  function listRecent(address: string): number[] {
    return (failures.get(getCallerKey(address)) ?? []).filter((at) => at > now() - windowMs);
  }

  function recordFailure(address: string): void {
    const caller = getCallerKey(address);
    const recent = listRecent(address);
    failures.set(caller, [...recent, now()]);
  }

  return {
    /**
     * Records a failure. If the caller had reached the limit before, records nothing and returns `too_many_attempts`.
     */
    fail(address: string): PorticoError | undefined {
      const recent = listRecent(address);
      if (recent.length >= limit)
        return tooManyError(recent[recent.length - limit]! + windowMs - now());
      recordFailure(address);
      notifyOthers(address);
      return undefined;
    },
    /** Records a failure that another process has reported. */
    note: recordFailure,
    /** Sets the function that reports the failures of this process to the others. */
    share(notify: (address: string) => void): void {
      notifyOthers = notify;
    },
    /** Returns how many failures the caller has left, and the time until all have left the window. */
    look(address: string) {
      const recent = listRecent(address);
      const resetMs = recent.length === 0 ? 0 : Math.max(1, recent.at(-1)! + windowMs - now());
      return { limit, remaining: Math.max(0, limit - recent.length), resetMs };
    },
  };
}

function tooManyError(waitMs: number): PorticoError {
  const seconds = Math.max(1, Math.ceil(waitMs / 1000));
  return errors.tooManyAttempts({ seconds }, { headers: { "retry-after": String(seconds) } });
}

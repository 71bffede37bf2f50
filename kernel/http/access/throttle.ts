/** Counts failures by caller in a sliding window, in bounded memory. */
import { BoundedMap } from "../../memory/bounded-map.ts";
import type { PorticoError } from "../../errors.ts";
import { callerOf } from "../../net/address.ts";
import { errors } from "../errors.ts";

export interface ThrottleOptions {
  /** Failures within the window that are answered as what they are; default 20. */
  limit?: number;
  /** Default 60000. */
  windowMs?: number;
  /** Callers remembered; the one that failed longest ago is forgotten first. Default 10000. */
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

  function recentOf(address: string): number[] {
    return (failures.get(callerOf(address)) ?? []).filter((at) => at > now() - windowMs);
  }

  function note(address: string): void {
    const caller = callerOf(address);
    const recent = recentOf(address);
    failures.set(caller, [...recent, now()]);
  }

  return {
    /** Notes a failure; `too_many_attempts` (and nothing is noted) where the caller had used its failures up before. */
    fail(address: string): PorticoError | undefined {
      const recent = recentOf(address);
      if (recent.length >= limit) return tooMany(recent[recent.length - limit]! + windowMs - now());
      note(address);
      notifyOthers(address);
      return undefined;
    },
    /** Notes a failure that another process has seen. */
    note,
    /** Sets the function that reports the failures of this process to the others. */
    share(notify: (address: string) => void): void {
      notifyOthers = notify;
    },
    /** How many failures a caller may still have, and the time until all have left the window. */
    look(address: string) {
      const recent = recentOf(address);
      const resetMs = recent.length === 0 ? 0 : Math.max(1, recent.at(-1)! + windowMs - now());
      return { limit, remaining: Math.max(0, limit - recent.length), resetMs };
    },
  };
}

function tooMany(waitMs: number): PorticoError {
  const seconds = Math.max(1, Math.ceil(waitMs / 1000));
  return errors.tooManyAttempts({ seconds }, { headers: { "retry-after": String(seconds) } });
}

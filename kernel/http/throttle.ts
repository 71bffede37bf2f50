/** Counts failures by address in a sliding window, in bounded memory. */
import { isIPv6 } from "node:net";

export interface ThrottleOptions {
  /** Failures within the window that are still answered as such; default 20. */
  limit?: number;
  /** Default 60000. */
  windowMs?: number;
  /** Addresses remembered; the one that failed longest ago is forgotten first. Default 10000. */
  maxAddresses?: number;
  /** A clock in ms that never goes back; default `performance.now`. */
  now?: () => number;
}

export interface Throttle {
  /** Notes a failure. Returns 0, or the seconds to wait when the address had used its failures up before. */
  fail(address: string): number;
}

export function createThrottle(options: ThrottleOptions = {}): Throttle {
  const { limit = 20, windowMs = 60_000, maxAddresses = 10_000, now = () => performance.now() } = options;
  const failures = new Map<string, number[]>();

  return {
    fail(address) {
      const key = bucketOf(address);
      const time = now();
      const recent = (failures.get(key) ?? []).filter((at) => at > time - windowMs);
      const oldest = recent[0];
      if (oldest !== undefined && recent.length >= limit) {
        return Math.max(1, Math.ceil((oldest + windowMs - time) / 1000));
      }
      recent.push(time);
      failures.delete(key);
      failures.set(key, recent);
      if (failures.size > maxAddresses) failures.delete(failures.keys().next().value as string);
      return 0;
    },
  };
}

/** An IPv6 caller owns a whole /64, so that is what counts as one address. */
function bucketOf(address: string): string {
  if (!isIPv6(address)) return address;
  const [head = "", tail = ""] = (address.split("%")[0] as string).split("::");
  const left = head === "" ? [] : head.split(":");
  const right = tail === "" ? [] : tail.split(":");
  const zeros = address.includes("::") ? Math.max(0, 8 - left.length - right.length) : 0;
  const groups = [...left, ...Array<string>(zeros).fill("0"), ...right];
  return groups
    .slice(0, 4)
    .map((group) => Number.parseInt(group, 16).toString(16))
    .join(":");
}

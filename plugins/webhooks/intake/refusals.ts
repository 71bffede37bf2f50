/** Refused credentials by client address: a bucket of their own, so that guessing costs good callers nothing. */
import { isIPv6 } from "node:net";
import type { Take } from "portico/store";

const LIMIT = 20;
const WINDOW_MS = 60_000;
const MOST_ADDRESSES = 10_000;

export interface Refusals {
  /** Notes a refusal; `allowed` is false where the address had used its own up before. */
  note(address: string): Take;
  /** The state of an address. */
  look(address: string): Take;
}

/** `now` is a clock in ms that never goes back. */
export function createRefusals(now: () => number = () => performance.now()): Refusals {
  const seen = new Map<string, number[]>();

  function use(address: string, cost: 0 | 1): Take {
    const key = bucketOf(address);
    const time = now();
    const recent = (seen.get(key) ?? []).filter((at) => at > time - WINDOW_MS);
    const allowed = recent.length + cost <= LIMIT;
    if (cost > 0 && allowed) {
      recent.push(time);
      seen.delete(key);
      seen.set(key, recent);
      if (seen.size > MOST_ADDRESSES) seen.delete(seen.keys().next().value as string);
    }
    const wait = (at: number | undefined) => (at === undefined ? 0 : Math.max(1, at + WINDOW_MS - time));
    return {
      allowed,
      limit: LIMIT,
      remaining: LIMIT - recent.length,
      retryAfterMs: allowed ? 0 : wait(recent[0]),
      resetMs: wait(recent.at(-1)),
    };
  }

  return { note: (address) => use(address, 1), look: (address) => use(address, 0) };
}

/** An IPv6 caller owns a whole /64. */
function bucketOf(address: string): string {
  if (!isIPv6(address)) return address;
  const [head = "", tail = ""] = address.replace(/%.*/, "").split("::");
  const groups = (text: string) => (text === "" ? [] : text.split(":"));
  const zeros = address.includes("::") ? Math.max(0, 8 - groups(head).length - groups(tail).length) : 0;
  const all = [...groups(head), ...Array<string>(zeros).fill("0"), ...groups(tail)];
  return all
    .slice(0, 4)
    .map((group) => Number.parseInt(group, 16))
    .join(":");
}

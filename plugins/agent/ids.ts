import { randomFillSync } from "node:crypto";

const RANDOM_BYTES = 12;
const RANDOM_DIGITS = 2 * RANDOM_BYTES;
/** Drawn and written down for many ids at once: asking for random bytes costs more than all the rest. */
const pool = Buffer.alloc(RANDOM_BYTES * 256);
let digits = "";
let used = 0;
let now = 0;
let nowHex = "";

/**
 * A new id such as `evt_0199f0c3a2b1…`: the time in milliseconds, then 96 random bits. Later ids sort later, so that
 * an index of a busy table grows at its end instead of being rewritten everywhere.
 */
export function newId(prefix: string): string {
  if (used === digits.length) {
    digits = randomFillSync(pool).toString("hex");
    used = 0;
  }
  const random = digits.slice(used, used + RANDOM_DIGITS);
  used += RANDOM_DIGITS;
  const time = Date.now();
  if (time !== now) nowHex = time.toString(16).padStart(12, "0");
  now = time;
  return `${prefix}_${nowHex}${random}`;
}

import { randomFillSync } from "node:crypto";

const RANDOM_BYTES = 12;
const RANDOM_DIGITS = 2 * RANDOM_BYTES;
/** Random bytes for many ids, because each call of the random generator costs more than the rest of an id. */
const pool = Buffer.alloc(RANDOM_BYTES * 256);
let digits = "";
let usedDigits = 0;
let lastTime = 0;
let lastTimeHex = "";

/**
 * Returns a new id such as `evt_0199f0c3a2b1…`: the time in milliseconds, then 96 random bits. Later ids sort later, so
 * that the index of a busy table grows at its end instead of being modified everywhere.
 */
export function newId(prefix: string): string {
  if (usedDigits === digits.length) {
    digits = randomFillSync(pool).toString("hex");
    usedDigits = 0;
  }
  const random = digits.slice(usedDigits, usedDigits + RANDOM_DIGITS);
  usedDigits += RANDOM_DIGITS;
  const time = Date.now();
  if (time !== lastTime) lastTimeHex = time.toString(16).padStart(12, "0");
  lastTime = time;
  return `${prefix}_${lastTimeHex}${random}`;
}

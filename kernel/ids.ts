import { randomUUID } from "node:crypto";

/**
 * A new id such as `evt_0199f0c3a2b1…`: the time in milliseconds, then 96 random bits. Later ids sort later, so that
 * an index of a busy table grows at its end instead of being rewritten everywhere.
 */
export function newId(prefix: string): string {
  const random = randomUUID();
  const time = Date.now().toString(16).padStart(12, "0");
  return `${prefix}_${time}${random.slice(0, 8)}${random.slice(9, 13)}${random.slice(24)}`;
}

/** Reads and repairs counts of tokens in an upstream's response. Servers send negative numbers, fractions and texts. */
import { isObject, type JsonMembers } from "../request/is-object.ts";

/** Reads a count from 0 to 2^53 - 1, which some servers write as a text; undefined for anything else. */
export function readCount(value: unknown): number | undefined {
  const isText = typeof value === "string" && value.trim() !== "";
  const count = isText ? Number(value) : value;
  return Number.isSafeInteger(count) && (count as number) >= 0 ? (count as number) : undefined;
}

/** The number of levels of objects that are searched for counts: some formats nest details in details. */
const MAX_LEVELS = 5;

/**
 * Repairs the counts of a `usage` of any format in place, details included: an invalid count becomes 0. Returns whether it
 * changed something. Members that are not counts of tokens (a price, a text) remain unchanged.
 */
export function repairCounts(usage: unknown, levels = MAX_LEVELS): boolean {
  if (levels === 0 || !isObject(usage)) return false;
  let isChanged = false;
  for (const [name, value] of Object.entries(usage)) {
    if (value === null) continue;
    // An integer beyond 2^53 may be an object that contains its digits.
    const isCount = name.endsWith("_tokens");
    const isRepaired = isCount ? setCount(usage, name, value) : repairCounts(value, levels - 1);
    if (isRepaired) isChanged = true;
  }
  return isChanged;
}

function setCount(usage: JsonMembers, name: string, value: unknown): boolean {
  const count = readCount(value) ?? 0;
  if (count === value) return false;
  usage[name] = count;
  return true;
}

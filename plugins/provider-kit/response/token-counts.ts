/** Counts of tokens in an upstream's response. Servers send negative numbers, fractions, texts and nonsense. */
import { isObject, type JsonMembers } from "../request/is-object.ts";

/** A count as a whole number from 0 to 2^53 - 1; some servers write it as a text. Undefined for anything else. */
export function readCount(value: unknown): number | undefined {
  const isText = typeof value === "string" && value.trim() !== "";
  const count = isText ? Number(value) : value;
  return Number.isSafeInteger(count) && (count as number) >= 0 ? (count as number) : undefined;
}

/** Levels of objects in which a usage has counts: some formats nest details in details. */
const MOST_LEVELS = 5;

/**
 * Repairs the counts of a `usage` of any format in place, details included: what cannot be a count becomes 0. Returns whether
 * something was changed. Members that are no counts of tokens (a price, a word) stay as they are.
 */
export function repairCounts(usage: unknown, levels = MOST_LEVELS): boolean {
  if (levels === 0 || !isObject(usage)) return false;
  let changed = false;
  for (const [name, value] of Object.entries(usage)) {
    if (value === null) continue;
    // A whole number beyond 2^53 may be an object that holds its digits.
    const isCount = name.endsWith("_tokens");
    const isRepaired = isCount ? setCount(usage, name, value) : repairCounts(value, levels - 1);
    if (isRepaired) changed = true;
  }
  return changed;
}

function setCount(usage: JsonMembers, name: string, value: unknown): boolean {
  const count = readCount(value) ?? 0;
  if (count === value) return false;
  usage[name] = count;
  return true;
}

/** Parses JSON documents, whose values are counted before. */
import { exactJson } from "portico";
import { CheckFailed } from "./source.ts";

/**
 * These limits allow the largest list that is compared, with a few fields per item. A larger document is meant to
 * exhaust the gateway.
 */
const LIMITS = { maxValues: 400_000, maxMembers: 100_000, maxDepth: 100 };

const EXCESS = {
  maxValues: `holds more than ${LIMITS.maxValues} values`,
  maxMembers: `has an object with more than ${LIMITS.maxMembers} members`,
  maxDepth: `is nested more than ${LIMITS.maxDepth} levels deep`,
};

/**
 * Parses JSON. Integers beyond 2^53 keep their digits. Throws `CheckFailed` for a document beyond the limits, and
 * `SyntaxError` for invalid JSON.
 */
export function parseDocument(text: string): unknown {
  const { broken, longIntegers } = exactJson.scan(text, LIMITS);
  if (broken !== undefined)
    throw new CheckFailed(`The document ${EXCESS[broken]}. Request a smaller part of it.`);
  return exactJson.parse(text, longIntegers);
}

/** Returns whether a text is complete JSON. For one beyond the limits, only the last character is compared. */
export function isWholeJson(text: string): boolean {
  if (exactJson.scan(text, LIMITS).broken !== undefined)
    return text.endsWith(text.startsWith("{") ? "}" : "]");
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** Documents in JSON, which are counted before they are parsed. */
import { exactJson } from "portico";
import { CheckFailed } from "./source.ts";

/** A list of as many items as are compared, with a few fields each; what holds more was made to exhaust us. */
const LIMITS = { maxValues: 400_000, maxMembers: 100_000, maxDepth: 100 };

const EXCESS = {
  maxValues: `holds more than ${LIMITS.maxValues} values`,
  maxMembers: `has an object with more than ${LIMITS.maxMembers} members`,
  maxDepth: `is nested more than ${LIMITS.maxDepth} levels deep`,
};

/** Whole numbers beyond 2^53 keep their digits. Throws `CheckFailed` for a document that holds too much, and a `SyntaxError` for one that is not JSON. */
export function parseDocument(text: string): unknown {
  const { broken, longIntegers } = exactJson.scan(text, LIMITS);
  if (broken !== undefined)
    throw new CheckFailed(`The document ${EXCESS[broken]}. Request a smaller part of it.`);
  return exactJson.parse(text, longIntegers);
}

/** True for JSON to its end. One that holds too much to be parsed is judged by its last character. */
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

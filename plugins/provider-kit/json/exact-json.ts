/** JSON whose integers beyond 2^53 keep their digits, at no cost if there are none: see `exactJson`. */
import { exactJson } from "portico";

/** Numbers with fewer digits are exact as doubles. */
const LONG_NUMBER = /\d{16}/;

/** As `JSON.parse`. Throws if the text is not JSON. */
export function parseExact(text: string): unknown {
  return LONG_NUMBER.test(text) ? exactJson.parse(text) : JSON.parse(text);
}

/** Texts up to this length cost little to parse, whatever their content. */
const UNCOUNTED_LENGTH = 64 * 1024;
const LIMITS = { maxValues: 100_000, maxMembers: 100_000, maxDepth: 500 };

/** A text contains more values, or deeper nesting, than the limits allow. */
export class TooManyValues extends Error {}

/**
 * As `parseExact`, for JSON within a string, such as the arguments of a call, whose values nobody has counted yet. Throws
 * `TooManyValues` before anything is parsed.
 */
export function parseCounted(text: string): unknown {
  if (text.length > UNCOUNTED_LENGTH && exactJson.scan(text, LIMITS).broken !== undefined)
    throw new TooManyValues(
      `The JSON holds more than ${LIMITS.maxValues} values, or is nested more than ${LIMITS.maxDepth} levels deep.`,
    );
  return parseExact(text);
}

/** As `JSON.stringify`, for a value that JSON can express. */
export function stringifyExact(value: unknown): string {
  return exactJson.stringify(value) as string;
}

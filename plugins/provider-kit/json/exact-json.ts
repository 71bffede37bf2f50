/** JSON whose whole numbers beyond 2^53 keep their digits, at no cost where there are none: see `exactJson`. */
import { exactJson } from "portico";

const RUN_OF_DIGITS = /\d{16}/;

/** As `JSON.parse`. Throws where the text is no JSON. */
export function parseExact(text: string): unknown {
  return RUN_OF_DIGITS.test(text) ? exactJson.parse(text) : JSON.parse(text);
}

/** Texts of this length cost little to parse, whatever they hold. */
const UNCOUNTED = 64 * 1024;
const LIMITS = { maxValues: 100_000, maxMembers: 100_000, maxDepth: 500 };

/** A text holds more values, or deeper ones, than is read. */
export class TooManyValues extends Error {}

/**
 * As `parseExact`, of a text that stands in a text, such as the arguments of a call: nobody has counted what it holds.
 * Throws `TooManyValues` before anything is parsed.
 */
export function parseCounted(text: string): unknown {
  if (text.length > UNCOUNTED && exactJson.scan(text, LIMITS).broken !== undefined)
    throw new TooManyValues(
      `It holds more than ${LIMITS.maxValues} values, or is more than ${LIMITS.maxDepth} deep.`,
    );
  return parseExact(text);
}

/** As `JSON.stringify`, of a value that has a text. */
export function stringifyExact(value: unknown): string {
  return exactJson.stringify(value) as string;
}

/** JSON whose whole numbers beyond 2^53 keep their digits, at no cost where there are none: see `exactJson`. */
import { exactJson } from "portico";

const RUN_OF_DIGITS = /\d{16}/;
/** What `JSON.stringify` makes of a number that is kept exactly. */
const QUOTED_DIGITS = /"-?\d{16,}"/;

/** As `JSON.parse`. Throws where the text is no JSON. */
export function parseExact(text: string): unknown {
  return RUN_OF_DIGITS.test(text) ? exactJson.parse(text) : JSON.parse(text);
}

/** As `JSON.stringify`, of a value that has a text. */
export function stringifyExact(value: unknown): string {
  const text = JSON.stringify(value);
  return QUOTED_DIGITS.test(text) ? (exactJson.stringify(value) ?? text) : text;
}

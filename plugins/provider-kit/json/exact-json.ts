/**
 * JSON whose whole numbers keep their digits. `JSON.parse` rounds what lies beyond 2^53, so that an id of 19 digits in the
 * arguments of a call would come out as another one.
 */
import { randomBytes } from "node:crypto";

const RUN_OF_DIGITS = /\d{16}/;
/** A string, or a number: whatever stands within a string is passed over. */
const TOKEN = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;
/** What stands for such a number while a text is parsed or written. Nobody outside can guess it. */
const MARK = `exact ${randomBytes(12).toString("hex")}:`;
const WRITTEN = new RegExp(`"${MARK}(-?\\d+)"`, "g");

let writing = false;

/** A whole number that a JavaScript number cannot hold. */
export class ExactNumber {
  readonly digits: string;

  constructor(digits: string) {
    this.digits = digits;
  }

  /** The nearest JavaScript number, wherever nobody writes exactly. */
  valueOf(): number {
    return Number(this.digits);
  }

  toString(): string {
    return this.digits;
  }

  toJSON(): unknown {
    return writing ? MARK + this.digits : Number(this.digits);
  }
}

/** As `JSON.parse`, but whole numbers beyond 2^53 are `ExactNumber`s. Throws where the text is no JSON. */
export function parseExact(text: string): unknown {
  if (!RUN_OF_DIGITS.test(text)) return JSON.parse(text);
  let found = false;
  const marked = text.replace(TOKEN, (token) => {
    if (!isInexact(token)) return token;
    found = true;
    return `"${MARK}${token}"`;
  });
  if (!found) return JSON.parse(text);
  return JSON.parse(marked, (_key, value: unknown) =>
    typeof value === "string" && value.startsWith(MARK)
      ? new ExactNumber(value.slice(MARK.length))
      : value,
  );
}

/** As `JSON.stringify`, with the digits that `parseExact` kept. */
export function stringifyExact(value: unknown): string {
  writing = true;
  try {
    const text = JSON.stringify(value);
    return text.includes(MARK) ? text.replace(WRITTEN, "$1") : text;
  } finally {
    writing = false;
  }
}

function isInexact(token: string): boolean {
  return /^-?\d+$/.test(token) && !Number.isSafeInteger(Number(token));
}

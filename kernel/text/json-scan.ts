/**
 * Counts what a JSON text holds before anything is parsed: a text of a few megabytes can hold millions of values, which
 * would take seconds and hundreds of megabytes to build. The one optimised pass over outside text; its benchmark is
 * test/bench/json-scan.bench.ts.
 */

/** What a text from outside may hold. */
export interface JsonLimits {
  /** Strings, numbers, literals, lists and objects, all together. */
  readonly maxValues: number;
  /** Members of one object, as they are written: a name that comes twice counts twice. */
  readonly maxMembers: number;
  /** Lists and objects inside each other. */
  readonly maxDepth: number;
}

/** Generous for what people and programs send: some ten times the largest requests that clients make. */
export const DEFAULT_JSON_LIMITS: JsonLimits = {
  maxValues: 100_000,
  maxMembers: 10_000,
  maxDepth: 100,
};

export interface JsonScan {
  /** The limit that the text breaks; the scan ends there. */
  readonly broken: keyof JsonLimits | undefined;
  /** Where whole numbers of 16 or more digits stand: [from, to, from, to …]. A double may not hold them. */
  readonly longIntegers: readonly number[];
}

const QUOTE = 34;
const COMMA = 44;
const MINUS = 45;
const ZERO = 48;
const NINE = 57;
const COLON = 58;
const BACKSLASH = 92;
/** Fewer digits always fit into a double. */
const LONG_DIGITS = 16;
const NONE: readonly number[] = [];

/**
 * `text` is JSON, or its bytes with one character for each; one that is not JSON is counted nevertheless, so that its
 * parser fails soon. Stops at the first limit that is broken.
 */
// biome-ignore lint/complexity/noExcessiveCognitiveComplexity: one pass in one function, as its benchmark demands
export function scanJson(text: string, limits: JsonLimits): JsonScan {
  const { maxValues, maxMembers, maxDepth } = limits;
  const members: number[] = [0];
  const longIntegers: number[] = [];
  let depth = 0;
  let values = 0;
  const end = text.length;
  for (let i = 0; i < end; i++) {
    const code = text.charCodeAt(i);
    if (code === COMMA || code <= 32) continue;
    if (code === QUOTE) {
      values++;
      i = closingQuote(text, i);
    } else if (code === COLON) {
      // The string before it was a name.
      values--;
      members[depth]!++;
      if (members[depth]! > maxMembers) return { broken: "maxMembers", longIntegers: NONE };
    } else if ((code | 32) === 123) {
      // `{` or `[`: they differ in one bit.
      values++;
      depth++;
      members[depth] = 0;
      if (depth > maxDepth) return { broken: "maxDepth", longIntegers: NONE };
    } else if ((code | 32) === 125) {
      if (depth > 0) depth--;
    } else {
      values++;
      const from = i;
      i = scalarEnd(text, i) - 1;
      if (i - from + 1 >= LONG_DIGITS && isInteger(text, from, i + 1))
        longIntegers.push(from, i + 1);
    }
    if (values > maxValues) return { broken: "maxValues", longIntegers: NONE };
  }
  return { broken: undefined, longIntegers };
}

/** The position of the quote that ends the string; the end of the text where none does. */
function closingQuote(text: string, opening: number): number {
  // Most strings have no escaped quote, and for those the engine's own search is many times faster.
  const quote = text.indexOf('"', opening + 1);
  if (quote === -1) return text.length;
  if (text.charCodeAt(quote - 1) !== BACKSLASH) return quote;
  for (let at = opening + 1; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === BACKSLASH) at++;
    else if (code === QUOTE) return at;
  }
  return text.length;
}

/** Behind a number or literal: at white space, or at a character that JSON gives a meaning. */
function scalarEnd(text: string, from: number): number {
  let at = from + 1;
  for (; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code <= 32 || code === COMMA || code === QUOTE || code === COLON) break;
    if ((code | 32) === 123 || (code | 32) === 125) break;
  }
  return at;
}

function isInteger(text: string, from: number, to: number): boolean {
  const first = text.charCodeAt(from) === MINUS ? from + 1 : from;
  if (to - first < LONG_DIGITS) return false;
  for (let at = first; at < to; at++) {
    const code = text.charCodeAt(at);
    if (code < ZERO || code > NINE) return false;
  }
  return true;
}

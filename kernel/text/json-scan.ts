/**
 * Counts the values of a JSON text before it is parsed: a text of a few megabytes can hold millions of values, which
 * would take seconds and hundreds of megabytes to build. This is the one optimised pass over outside text; its
 * benchmark is test/bench/json-scan.bench.ts.
 */

/** The limits of a text from outside. */
export interface JsonLimits {
  /** The number of strings, numbers, literals, lists and objects together. */
  readonly maxValues: number;
  /** The number of members of one object as written: a name that occurs twice counts twice. */
  readonly maxMembers: number;
  /** The nesting depth of lists and objects. */
  readonly maxDepth: number;
}

/** Generous limits: about ten times the largest requests that clients make. */
export const DEFAULT_JSON_LIMITS: JsonLimits = {
  maxValues: 100_000,
  maxMembers: 10_000,
  maxDepth: 100,
};

export interface JsonScan {
  /** The limit that the text exceeds; the scan ends there. */
  readonly broken: keyof JsonLimits | undefined;
  /** The positions of whole numbers with 16 or more digits: [from, to, from, to …]. A double may not hold them. */
  readonly longIntegers: readonly number[];
}

const QUOTE = 34;
const COMMA = 44;
const MINUS = 45;
const ZERO = 48;
const NINE = 57;
const COLON = 58;
const BACKSLASH = 92;
/** A double always holds numbers with fewer digits. */
const LONG_DIGITS = 16;
const NONE: readonly number[] = [];

/**
 * Scans a text: JSON, or its bytes with one character per byte. A text that is not JSON is counted as well, and its
 * parser soon fails. Stops at the first limit that is exceeded.
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
      i = findClosingQuote(text, i);
    } else if (code === COLON) {
      // The string before the colon was a name.
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
      i = findScalarEnd(text, i) - 1;
      if (i - from + 1 >= LONG_DIGITS && isInteger(text, from, i + 1))
        longIntegers.push(from, i + 1);
    }
    if (values > maxValues) return { broken: "maxValues", longIntegers: NONE };
  }
  return { broken: undefined, longIntegers };
}

/** Returns the position of the quote that ends the string; the end of the text if there is none. */
function findClosingQuote(text: string, opening: number): number {
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

/** Returns the end of a number or literal: the next white space or structural character. */
function findScalarEnd(text: string, from: number): number {
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

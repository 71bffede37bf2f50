/**
 * JSON whose whole numbers keep their digits. A double holds whole numbers only up to 2^53, and the ids of many
 * services are larger: `JSON.parse` can turn two of them into one.
 */
import { randomUUID } from "node:crypto";
import { scanJson } from "./json-scan.ts";

/** A whole number beyond 2^53. As text it is its digits, in arithmetic the nearest double. */
export class ExactNumber {
  /** Public, so that comparisons of members include it. */
  readonly digits: string;

  constructor(digits: string) {
    this.digits = digits;
  }

  toString(): string {
    return this.digits;
  }

  valueOf(): number {
    return Number(this.digits);
  }

  /** Used by a plain `JSON.stringify`: the digits survive as a string. */
  toJSON(): string {
    return this.digits;
  }
}

/**
 * The prefix of digits that pass through the engine as a string. It is secret, so text from outside cannot contain it.
 */
const MARK = `exact number ${randomUUID()} `;
const MARKED = new RegExp(`"${MARK}(-?\\d+)"`, "g");
/** Matches the output of `JSON.stringify` for an `ExactNumber`, and for any string of digits. */
const QUOTED_DIGITS = /"-?\d{16,}"/;
const UNLIMITED = {
  maxValues: Number.POSITIVE_INFINITY,
  maxMembers: Number.POSITIVE_INFINITY,
  maxDepth: Number.POSITIVE_INFINITY,
};

export const exactJson = {
  /** Counts the values of a text without parsing it. Code that reads text from outside calls this first. */
  scan: scanJson,

  /** Parses like `JSON.parse`. `longIntegers` are the positions from a scan of this text, if it was scanned before. */
  parse(text: string, longIntegers = scanJson(text, UNLIMITED).longIntegers): unknown {
    const value: unknown = JSON.parse(text);
    const marked = markUnsafe(text, longIntegers);
    return marked === undefined ? value : JSON.parse(marked, unmark);
  },

  /** Serializes like `JSON.stringify`, at little extra cost for a value without such numbers. */
  stringify(value: unknown, indent?: number): string | undefined {
    const plain = JSON.stringify(value, undefined, indent) as string | undefined;
    if (plain === undefined || !QUOTED_DIGITS.test(plain)) return plain;
    return JSON.stringify(value, mark, indent).replace(MARKED, "$1");
  },

  isNumber: (value: unknown): value is ExactNumber => value instanceof ExactNumber,

  /**
   * Copies like `structuredClone`, which would turn such a number into an empty object. Members with symbols as names
   * are copied as well: they are notes on a value that JSON omits, and a copy without them would not equal the value.
   */
  copy<T>(value: T): T {
    return copyValue(value, new Map()) as T;
  },

  /**
   * Returns a copy for code that accepts only plain values (a structured clone, a user's function), with the digits as
   * strings.
   */
  toPlain(value: unknown): unknown {
    if (value instanceof ExactNumber) return value.toString();
    if (Array.isArray(value)) return value.map(exactJson.toPlain);
    if (typeof value !== "object" || value === null) return value;
    return Object.fromEntries(
      Object.entries(value).map(([name, member]) => [name, exactJson.toPlain(member)]),
    );
  },
};

/**
 * Returns the value with a symbol of its digits in place of each `ExactNumber`, for a check by a schema: a schema
 * library treats such a number as an object, which it is, while a symbol is valid only for a schema that allows every
 * value. A value without such numbers is returned unchanged.
 */
export function withSymbols(value: unknown): unknown {
  if (value instanceof ExactNumber) return Symbol(value.digits);
  if (Array.isArray(value)) {
    const items = value.map(withSymbols);
    return items.some((item, index) => item !== value[index]) ? items : value;
  }
  if (!isPlain(value)) return value;
  let copy: Record<string, unknown> | undefined;
  for (const [name, member] of Object.entries(value)) {
    const replaced = withSymbols(member);
    if (replaced === member) continue;
    copy ??= { ...value };
    copy[name] = replaced;
  }
  return copy ?? value;
}

function copyValue(value: unknown, copies: Map<object, object>): unknown {
  if (value instanceof ExactNumber) return value;
  if (!isPlain(value)) return structuredClone(value);
  const existing = copies.get(value);
  if (existing !== undefined) return existing;
  const copy = Array.isArray(value) ? [] : {};
  copies.set(value, copy);
  for (const [name, member] of Object.entries(value))
    Object.defineProperty(copy, name, {
      value: copyValue(member, copies),
      writable: true,
      enumerable: true,
      configurable: true,
    });
  for (const symbol of Object.getOwnPropertySymbols(value))
    Reflect.set(copy, symbol, Reflect.get(value, symbol));
  return copy;
}

/** Whether the value is a list or an object without its own class. Only those can contain an `ExactNumber`. */
function isPlain(value: unknown): value is object {
  if (typeof value !== "object" || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return Array.isArray(value) || prototype === Object.prototype || prototype === null;
}

/** Returns the text with each whole number that a double cannot hold as a marked string; undefined if there is none. */
function markUnsafe(text: string, longIntegers: readonly number[]): string | undefined {
  const pieces: string[] = [];
  let end = 0;
  for (let i = 0; i < longIntegers.length; i += 2) {
    const [from, to] = [longIntegers[i]!, longIntegers[i + 1]!];
    const digits = text.slice(from, to);
    if (Number.isSafeInteger(Number(digits))) continue;
    pieces.push(text.slice(end, from), `"${MARK}${digits}"`);
    end = to;
  }
  if (end === 0) return undefined;
  return pieces.join("") + text.slice(end);
}

function unmark(_name: string, value: unknown): unknown {
  return typeof value === "string" && value.startsWith(MARK)
    ? new ExactNumber(value.slice(MARK.length))
    : value;
}

/**
 * Replaces an `ExactNumber` by a marked string. The engine has called `toJSON` before, so the original is read from its
 * holder.
 */
function mark(this: unknown, name: string, value: unknown): unknown {
  const original = (this as Record<string, unknown>)[name];
  return original instanceof ExactNumber ? `${MARK}${original}` : value;
}

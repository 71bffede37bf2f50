/**
 * JSON whose whole numbers keep their digits. A double holds whole numbers up to 2^53 only, and the ids of many services
 * are larger: read by `JSON.parse`, two of them can become one.
 */
import { randomUUID } from "node:crypto";
import { scanJson } from "./json-scan.ts";

/** A whole number beyond 2^53, as it was written. As text it is its digits, in arithmetic the nearest double. */
export class ExactNumber {
  /** Not private, so that comparisons member by member see it. */
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

  /** For a `JSON.stringify` that is not `exactJson.stringify`: the digits survive, as a text. */
  toJSON(): string {
    return this.digits;
  }
}

/** Stands before the digits while they pass through the engine as a text. Nobody outside can know it. */
const MARK = `exact number ${randomUUID()} `;
const MARKED = new RegExp(`"${MARK}(-?\\d+)"`, "g");
/** What `JSON.stringify` makes of an `ExactNumber`; a text of digits looks the same. */
const QUOTED_DIGITS = /"-?\d{16,}"/;
const UNLIMITED = {
  maxValues: Number.POSITIVE_INFINITY,
  maxMembers: Number.POSITIVE_INFINITY,
  maxDepth: Number.POSITIVE_INFINITY,
};

export const exactJson = {
  /** Counts without parsing: code that reads text from outside calls this first. */
  scan: scanJson,

  /** As `JSON.parse`. `longIntegers`: where the scan of this text found them, if it was scanned before. */
  parse(text: string, longIntegers = scanJson(text, UNLIMITED).longIntegers): unknown {
    const value: unknown = JSON.parse(text);
    const marked = markUnsafe(text, longIntegers);
    return marked === undefined ? value : JSON.parse(marked, unmark);
  },

  /** As `JSON.stringify`. Costs little more than that for a value without such numbers. */
  stringify(value: unknown, indent?: number): string | undefined {
    const plain = JSON.stringify(value, undefined, indent) as string | undefined;
    if (plain === undefined || !QUOTED_DIGITS.test(plain)) return plain;
    return JSON.stringify(value, mark, indent).replace(MARKED, "$1");
  },

  isNumber: (value: unknown): value is ExactNumber => value instanceof ExactNumber,

  /**
   * As `structuredClone`, which would make an empty object of such a number. Members whose names are symbols are kept as
   * well: they are notes on a value that JSON leaves out, and a copy without them would not equal the value.
   */
  copy<T>(value: T): T {
    return copyOf(value, new Map()) as T;
  },

  /** A copy for code that takes plain values only (a structured clone, a user's function): digits as texts. */
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
 * The value with a symbol of its digits in place of each `ExactNumber`, for a check by a schema: a schema library takes
 * such a number for an object, since it is one, while a symbol fits only a schema that takes every value. A value without
 * such numbers is returned as it is.
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
    const seen = withSymbols(member);
    if (seen === member) continue;
    copy ??= { ...value };
    copy[name] = seen;
  }
  return copy ?? value;
}

function copyOf(value: unknown, copies: Map<object, object>): unknown {
  if (value instanceof ExactNumber) return value;
  if (!isPlain(value)) return structuredClone(value);
  const known = copies.get(value);
  if (known !== undefined) return known;
  const copy = Array.isArray(value) ? [] : {};
  copies.set(value, copy);
  for (const [name, member] of Object.entries(value))
    Object.defineProperty(copy, name, {
      value: copyOf(member, copies),
      writable: true,
      enumerable: true,
      configurable: true,
    });
  for (const symbol of Object.getOwnPropertySymbols(value))
    Reflect.set(copy, symbol, Reflect.get(value, symbol));
  return copy;
}

/** A list, or an object without a class of its own: only those can hold an `ExactNumber`. */
function isPlain(value: unknown): value is object {
  if (typeof value !== "object" || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return Array.isArray(value) || prototype === Object.prototype || prototype === null;
}

/** The text with each whole number that no double holds as a marked text; undefined where there is none. */
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

/** The engine has asked `toJSON` by then, so the value is looked up where it stands. */
function mark(this: unknown, name: string, value: unknown): unknown {
  const original = (this as Record<string, unknown>)[name];
  return original instanceof ExactNumber ? `${MARK}${original}` : value;
}

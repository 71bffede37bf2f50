/** Checks the conditions of a mapping's `match` against a request. */
import { exactJson } from "portico";
import { clip } from "portico/strings";
import type { Condition } from "../schema.ts";
import { lookUp, type Path, parsePath, type Request } from "./paths.ts";
import { readPattern } from "./patterns.ts";

/** The first condition that a request does not meet, ready to be shown. */
export interface Mismatch {
  /** The path as the configuration writes it: `body.action`. */
  path: string;
  expected: Condition;
  /** The value of the request at that path; absent if it has none. Long values are truncated. */
  actual?: unknown;
}

export interface Matcher {
  /** Returns the first condition that does not hold, or `undefined` if all do. */
  mismatch(request: Request): Mismatch | undefined;
  /** Checks all conditions except those on the body, for a sender that verifies the address without a body. */
  mismatchWithoutBody(request: Request): Mismatch | undefined;
}

interface Test {
  /** The path as the configuration writes it. */
  text: string;
  path: Path;
  expected: Condition;
  holds(value: unknown): boolean;
}

/** Parses conditions, all of which must hold. Throws `invalid_request_error` for a wrong path or pattern. */
export async function readMatch(match: Record<string, Condition>, key: string): Promise<Matcher> {
  const tests: Test[] = [];
  for (const [text, expected] of Object.entries(match)) {
    const conditionKey = `${key}["${text}"]`;
    tests.push({
      text,
      path: parsePath(text, conditionKey),
      expected,
      holds: readCondition(expected, conditionKey),
    });
  }
  const withoutBody = tests.filter(({ path }) => path.root !== "body");
  return {
    mismatch: (request) => findMismatch(tests, request),
    mismatchWithoutBody: (request) => findMismatch(withoutBody, request),
  };
}

function findMismatch(tests: readonly Test[], request: Request): Mismatch | undefined {
  for (const { text, path, expected, holds } of tests) {
    const actual = lookUp(request, path);
    if (!holds(actual)) return { path: text, expected, actual: shorten(actual) };
  }
  return undefined;
}

const MAX_SHOWN_CHARS = 200;

function shorten(value: unknown): unknown {
  if (typeof value === "string") return clip(value, MAX_SHOWN_CHARS);
  if (exactJson.isNumber(value)) return String(value);
  if (typeof value !== "object" || value === null) return value;
  return clip(exactJson.stringify(value) ?? "", MAX_SHOWN_CHARS);
}

function readCondition(condition: Condition, key: string): (value: unknown) => boolean {
  if (typeof condition !== "object" || condition === null)
    return (value) => isSame(value, condition);
  if ("in" in condition) return (value) => condition.in.some((option) => isSame(value, option));
  if ("prefix" in condition)
    return (value) => isText(value) && String(value).startsWith(condition.prefix);
  if ("exists" in condition) return (value) => (value !== undefined) === condition.exists;
  const pattern = readPattern(condition.regex, key);
  return (value) => isText(value) && pattern(String(value));
}

/** Compares type and value: `"1"` is not `1`. A number that no double can hold is compared with a string of its digits. */
function isSame(value: unknown, expected: string | number | boolean | null): boolean {
  return exactJson.isNumber(value) ? String(value) === expected : value === expected;
}

/** Returns whether `prefix` and `regex` apply to a value. Numbers are included, because senders write ids either way. */
function isText(value: unknown): boolean {
  if (exactJson.isNumber(value)) return true;
  return typeof value === "string" || typeof value === "number" || typeof value === "boolean";
}

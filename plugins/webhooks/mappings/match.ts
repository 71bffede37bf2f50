/** Whether a mapping's `match` holds for a request, and which condition does not. */
import { exactJson } from "portico";
import { clip } from "portico/strings";
import type { Condition } from "../schema.ts";
import { lookUp, type Path, pathAt, type Request } from "./paths.ts";
import { readPattern } from "./patterns.ts";

/** The first condition that a request does not meet, ready to be shown. */
export interface Mismatch {
  /** The path as the configuration writes it: `body.action`. */
  path: string;
  expected: Condition;
  /** What the request has there; absent where it has nothing. Long values are cut. */
  actual?: unknown;
}

export interface Matcher {
  /** `undefined` where all conditions hold. */
  mismatch(request: Request): Mismatch | undefined;
  /** The same, without the conditions on the body: for a sender that asks first and sends none. */
  mismatchWithoutBody(request: Request): Mismatch | undefined;
}

interface Test {
  text: string;
  path: Path;
  expected: Condition;
  holds(value: unknown): boolean;
}

/** Reads conditions, all of which must hold. Throws `invalid_request_error` for a wrong path or pattern. */
export async function readMatch(match: Record<string, Condition>, key: string): Promise<Matcher> {
  const tests: Test[] = [];
  for (const [text, expected] of Object.entries(match)) {
    const at = `${key}["${text}"]`;
    tests.push({
      text,
      path: pathAt(text, at),
      expected,
      holds: readCondition(expected, at),
    });
  }
  const withoutBody = tests.filter(({ path }) => path.root !== "body");
  return {
    mismatch: (request) => firstMismatch(tests, request),
    mismatchWithoutBody: (request) => firstMismatch(withoutBody, request),
  };
}

function firstMismatch(tests: readonly Test[], request: Request): Mismatch | undefined {
  for (const { text, path, expected, holds } of tests) {
    const actual = lookUp(request, path);
    if (!holds(actual)) return { path: text, expected, actual: shorten(actual) };
  }
  return undefined;
}

const SHOWN_CHARS = 200;

function shorten(value: unknown): unknown {
  if (typeof value === "string") return clip(value, SHOWN_CHARS);
  if (exactJson.isNumber(value)) return String(value);
  if (typeof value !== "object" || value === null) return value;
  return clip(exactJson.stringify(value) ?? "", SHOWN_CHARS);
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

/** Same type and value: `"1"` is not `1`. The configuration has a number that no double holds as its digits. */
function isSame(value: unknown, expected: string | number | boolean | null): boolean {
  return exactJson.isNumber(value) ? String(value) === expected : value === expected;
}

/** What `prefix` and `regex` look at: a string, or the digits of a number, as senders write ids either way. */
function isText(value: unknown): boolean {
  if (exactJson.isNumber(value)) return true;
  return typeof value === "string" || typeof value === "number" || typeof value === "boolean";
}

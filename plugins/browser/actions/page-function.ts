/** Compiles a caller's source text to a function that a page can run. Nothing of it runs in the gateway. */
import { errors } from "../errors.ts";

const AsyncFunction = Object.getPrototypeOf(async () => {}).constructor as new (
  ...args: string[]
) => (...args: never[]) => Promise<unknown>;

/** Removes the end of a statement: without its semicolon, `() => document.title;` is an expression and has a value. */
function withoutEnd(source: string): string {
  let end = source.length;
  while (end > 0 && /[\s;]/.test(source[end - 1]!)) end -= 1;
  return source.slice(0, end);
}

/**
 * Compiles `() => document.title`, `(element) => element.value`, `1 + 1`, or statements with `return`. `argument` is
 * the name of the element in the source. Throws a 400 for anything else.
 */
export function compilePageFunction(
  source: string,
  argument: string,
  param = "fn",
): (...args: never[]) => Promise<unknown> {
  for (const expression of [source, withoutEnd(source)]) {
    try {
      return new AsyncFunction(
        argument,
        `const value = (${expression}\n); return typeof value === "function" ? value(${argument}) : value;`,
      );
    } catch {
      // The source is no expression: it may be one that ends with a semicolon, or several statements.
    }
  }
  try {
    return new AsyncFunction(argument, source);
  } catch (error) {
    throw errors.notJavaScript({ param, reason: (error as Error).message }, { param });
  }
}

/** The maximum depth of a result; deeper values are replaced. */
const MAX_DEPTH = 100;
/** The maximum cost of a result. Text costs its characters; every other value costs `EACH`. */
const MAX_COST = 50_000_000;
const VALUE_COST = 200;

/** Converts a page's result to a value that JSON can represent. Throws a 422 if it would be too large. */
export function toJsonResult(value: unknown): unknown {
  return toJsonValue(value, [], { remaining: MAX_COST });
}

/**
 * `ancestors` are the objects that contain the value. A value in several places is copied to each, so without a limit
 * the copy could grow endlessly.
 */
function toJsonValue(
  value: unknown,
  ancestors: readonly object[],
  budget: { remaining: number },
): unknown {
  budget.remaining -= typeof value === "string" ? value.length : VALUE_COST;
  if (budget.remaining < 0) throw errors.resultTooLarge();
  if (typeof value === "bigint" || (typeof value === "number" && !Number.isFinite(value)))
    return String(value);
  if (value === undefined || typeof value === "symbol" || typeof value === "function") return null;
  if (typeof value !== "object" || value === null || value instanceof Date) return value;
  if (value instanceof RegExp || value instanceof URL || value instanceof Error)
    return String(value);
  if (ancestors.includes(value)) return "[circular]";
  if (ancestors.length >= MAX_DEPTH) return "[too deep]";
  const path = [...ancestors, value];
  if (Array.isArray(value) || ArrayBuffer.isView(value))
    return Array.from(value as ArrayLike<unknown>, (item) => toJsonValue(item, path, budget));
  const entries = Object.entries(value).filter(([, item]) => item !== undefined);
  return Object.fromEntries(entries.map(([key, item]) => [key, toJsonValue(item, path, budget)]));
}

/** Source text of a caller, made into a function that a page can run. Nothing of it runs in the gateway. */
import { errors } from "../errors.ts";

const AsyncFunction = Object.getPrototypeOf(async () => {}).constructor as new (
  ...args: string[]
) => (...args: never[]) => Promise<unknown>;

/** `() => document.title;` is an expression but for its end, and as a statement it would have no value. */
function withoutEnd(source: string): string {
  let end = source.length;
  while (end > 0 && /[\s;]/.test(source[end - 1]!)) end -= 1;
  return source.slice(0, end);
}

/**
 * `() => document.title`, `(element) => element.value`, `1 + 1`, or statements with `return`: all are understood.
 * `argument` is the name that an element goes by. 400 where it is none of them.
 */
export function pageFunction(
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
      // Not an expression: perhaps one that ends as a statement does, or several statements.
    }
  }
  try {
    return new AsyncFunction(argument, source);
  } catch (error) {
    throw errors.notJavaScript({ param, reason: (error as Error).message }, { param });
  }
}

/** Deeper than this a result is cut. */
const DEEPEST = 100;
/** What a result may cost altogether: an object or number as much as that many characters of text. */
const MOST = 50_000_000;
const EACH = 200;

/** What a page returned, as JSON can hold it. 422 for what would grow too large in it. */
export function plainResult(value: unknown): unknown {
  return plain(value, [], { left: MOST });
}

/** `above`: the objects that contain the value. A value in several places is copied into each, so the copy may grow without end. */
function plain(value: unknown, above: readonly object[], room: { left: number }): unknown {
  room.left -= typeof value === "string" ? value.length : EACH;
  if (room.left < 0) throw errors.resultTooLarge();
  if (typeof value === "bigint" || (typeof value === "number" && !Number.isFinite(value)))
    return String(value);
  if (value === undefined || typeof value === "symbol" || typeof value === "function") return null;
  if (typeof value !== "object" || value === null || value instanceof Date) return value;
  if (value instanceof RegExp || value instanceof URL || value instanceof Error)
    return String(value);
  if (above.includes(value)) return "[circular]";
  if (above.length >= DEEPEST) return "[too deep]";
  const inside = [...above, value];
  if (Array.isArray(value) || ArrayBuffer.isView(value))
    return Array.from(value as ArrayLike<unknown>, (item) => plain(item, inside, room));
  const members = Object.entries(value).filter(([, item]) => item !== undefined);
  return Object.fromEntries(members.map(([key, item]) => [key, plain(item, inside, room)]));
}

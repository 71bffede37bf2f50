/** Source text of a caller, made into a function that a page can run. Nothing of it runs in the gateway. */
import { PorticoError } from "portico";

const AsyncFunction = Object.getPrototypeOf(async () => {}).constructor as new (
  ...args: string[]
) => (...args: never[]) => Promise<unknown>;

/**
 * `() => document.title`, `(element) => element.value`, `1 + 1`, or statements with `return`: all are understood.
 * `argument` is the name that an element goes by. 400 where it is none of them.
 */
export function pageFunction(source: string, argument: string, param = "fn"): (...args: never[]) => Promise<unknown> {
  try {
    return new AsyncFunction(
      argument,
      `const value = (${source}\n); return typeof value === "function" ? value(${argument}) : value;`,
    );
  } catch {
    // Not an expression: perhaps statements.
  }
  try {
    return new AsyncFunction(argument, source);
  } catch (error) {
    throw new PorticoError("invalid_request_error", `${param} is not JavaScript: ${(error as Error).message}.`, {
      param,
    });
  }
}

/** What a page returned, as JSON can hold it. */
export function plainResult(value: unknown): unknown {
  if (value === undefined) return null;
  const text = JSON.stringify(value, (_key, item: unknown) => {
    if (typeof item === "bigint") return String(item);
    if (typeof item === "number" && !Number.isFinite(item)) return String(item);
    return item;
  }) as string | undefined;
  return text === undefined ? null : JSON.parse(text);
}

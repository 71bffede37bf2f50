/** Parses values of a query. An invalid value is refused with an error that names it, never ignored. */
import { errors } from "./errors.ts";

function throwInvalid(name: string, expected: string): never {
  throw errors.invalidParameter({ name, expected }, { param: name });
}

/** Parses the number of requested entries, an integer from 1 to 1000. */
export function limitIn(query: URLSearchParams, defaultLimit: number, name = "limit"): number {
  const text = query.get(name);
  if (text === null) return defaultLimit;
  const limit = /^\d{1,4}$/.test(text) ? Number(text) : 0;
  return limit >= 1 && limit <= 1000 ? limit : throwInvalid(name, "a whole number from 1 to 1000");
}

/** Parses a value that must be one of `choices`. Returns undefined if the parameter is absent. */
export function choiceIn<T extends string>(
  query: URLSearchParams,
  name: string,
  choices: readonly T[],
): T | undefined {
  const text = query.get(name);
  if (text === null) return undefined;
  return (
    choices.find((choice) => choice === text) ?? throwInvalid(name, `one of ${choices.join(", ")}`)
  );
}

/** Parses an integer, such as the position where a page ends. */
export function numberIn(query: URLSearchParams, name: string): number | undefined {
  const text = query.get(name);
  if (text === null) return undefined;
  return /^\d{1,15}$/.test(text) ? Number(text) : throwInvalid(name, "a whole number");
}

/** Parses a waiting time in seconds, above 0 and at most `maxSeconds`. Returns milliseconds. */
export function secondsIn(
  query: URLSearchParams,
  name: string,
  defaultSeconds: number,
  maxSeconds: number,
): number {
  const text = query.get(name) ?? String(defaultSeconds);
  const ms = /^\d{1,9}(\.\d+)?$/.test(text) ? Number(text) * 1000 : 0;
  return ms >= 1 && ms <= maxSeconds * 1000
    ? ms
    : throwInvalid(name, `a number of seconds above 0, at most ${maxSeconds}`);
}

/** Parses a time: milliseconds since 1970, or a date. Returns milliseconds since 1970. */
export function timeIn(query: URLSearchParams, name: string): number | undefined {
  const text = query.get(name) ?? "";
  if (!query.has(name) || /^\d{1,15}$/.test(text)) return numberIn(query, name);
  const at = /^\d{4}-\d\d-\d\d/.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(at)
    ? throwInvalid(name, "a time: an ISO date, or milliseconds since 1970")
    : at;
}

const UNITS: Readonly<Record<string, number>> = {
  s: 1000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 7 * 86_400_000,
};

/** Parses a time as `timeIn` does, or as a period before now: `90m`, `7d`. */
export function momentIn(query: URLSearchParams, name: string, now: number): number | undefined {
  const period = /^(\d{1,6})([smhdw])$/.exec(query.get(name) ?? "");
  return period === null ? timeIn(query, name) : now - Number(period[1]) * UNITS[period[2]!]!;
}

/** Values of a query: texts, whatever they stand for. One that is none is refused by its name, never passed over. */
import { errors } from "./errors.ts";

function refuse(name: string, expected: string): never {
  throw errors.invalidParameter({ name, expected }, { param: name });
}

/** A whole number from 1 to 1000: how many of something are asked for. */
export function limitIn(query: URLSearchParams, otherwise: number, name = "limit"): number {
  const text = query.get(name);
  if (text === null) return otherwise;
  const limit = /^\d{1,4}$/.test(text) ? Number(text) : 0;
  return limit >= 1 && limit <= 1000 ? limit : refuse(name, "a whole number from 1 to 1000");
}

/** One of a few words; undefined if the parameter is absent. */
export function choiceIn<T extends string>(
  query: URLSearchParams,
  name: string,
  choices: readonly T[],
): T | undefined {
  const text = query.get(name);
  if (text === null) return undefined;
  return choices.find((one) => one === text) ?? refuse(name, `one of ${choices.join(", ")}`);
}

/** A whole number, such as the place where a page ends. */
export function numberIn(query: URLSearchParams, name: string): number | undefined {
  const text = query.get(name);
  if (text === null) return undefined;
  return /^\d{1,15}$/.test(text) ? Number(text) : refuse(name, "a whole number");
}

/** Milliseconds of a number of seconds, above 0 and at most `most`: how long something is waited for. */
export function secondsIn(
  query: URLSearchParams,
  name: string,
  otherwise: number,
  most: number,
): number {
  const text = query.get(name) ?? String(otherwise);
  const ms = /^\d{1,9}(\.\d+)?$/.test(text) ? Number(text) * 1000 : 0;
  return ms >= 1 && ms <= most * 1000
    ? ms
    : refuse(name, `a number of seconds above 0, at most ${most}`);
}

/** Milliseconds since 1970, or a date. */
export function timeIn(query: URLSearchParams, name: string): number | undefined {
  const text = query.get(name) ?? "";
  if (!query.has(name) || /^\d{1,15}$/.test(text)) return numberIn(query, name);
  const at = /^\d{4}-\d\d-\d\d/.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(at) ? refuse(name, "a time: an ISO date, or milliseconds since 1970") : at;
}

const UNITS: Readonly<Record<string, number>> = {
  s: 1000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 7 * 86_400_000,
};

/** The same, or how long ago: `90m`, `7d`. */
export function momentIn(query: URLSearchParams, name: string, now: number): number | undefined {
  const ago = /^(\d{1,6})([smhdw])$/.exec(query.get(name) ?? "");
  return ago === null ? timeIn(query, name) : now - Number(ago[1]) * UNITS[ago[2]!]!;
}

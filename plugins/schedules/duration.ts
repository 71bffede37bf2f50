import { shorten } from "portico/strings";
import { errors } from "./errors.ts";

const UNITS: Record<string, number> = {
  ms: 1,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 604_800_000,
};
/** A hundred years. All dates up to then can be written in ISO 8601. */
export const LONGEST_MS = 3_155_760_000_000;
const DURATION = /^(?:\d+(?:\.\d+)?(?:ms|[smhdw]))+$/;

/**
 * Parses `90s`, `5m`, `1h30m`, `2d` or a number of milliseconds. Returns milliseconds, from `minimum` up to a hundred years.
 * Throws 400 for anything else. `param` is the name of the member with the value.
 */
export function parseDuration(value: string | number, param?: string, minimum = 1): number {
  const ms = toMs(value);
  if (ms >= minimum && ms <= LONGEST_MS) return ms;
  const subject = param === undefined ? "" : `${param}: `;
  const options = param === undefined ? {} : { param };
  throw errors.badDuration(
    { subject, value: quote(value), problem: describeProblem(ms, minimum) },
    options,
  );
}

/**
 * For a schema's `refuse`: returns what is wrong with a duration, as the continuation of a sentence that begins with
 * its key. 0 is allowed.
 */
export function refuseDuration(value: unknown): string | undefined {
  if (typeof value !== "string" && typeof value !== "number") return undefined;
  const ms = toMs(value);
  return ms >= 0 && ms <= LONGEST_MS
    ? undefined
    : `is ${quote(value)}, which ${describeProblem(ms, 0)}`;
}

const quote = (value: string | number): string => shorten(JSON.stringify(value), 60);

function describeProblem(ms: number, minimum: number): string {
  if (ms > LONGEST_MS) return "is longer than 100 years";
  const zero = minimum > 0 ? "above 0" : "(0: never)";
  return `is not a duration: write 30s, 5m, 1h30m, 2d or a number of milliseconds ${zero}`;
}

/** Returns milliseconds; NaN for a text that is not a duration, and for a value that would round to 0. */
function toMs(value: string | number): number {
  const ms =
    typeof value === "number" ? value : sumUnits(value.trim().toLowerCase().replaceAll(" ", ""));
  return ms > 0 && ms < 0.5 ? Number.NaN : Math.round(ms);
}

function sumUnits(text: string): number {
  if (/^\d+$/.test(text)) return Number(text);
  if (!DURATION.test(text)) return Number.NaN;
  let ms = 0;
  for (const [, amount, unit] of text.matchAll(/([\d.]+)(ms|[smhdw])/g))
    ms += Number(amount) * UNITS[unit!]!;
  return ms;
}

/** Returns the shortest exact form: `1h30m`, `250ms`. */
export function formatDuration(ms: number): string {
  let rest = Math.round(ms);
  let text = "";
  for (const unit of ["d", "h", "m", "s", "ms"]) {
    const count = Math.floor(rest / UNITS[unit]!);
    rest -= count * UNITS[unit]!;
    if (count > 0) text += `${count}${unit}`;
  }
  return text === "" ? "0s" : text;
}

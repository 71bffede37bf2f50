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
/** A hundred years: every date that is so far ahead is one that can be written. */
export const LONGEST_MS = 3_155_760_000_000;
const WHOLE = /^(?:\d+(?:\.\d+)?(?:ms|[smhdw]))+$/;

/**
 * Milliseconds of `90s`, `5m`, `1h30m`, `2d` or a number of milliseconds, of at least `least` of them and no more than a
 * hundred years. Throws 400 for anything else; `param` says whose value it is.
 */
export function parseDuration(value: string | number, param?: string, least = 1): number {
  const ms = msOf(value);
  if (ms >= least && ms <= LONGEST_MS) return ms;
  const subject = param === undefined ? "" : `${param}: `;
  const options = param === undefined ? {} : { param };
  throw errors.badDuration({ subject, value: quote(value), problem: whyNot(ms, least) }, options);
}

/** For a schema's `refuse`: what is wrong with a length of time, or 0, to be read after its key. */
export function refuseDuration(value: unknown): string | undefined {
  if (typeof value !== "string" && typeof value !== "number") return undefined;
  const ms = msOf(value);
  return ms >= 0 && ms <= LONGEST_MS ? undefined : `is ${quote(value)}, which ${whyNot(ms, 0)}`;
}

const quote = (value: string | number): string => shorten(JSON.stringify(value), 60);

function whyNot(ms: number, least: number): string {
  if (ms > LONGEST_MS) return "is longer than 100 years";
  const zero = least > 0 ? "above 0" : "(0: never)";
  return `is not a duration: write 30s, 5m, 1h30m, 2d or a number of milliseconds ${zero}`;
}

/** NaN for a text that is not a duration, and for one that would round to 0. */
function msOf(value: string | number): number {
  const ms =
    typeof value === "number" ? value : sum(value.trim().toLowerCase().replaceAll(" ", ""));
  return ms > 0 && ms < 0.5 ? Number.NaN : Math.round(ms);
}

function sum(text: string): number {
  if (/^\d+$/.test(text)) return Number(text);
  if (!WHOLE.test(text)) return Number.NaN;
  let ms = 0;
  for (const [, amount, unit] of text.matchAll(/([\d.]+)(ms|[smhdw])/g))
    ms += Number(amount) * UNITS[unit!]!;
  return ms;
}

/** The shortest exact form: `1h30m`, `250ms`. */
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

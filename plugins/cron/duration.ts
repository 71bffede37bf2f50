import { PorticoError } from "portico";

const UNITS: Record<string, number> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 };
const WHOLE = /^(?:\d+(?:\.\d+)?(?:ms|[smhdw]))+$/;

/** `90s`, `5m`, `1h30m`, `2d`, or a number of milliseconds. Throws 400 for anything else, and for zero. */
export function parseDuration(value: string | number, param?: string): number {
  const ms = typeof value === "number" ? value : sum(value.trim().toLowerCase().replaceAll(" ", ""));
  if (Number.isFinite(ms) && ms > 0) return Math.round(ms);
  const shown = JSON.stringify(value);
  throw new PorticoError(
    "invalid_request_error",
    `${shown} is not a length of time: write 30s, 5m, 1h30m, 2d or a number of milliseconds above 0.`,
    param === undefined ? {} : { param },
  );
}

function sum(text: string): number {
  if (/^\d+$/.test(text)) return Number(text);
  if (!WHOLE.test(text)) return Number.NaN;
  let ms = 0;
  for (const [, amount, unit] of text.matchAll(/([\d.]+)(ms|[smhdw])/g)) ms += Number(amount) * UNITS[unit!]!;
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

/**
 * Converts cron expressions that people write for other schedulers into the syntax of croner.
 *
 * Three notations differ: `0/15` means "from 0 in steps of 15" (Quartz, Kubernetes, croniter), a range may wrap around
 * (`22-2`, `FRI-MON`), and the zone may precede the expression (`CRON_TZ=Europe/Berlin 0 9 * * *`).
 */

interface Field {
  min: number;
  max: number;
  names?: readonly string[];
}

const MONTHS = ["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"];
const DAYS = ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"];

const FIELDS: readonly Field[] = [
  { min: 0, max: 59 }, // seconds
  { min: 0, max: 59 },
  { min: 0, max: 23 },
  { min: 1, max: 31 },
  { min: 1, max: 12, names: MONTHS },
  { min: 0, max: 6, names: DAYS },
];

/** Splits `CRON_TZ=Europe/Berlin 0 9 * * *` (or `TZ=…`) into zone and expression. */
export function splitZone(text: string): { expr: string; tz?: string } {
  const [, tz, expr] = /^\s*(?:CRON_TZ|TZ)=(\S+)\s+(\S.*)$/s.exec(text) ?? [];
  return tz === undefined || expr === undefined ? { expr: text } : { expr, tz };
}

/** Rewrites the notations above. Other faults of an expression are left for croner to report. */
export function normalizeCron(expr: string): string {
  if (expr.startsWith("@")) return expr;
  const texts = expr.trim().split(/\s+/);
  const fields = FIELDS.slice(-texts.length);
  return texts.map((text, index) => normalizeField(text, fields[index])).join(" ");
}

function normalizeField(text: string, field: Field | undefined): string {
  if (field === undefined) return text;
  return text
    .split(",")
    .map((item) => normalizeItem(item, field))
    .join(",");
}

function normalizeItem(item: string, field: Field): string {
  const [range = "", stepText] = item.split("/");
  const [startText = "", endText] = range.split("-");
  const first = readValue(startText, field);
  if (first === undefined) return item;
  // Sunday is 0 and 7: `7-2` begins the week, and `5-7` does not wrap around.
  const start = field.names === DAYS && first === 7 && endText !== undefined ? 0 : first;
  if (endText === undefined)
    return stepText === undefined ? item : `${start}-${field.max}/${stepText}`;
  const end = readValue(endText, field);
  if (end === undefined) return item;
  if (start <= end) return start === first ? item : item.replace(startText, String(start));
  return wrapAround(start, end, stepText, field) ?? item;
}

/**
 * Lists the values of a range that wraps around the end of its field, in steps. Returns undefined for an invalid step.
 */
function wrapAround(
  start: number,
  end: number,
  stepText: string | undefined,
  { min, max }: Field,
): string | undefined {
  if (start > max) return undefined;
  const step = stepText === undefined ? 1 : Number(stepText);
  if (!Number.isInteger(step) || step < 1) return undefined;
  const size = max - min + 1;
  const values: number[] = [];
  for (let value = start; value <= end + size; value += step)
    values.push(min + ((value - min) % size));
  return values.sort((a, b) => a - b).join(",");
}

/** Parses a number, or the name of a month or a day; undefined for anything else. */
function readValue(text: string, { names, min }: Field): number | undefined {
  if (/^\d{1,2}$/.test(text)) return Number(text);
  const index = names?.indexOf(text.toUpperCase()) ?? -1;
  return index < 0 ? undefined : index + min;
}

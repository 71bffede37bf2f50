/**
 * Computes the dates of schedules. This is the only importer of croner, which computes dates and never runs a timer.
 *
 * Daylight saving: a fixed local time that does not exist fires at the end of the gap, and one that occurs twice fires at
 * its first pass. Schedules with a wildcard in minute or hour follow real time (Vixie's rule).
 */
import { Cron } from "croner";
import { shorten } from "portico/strings";
import { normalizeCron, splitZone } from "./cron-syntax.ts";
import { formatDuration, LONGEST_MS, parseDuration } from "./duration.ts";
import { errors } from "./errors.ts";
import { isZone } from "./schema.ts";
import { scheduleFromText } from "./commands.ts";
import type { GivenSchedule, ScheduleSpec } from "./types.ts";

type CronSpec = Extract<ScheduleSpec, { kind: "cron" }>;

const DAY_MS = 86_400_000;
const MAX_PATTERNS = 5_000;
const MAX_DATES = 20_000;
const patterns = new Map<string, Cron>();
// Many jobs that come due together share their patterns, and computing a date takes a tenth of a millisecond.
const dates = new Map<string, number | undefined>();

function remember<K, V>(map: Map<K, V>, limit: number, key: K, value: V): V {
  if (map.size >= limit) map.delete(map.keys().next().value as K);
  map.set(key, value);
  return value;
}

function getPattern(expr: string, tz: string): Cron {
  const key = `${tz} ${expr}`;
  return (
    patterns.get(key) ??
    remember(
      patterns,
      MAX_PATTERNS,
      key,
      new Cron(normalizeCron(expr), { timezone: tz, paused: true, fixedTimeRule: "no-wildcard" }),
    )
  );
}

const formats = new Map<string, Intl.DateTimeFormat>();

/** Returns how far a zone is ahead of UTC at an instant, in ms. */
function computeOffset(tz: string, at: number): number {
  const format =
    formats.get(tz) ??
    remember(
      formats,
      500,
      tz,
      new Intl.DateTimeFormat("en-US", {
        timeZone: tz,
        hourCycle: "h23",
        year: "numeric",
        month: "numeric",
        day: "numeric",
        hour: "numeric",
        minute: "numeric",
        second: "numeric",
      }),
    );
  const part: Record<string, number> = {};
  for (const { type, value } of format.formatToParts(at)) part[type] = Number(value);
  const local = Date.UTC(
    part["year"]!,
    part["month"]! - 1,
    part["day"]!,
    part["hour"]!,
    part["minute"]!,
    part["second"]!,
  );
  return local - Math.floor(at / 1000) * 1000;
}

/**
 * Returns the instant of a local time, which is encoded as if it were UTC. If the local time occurs twice, returns its first
 * pass. If it does not exist, returns the end of the gap, which may even be a whole day that a zone skips at the date line.
 */
function toInstant(tz: string, local: number): number {
  const [offsetBefore, offsetAfter] = [
    computeOffset(tz, local - DAY_MS),
    computeOffset(tz, local + DAY_MS),
  ];
  const [low, high] = [
    local - Math.max(offsetBefore, offsetAfter),
    local - Math.min(offsetBefore, offsetAfter),
  ];
  if (local - computeOffset(tz, low) === low) return low;
  if (local - computeOffset(tz, high) === high) return high;
  // The local time is in a gap, so a binary search finds the instant between `low` and `high` at which the offset
  // changes.
  const first = computeOffset(tz, low);
  let [from, to] = [low, high];
  while (to - from > 1_000) {
    const middle = Math.floor((from + to) / 2);
    if (computeOffset(tz, middle) === first) from = middle;
    else to = middle;
  }
  return Math.floor(to / 1_000) * 1_000;
}

/**
 * Returns whether minute and hour are fixed. Such times are converted to the zone here; for wildcards, croner follows
 * real time.
 */
function isFixed(expr: string): boolean {
  const [minute, hour] = normalizeCron(expr).split(/\s+/).slice(-5) as [string, string];
  return expr.startsWith("@") ? expr !== "@hourly" : !/[*?]/.test(minute + hour);
}

function computeNextCron({ expr, tz = "UTC" }: CronSpec, after: number): number | undefined {
  const key = `${after} ${tz} ${expr}`;
  if (dates.has(key)) return dates.get(key);
  return remember(
    dates,
    MAX_DATES,
    key,
    isFixed(expr) ? computeNextFixed(expr, tz, after) : computeNextRun(expr, tz, after),
  );
}

const computeNextRun = (expr: string, tz: string, after: number): number | undefined =>
  getPattern(expr, tz).nextRun(new Date(after))?.getTime();

/** Instants have the same order as their local times, so the first instant after `after` is the next date. */
function computeNextFixed(expr: string, tz: string, after: number): number | undefined {
  for (let local: number | undefined = after + computeOffset(tz, after); ; ) {
    local = computeNextRun(expr, "UTC", local);
    const at = local === undefined ? undefined : toInstant(tz, local);
    if (local === undefined || at === undefined || at > after) return at;
  }
}

/** Returns the first date after `after`, in epoch ms; undefined if there is none. `every` counts from `anchor`. */
export function nextDate(schedule: ScheduleSpec, after: number, anchor = 0): number | undefined {
  if (schedule.kind === "cron") return computeNextCron(schedule, after);
  if (schedule.kind === "at") {
    const at = Date.parse(schedule.at);
    return at > after ? at : undefined;
  }
  const { everyMs } = schedule;
  return anchor + (Math.floor((after - anchor) / everyMs) + 1) * everyMs;
}

/** Returns the next `count` dates, in epoch ms. */
export function previewDates(
  schedule: ScheduleSpec,
  after: number,
  count: number,
  anchor?: number,
): number[] {
  const dates: number[] = [];
  for (let at = nextDate(schedule, after, anchor); at !== undefined && dates.length < count; ) {
    dates.push(at);
    at = nextDate(schedule, at, anchor);
  }
  return dates;
}

export function describeSchedule(schedule: ScheduleSpec): string {
  if (schedule.kind === "cron") return `${schedule.expr} (${schedule.tz ?? "UTC"})`;
  return schedule.kind === "every"
    ? `every ${formatDuration(schedule.everyMs)}`
    : `at ${schedule.at}`;
}

function checkZone(tz: string, param: string): string {
  if (isZone(tz)) return tz;
  throw errors.unknownZone({ zone: JSON.stringify(tz) }, { param });
}

function parseText(text: string, param: string): StructuredSchedule {
  const schedule = scheduleFromText(text);
  if (typeof schedule !== "string") return schedule;
  return { kind: "every", everyMs: parseDuration(schedule.replace(/^every\s+/i, ""), param) };
}

const LAST_DATE = Date.parse("9999-12-31T23:59:59.999Z");

function toIso(ms: number, param: string): string {
  // ISO 8601 writes later years with a sign, and jitter could make such a date invalid.
  if (Number.isNaN(new Date(ms).getTime()) || Math.abs(ms) > LAST_DATE)
    throw errors.noSuchDate({ value: ms }, { param });
  return new Date(ms).toISOString();
}

function parseAt(value: string | number, tz: string, now: number, param: string): string {
  const at = typeof value === "number" ? toIso(value, param) : value;
  const relative = /^in\s+(.+)$/i.exec(at.trim());
  if (relative) return new Date(now + parseDuration(relative[1]!, param)).toISOString();
  if (!/^\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d+)?)?\s*(Z|[+-]\d\d:?\d\d)?)?$/i.test(at.trim())) {
    throw errors.notDate({ value: JSON.stringify(at) }, { param });
  }
  const iso = at.trim().replace(" ", "T");
  const [time] = iso.split(/\s*(?:Z|[+-]\d\d:?\d\d)$/i, 1) as [string];
  const local = toSeconds(time);
  const wallTime = Date.parse(`${local}Z`);
  if (
    Number.isNaN(wallTime) ||
    new Date(wallTime).toISOString().slice(0, 10) !== local.slice(0, 10)
  ) {
    throw errors.noSuchDate({ value: JSON.stringify(at) }, { param });
  }
  if (time !== iso) {
    const ms = Date.parse(iso);
    if (Number.isNaN(ms)) throw errors.noSuchDate({ value: JSON.stringify(at) }, { param });
    return new Date(ms).toISOString();
  }
  return new Date(toInstant(tz, wallTime)).toISOString();
}

const NICKNAMES = ["@hourly", "@daily", "@midnight", "@weekly", "@monthly", "@yearly", "@annually"];

/**
 * Normalises the white space and nickname of an expression. Throws for a wrong number of fields or an unknown nickname.
 */
function normalizeExpression(text: string, param: string): string {
  const expr = text.trim().replace(/\s+/g, " ");
  if (expr.startsWith("@")) {
    const name = expr.toLowerCase();
    if (NICKNAMES.includes(name)) return name;
    throw errors.unknownNickname(
      { expr: shorten(expr, 60), nicknames: NICKNAMES.join(", ") },
      { param },
    );
  }
  const count = expr.split(" ").length;
  if (count === 5 || count === 6) return expr;
  throw errors.fieldCount({ count }, { param });
}

/** Corrects the library's messages, which count days and months from 0. */
function reasonOf({ message }: Error): string {
  return message
    .replace(/^Cron\w+: /, "")
    .replace(
      /(value for (?:day|month): )(-?\d+)$/,
      (_, words, index) => words + (Number(index) + 1),
    );
}

type StructuredSchedule = Exclude<GivenSchedule, string>;

/** Moves a zone in front of a cron expression into `tz`, and `@every 1h` into an interval. */
function readZone(schedule: StructuredSchedule, param: string): StructuredSchedule {
  if (schedule.kind !== "cron") return schedule;
  const { expr, tz } = splitZone(schedule.expr);
  if (tz !== undefined && schedule.tz !== undefined && schedule.tz !== tz)
    throw errors.zoneTwice({ zone: tz, tz: schedule.tz }, { param: `${param}.tz` });
  const [, interval] = /^@every\s+(\S+)$/i.exec(expr.trim()) ?? [];
  if (interval !== undefined)
    return { kind: "every", everyMs: parseDuration(interval, `${param}.expr`) };
  return { ...schedule, expr, tz: tz ?? schedule.tz };
}

/** Parses a schedule into its full form, and checks that a cron expression has a next date. Throws 400 with `param`. */
export function parseSchedule(
  definition: GivenSchedule,
  now: number,
  zone: string,
  param = "schedule",
): ScheduleSpec {
  const schedule = readZone(
    typeof definition === "string" ? parseText(definition, param) : definition,
    param,
  );
  if (schedule.kind === "every") {
    const { everyMs } = schedule;
    if (!Number.isSafeInteger(everyMs) || everyMs < 100 || everyMs > LONGEST_MS) {
      throw errors.badInterval({ param: `${param}.everyMs` });
    }
    return { kind: "every", everyMs };
  }
  const tz = checkZone(schedule.tz ?? zone, `${param}.tz`);
  if (schedule.kind === "at") {
    return { kind: "at", at: parseAt(schedule.at, tz, now, `${param}.at`), tz: schedule.tz && tz };
  }
  const expr = normalizeExpression(schedule.expr, `${param}.expr`);
  const cron: CronSpec = { kind: "cron", expr, tz };
  checkOccurs(cron, now, `${param}.expr`);
  return cron;
}

function checkOccurs(cron: CronSpec, now: number, param: string): void {
  let next: number | undefined;
  try {
    next = nextDate(cron, now);
  } catch (cause) {
    throw errors.badExpression({ reason: reasonOf(cause as Error) }, { param, cause });
  }
  if (next === undefined) throw errors.neverComes({ expr: JSON.stringify(cron.expr) }, { param });
}

/** Extends or shortens a date with or without a time to the form `2027-01-31T09:00:00`. */
function toSeconds(time: string): string {
  if (time.length === "2027-01-31".length) return `${time}T00:00:00`;
  return time.length === "2027-01-31T09:00".length ? `${time}:00` : time.slice(0, 19);
}

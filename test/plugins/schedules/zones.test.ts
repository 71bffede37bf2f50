/** Every zone that there is, 2026 and 2027: a local time that does not exist, or comes twice, fires exactly once. */
import * as assert from "uvu/assert";
import { nextDate, parseSchedule } from "../../../plugins/schedules/dates.ts";
import { test } from "../../support/suite.ts";

const FROM = Date.UTC(2026, 0, 1);
const TO = Date.UTC(2028, 0, 1);
const HOUR = 3_600_000;
const DAY = 24 * HOUR;

interface Jump {
  zone: string;
  at: number;
  before: number;
  after: number;
}

/** The local time at an instant, as if it were UTC; reckoned from text, by other means than the product's. */
function localOf(zone: string): (at: number) => number {
  const format = new Intl.DateTimeFormat("sv-SE", {
    timeZone: zone,
    dateStyle: "short",
    timeStyle: "medium",
  });
  return (at) => Date.parse(`${format.format(at).replace(" ", "T")}Z`);
}

/** The instants at which a zone's offset changes. */
function jumpsOf(zone: string): Jump[] {
  const local = localOf(zone);
  const offset = (at: number): number => local(at) - at;
  const jumps: Jump[] = [];
  // Ramadan suspends summer time for a month: a step must not leap over that.
  const step = 10 * DAY;
  for (let at = FROM; at < TO; at += step) {
    let [low, high] = [at, at + step];
    const [before, after] = [offset(low), offset(high)];
    if (before === after) continue;
    while (high - low > 60_000) {
      const middle = Math.floor((low + high) / 120_000) * 60_000;
      if (offset(middle) === before) low = middle;
      else high = middle;
    }
    jumps.push({ zone, at: high, before, after });
  }
  return jumps;
}

const jumps = Intl.supportedValuesOf("timeZone").flatMap(jumpsOf);

/** All dates of an expression in a span. */
function datesIn(expr: string, tz: string, from: number, to: number): number[] {
  const dates: number[] = [];
  for (let at = nextDate({ kind: "cron", expr, tz }, from - 1); at !== undefined && at < to; ) {
    dates.push(at);
    at = nextDate({ kind: "cron", expr, tz }, at);
  }
  return dates;
}

/** A local time in the middle of the gap, or of what comes twice. */
const middleOf = ({ at, before, after }: Jump): Date => new Date(at + (before + after) / 2);

const inWords = ({ zone, at, before, after }: Jump): string =>
  `${zone} ${new Date(at).toISOString()} ${(after - before) / 60_000} min`;

test("there are time changes to test", () => {
  assert.ok(jumps.length > 300, `${jumps.length} jumps`);
  assert.ok(
    jumps.some(({ before, after }) => after < before) &&
      jumps.some(({ before, after }) => after > before),
  );
});

test("a daily job at a time in the jump fires once on each of three days", () => {
  for (const jump of jumps) {
    const { zone, at } = jump;
    const time = middleOf(jump);
    const expr = `${time.getUTCMinutes()} ${time.getUTCHours()} * * *`;
    const dates = datesIn(expr, zone, at - 36 * HOUR, at + 36 * HOUR);
    const near = dates.filter((date) => Math.abs(date - at) < 12 * HOUR);
    assert.is(near.length, 1, `${inWords(jump)}: ${near.length} times at the jump`);
    assert.ok(
      dates.length === 3,
      `${inWords(jump)}: ${dates.map((date) => new Date(date).toISOString())}`,
    );
  }
});

test("a time in a gap fires at the gap's end, and a repeated time at its first occurrence", () => {
  for (const jump of jumps) {
    const { zone, at, before, after } = jump;
    const time = middleOf(jump);
    const date = nextDate(
      { kind: "cron", expr: `${time.getUTCMinutes()} ${time.getUTCHours()} * * *`, tz: zone },
      at - 6 * HOUR,
    );
    const expected = after > before ? at : time.getTime() - before;
    assert.is(new Date(date!).toISOString(), new Date(expected).toISOString(), inWords(jump));
  }
});

test("every fixed time of a jump's day fires once, and dates only go forward", () => {
  const kinds = new Map(jumps.map((jump) => [`${jump.at} ${jump.before} ${jump.after}`, jump]));
  for (const jump of kinds.values()) {
    const local = localOf(jump.zone);
    const dates = datesIn(
      "17,43 0,1,2,3,4,23 * * *",
      jump.zone,
      jump.at - 12 * HOUR,
      jump.at + 24 * HOUR,
    );
    for (const [i, date] of dates.entries())
      assert.ok(i === 0 || date > dates[i - 1]!, inWords(jump));
    // Times of a gap fall on its end together; all others are where the clock says so, each once.
    const otherDates = dates
      .filter((date) => date !== jump.at)
      .map((date) => new Date(local(date)).toISOString());
    assert.is(new Set(otherDates).size, otherDates.length, `${inWords(jump)}: ${otherDates}`);
  }
});

test("an hourly job follows real time through every jump", () => {
  const kinds = new Map(jumps.map((jump) => [`${jump.at} ${jump.before} ${jump.after}`, jump]));
  for (const jump of kinds.values()) {
    if (Math.abs(jump.after - jump.before) % HOUR !== 0) continue;
    const dates = datesIn("0 * * * *", jump.zone, jump.at - 4 * HOUR, jump.at + 4 * HOUR);
    for (const [i, date] of dates.entries())
      if (i > 0) assert.is(date - dates[i - 1]!, HOUR, inWords(jump));
  }
});

test("names in an expression may be written in capitals", () => {
  const schedule = parseSchedule(
    { kind: "cron", expr: "@Hourly", tz: "Europe/Berlin" },
    FROM,
    "UTC",
  );
  const [first, second] = ["2026-10-25T00:00:00Z", "2026-10-25T01:00:00Z"].map((text) =>
    Date.parse(text),
  );
  assert.is(nextDate(schedule, first!), second, "both passes of 02:00");
});

test("a date given in local time is one instant, in or beside the jump", () => {
  const now = FROM - DAY;
  for (const jump of jumps) {
    const { zone, at, before, after } = jump;
    const localText = middleOf(jump).toISOString().slice(0, 19);
    const parsed = parseSchedule({ kind: "at", at: localText, tz: zone }, now, "UTC");
    const instant = Date.parse((parsed as { at: string }).at);
    assert.ok(
      Math.abs(instant - at) <= Math.abs(after - before),
      `${inWords(jump)}: ${localText} is ${new Date(instant).toISOString()}`,
    );
    assert.is(nextDate(parsed, instant - 1), instant);
    assert.is(nextDate(parsed, instant), undefined);
  }
});

test.run();

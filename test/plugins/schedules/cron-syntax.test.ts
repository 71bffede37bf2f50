/** Expressions as people write them for other schedulers: what they mean, by their next dates. */
import * as assert from "uvu/assert";
import { normalizeCron } from "../../../plugins/schedules/cron-syntax.ts";
import { nextDate, parseSchedule, previewDates } from "../../../plugins/schedules/dates.ts";
import { describeCron } from "../../../plugins/schedules/describe-cron.ts";
import { test } from "../../support/suite.ts";

const NOW = Date.UTC(2027, 0, 1); // a Friday
const parse = (text: string, zone = "UTC") => parseSchedule(text, NOW, zone);
const dates = (text: string, count: number) =>
  previewDates(parse(text), NOW, count).map((at) => new Date(at).toISOString().slice(5, 16));

/** Each with an expression that croner reads by itself. */
const same: Record<string, string> = {
  "0/15 * * * *": "0,15,30,45 * * * *",
  "5/20 * * * *": "5,25,45 * * * *",
  "0 8/6 * * *": "0 8,14,20 * * *",
  "0 0 10/10 * *": "0 0 10,20,30 * *",
  "0 0 1 JAN/6 *": "0 0 1 1,7 *",
  "0 0 * * MON/2": "0 0 * * 1,3,5",
  "10/30 * * * * *": "10,40 * * * * *",
  "0 22-2 * * *": "0 22,23,0,1,2 * * *",
  "0 22-4/3 * * *": "0 22,1,4 * * *",
  "0 9 * * FRI-MON": "0 9 * * 5,6,0,1",
  "0 9 * * fri-mon": "0 9 * * 5,6,0,1",
  "0 9 * * 5-7": "0 9 * * 5,6,0",
  "0 9 * * 7-2": "0 9 * * 0,1,2",
  "0 9 * * 5-0": "0 9 * * 5,6,0",
  "0 0 1 NOV-FEB *": "0 0 1 11,12,1,2 *",
  "0 0 30-2 * *": "0 0 30,31,1,2 * *",
  "50-10/10 * * * *": "50,0,10 * * * *",
  "1,22-1 * * * *": "1,22-59,0,1 * * * *",
};
for (const [expr, plain] of Object.entries(same))
  test(`${expr} fires as ${plain}`, () => assert.equal(dates(expr, 20), dates(plain, 20)));

test("an expression that croner reads stays unchanged", () => {
  for (const expr of [
    "*/5 * * * *",
    "0 0 L * *",
    "0 9 * * MON#1",
    "1-5 0-23/2 1,15 * 1-5",
    "@daily",
  ])
    assert.is(normalizeCron(expr), expr);
});

test("a zone may stand in front of the expression", () => {
  for (const prefix of ["CRON_TZ", "TZ"]) {
    const schedule = parse(`${prefix}=Europe/Berlin 0 9 * * *`);
    assert.equal(schedule, { kind: "cron", expr: "0 9 * * *", tz: "Europe/Berlin" });
    assert.is(new Date(nextDate(schedule, NOW) ?? 0).toISOString(), "2027-01-01T08:00:00.000Z");
  }
});

test("a zone in front and another beside it contradict each other", () => {
  const both = { kind: "cron", expr: "TZ=Europe/Berlin 0 9 * * *", tz: "UTC" } as const;
  assert.throws(
    () => parseSchedule(both, NOW, "UTC"),
    (error: Error & { param?: string }) => error.param === "schedule.tz",
  );
  assert.throws(
    () => parse("CRON_TZ=Nowhere/At_All 0 9 * * *"),
    (error: Error & { param?: string }) => error.param === "schedule.tz",
  );
});

test("@every is an interval", () => {
  assert.equal(parse("@every 1h30m"), { kind: "every", everyMs: 5_400_000 });
  assert.throws(() => parse("@every soon"), /soon/);
});

test("an invalid expression is still refused", () => {
  for (const expr of [
    "60/5 * * * *",
    "0 25-2 * * *",
    "22-2/0 * * * *",
    "0 9 * * FOO-MON",
    "a/5 * * * *",
    "-5 * * * *",
    "5- * * * *",
  ])
    assert.throws(
      () => parse(expr),
      (error: Error & { code?: string }) => error.code === "invalid_request_error",
      expr,
    );
});

test("an expression in words", () => {
  assert.match(describeCron("0/15 * * * *") ?? "", /every 15 minutes/i);
  assert.match(describeCron("0 9 * * 1-5") ?? "", /09:00.*Monday through Friday/);
  assert.is(describeCron("not an expression"), undefined);
});

test.run();

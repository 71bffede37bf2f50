/** Every schedule, walked through summer time, date lines, sleeps and steps of the clock with a clock of the test's own. */
import { test } from "../../support/suite.ts";
import * as assert from "uvu/assert";
import { nextSlot } from "../../../plugins/cron/job.ts";
import { makeCron } from "./fake-gateway.ts";

const text = { kind: "systemEvent", text: "tick" } as const;
const job = (name: string, expr: string, tz: string, more: object = {}) => ({
  name,
  schedule: { kind: "cron" as const, expr, tz },
  payload: text,
  ...more,
});

interface Walk {
  title: string;
  expr: string;
  tz: string;
  from: string;
  to: string;
  fires: string[];
}

const walks: Walk[] = [
  {
    title: "New York, spring: 02:30 does not exist and fires once, at 03:00",
    expr: "30 2 * * *",
    tz: "America/New_York",
    from: "2026-03-07T12:00:00Z",
    to: "2026-03-10T00:00:00Z",
    fires: ["2026-03-08T07:00:00.000Z", "2026-03-09T06:30:00.000Z"],
  },
  {
    title: "New York, spring: 02:00 and 02:30 fire once at the end of the gap",
    expr: "0,30 2 * * *",
    tz: "America/New_York",
    from: "2026-03-08T06:00:00Z",
    to: "2026-03-08T12:00:00Z",
    fires: ["2026-03-08T07:00:00.000Z"],
  },
  {
    title: "New York, autumn: 01:30 comes twice and fires once, at its first pass",
    expr: "30 1 * * *",
    tz: "America/New_York",
    from: "2026-10-31T12:00:00Z",
    to: "2026-11-03T00:00:00Z",
    fires: ["2026-11-01T05:30:00.000Z", "2026-11-02T06:30:00.000Z"],
  },
  {
    title: "New York, autumn: 01:00 and 01:30 fire once each",
    expr: "0,30 1 * * *",
    tz: "America/New_York",
    from: "2026-11-01T04:00:00Z",
    to: "2026-11-01T12:00:00Z",
    fires: ["2026-11-01T05:00:00.000Z", "2026-11-01T05:30:00.000Z"],
  },
  {
    title: "New York, autumn: every half hour goes on in real time",
    expr: "*/30 * * * *",
    tz: "America/New_York",
    from: "2026-11-01T04:45:00Z",
    to: "2026-11-01T07:15:00Z",
    fires: ["05:00", "05:30", "06:00", "06:30", "07:00"].map((at) => `2026-11-01T${at}:00.000Z`),
  },
  {
    title: "Berlin, spring",
    expr: "30 2 * * *",
    tz: "Europe/Berlin",
    from: "2026-03-28T12:00:00Z",
    to: "2026-03-31T00:00:00Z",
    fires: ["2026-03-29T01:00:00.000Z", "2026-03-30T00:30:00.000Z"],
  },
  {
    title: "Berlin, autumn",
    expr: "30 2 * * *",
    tz: "Europe/Berlin",
    from: "2026-10-24T12:00:00Z",
    to: "2026-10-27T00:00:00Z",
    fires: ["2026-10-25T00:30:00.000Z", "2026-10-26T01:30:00.000Z"],
  },
  {
    title: "Berlin, a 6-field expression with seconds in the fold",
    expr: "15 30 2 * * *",
    tz: "Europe/Berlin",
    from: "2026-10-24T12:00:00Z",
    to: "2026-10-26T00:00:00Z",
    fires: ["2026-10-25T00:30:15.000Z"],
  },
  {
    title: "Lord Howe moves by half an hour: 02:15 does not exist and fires at 02:30",
    expr: "15 2 * * *",
    tz: "Australia/Lord_Howe",
    from: "2026-10-03T00:00:00Z",
    to: "2026-10-05T00:00:00Z",
    fires: ["2026-10-03T15:30:00.000Z", "2026-10-04T15:15:00.000Z"],
  },
  {
    title: "Lord Howe, autumn: 01:45 comes twice within an hour and fires once",
    expr: "45 1 * * *",
    tz: "Australia/Lord_Howe",
    from: "2026-04-03T20:00:00Z",
    to: "2026-04-05T20:00:00Z",
    fires: ["2026-04-04T14:45:00.000Z", "2026-04-05T15:15:00.000Z"],
  },
  {
    title: "Apia had no 30 December 2011: its noon fires once, when the day was skipped",
    expr: "0 12 * * *",
    tz: "Pacific/Apia",
    from: "2011-12-29T00:00:00Z",
    to: "2012-01-01T00:00:00Z",
    fires: [
      "2011-12-29T22:00:00.000Z",
      "2011-12-30T10:00:00.000Z",
      "2011-12-30T22:00:00.000Z",
      "2011-12-31T22:00:00.000Z",
    ],
  },
  {
    title: "Apia: a job for just that day fires at the jump",
    expr: "0 0 30 12 *",
    tz: "Pacific/Apia",
    from: "2011-12-01T00:00:00Z",
    to: "2012-02-01T00:00:00Z",
    fires: ["2011-12-30T10:00:00.000Z"],
  },
  {
    title: "@daily",
    expr: "@daily",
    tz: "Asia/Tokyo",
    from: "2026-01-01T00:00:00Z",
    to: "2026-01-03T00:00:00Z",
    fires: ["2026-01-01T15:00:00.000Z", "2026-01-02T15:00:00.000Z"],
  },
];

for (const { title, expr, tz, from, to, fires } of walks) {
  test(title, async () => {
    const cron = makeCron(from);
    await cron.jobs.add(job("it", expr, tz), "api", "owner");
    await cron.walk(to);
    assert.equal(await cron.fired("it"), fires);
    await cron.close();
  });
}

test("an interval counts from its creation, regardless of the time zone", async () => {
  const cron = makeCron("2026-03-29T00:00:00Z");
  await cron.jobs.add(
    { name: "it", schedule: { kind: "every", everyMs: 3_600_000 }, payload: text },
    "api",
    "owner",
  );
  await cron.walk("2026-03-29T04:30:00Z");
  assert.equal(
    await cron.fired("it"),
    ["01", "02", "03", "04"].map((hour) => `2026-03-29T${hour}:00:00.000Z`),
  );
  await cron.close();
});

test("after 24 hours of sleep, skip omits the missed slots, run-once fires one, and both continue", async () => {
  const cron = makeCron("2026-05-01T00:10:00Z");
  await cron.jobs.add(job("skips", "0 * * * *", "UTC"), "api", "owner");
  await cron.jobs.add(job("once", "0 * * * *", "UTC", { missed: "run-once" }), "api", "owner");
  await cron.walk("2026-05-01T01:30:00Z");
  cron.jump("2026-05-02T01:30:00Z");
  await cron.look();
  await cron.walk("2026-05-02T03:30:00Z");
  const [before, after] = [
    ["2026-05-01T01:00:00.000Z"],
    ["2026-05-02T02:00:00.000Z", "2026-05-02T03:00:00.000Z"],
  ];
  assert.equal(await cron.fired("skips"), [...before, ...after]);
  assert.equal(await cron.fired("once"), [...before, "2026-05-01T02:00:00.000Z", ...after]);
  assert.equal(await cron.fired("skips", "missed"), ["2026-05-01T02:00:00.000Z"], "and it is said");
  await cron.close();
});

test("years of missed slots cost one lookup", async () => {
  const cron = makeCron("2020-01-01T00:00:00Z");
  await cron.jobs.add(job("it", "* * * * *", "UTC"), "api", "owner");
  cron.jump("2026-01-01T00:00:30Z");
  assert.is(await cron.look(), 1);
  assert.is(await cron.look(), 0);
  assert.equal(await cron.fired("it"), []);
  await cron.walk("2026-01-01T00:01:30Z");
  assert.equal(await cron.fired("it"), ["2026-01-01T00:01:00.000Z"]);
  await cron.close();
});

test("a restart of a few seconds does not lose a daily job, and the grace window ends", async () => {
  for (const [late, fires] of [
    [45, 1],
    [75, 0],
  ] as const) {
    const cron = makeCron("2026-05-01T07:00:00Z");
    await cron.jobs.add(job("it", "0 8 * * *", "UTC"), "api", "owner");
    cron.jump(Date.parse("2026-05-01T08:00:00Z") + late * 1_000);
    await cron.look();
    assert.is((await cron.fired("it")).length, fires, `${late} s late`);
    await cron.close();
  }
  const cron = makeCron("2026-05-01T07:00:00Z");
  await cron.jobs.add(job("it", "0 8 * * *", "UTC", { graceMs: 7_200_000 }), "api", "owner");
  cron.jump("2026-05-01T09:30:00Z");
  await cron.look();
  assert.is((await cron.fired("it")).length, 1, "a grace of its own");
  await cron.close();
});

test("a clock step back repeats no slot, and a step forward counts as sleep", async () => {
  const cron = makeCron("2026-05-01T07:55:00Z");
  await cron.jobs.add(job("it", "0 * * * *", "UTC"), "api", "owner");
  await cron.walk("2026-05-01T09:10:00Z");
  cron.jump("2026-05-01T07:30:00Z");
  await cron.look();
  await cron.walk("2026-05-01T10:10:00Z");
  assert.equal(
    await cron.fired("it"),
    ["08", "09", "10"].map((hour) => `2026-05-01T${hour}:00:00.000Z`),
  );
  cron.jump("2026-05-01T13:30:00Z");
  await cron.look();
  await cron.walk("2026-05-01T14:10:00Z");
  assert.equal((await cron.fired("it")).slice(3), ["2026-05-01T14:00:00.000Z"]);
  await cron.close();
});

test("after the clock steps back, an interval starts again instead of waiting for the old date", async () => {
  const cron = makeCron("2027-01-01T00:00:00Z");
  await cron.jobs.add(
    { name: "it", schedule: { kind: "every", everyMs: 60_000 }, payload: text },
    "api",
    "owner",
  );
  await cron.walk("2027-01-01T00:02:30Z");
  cron.jump("2026-01-01T00:00:00Z");
  await cron.jobs.rewindIntervals(cron.now());
  await cron.walk("2026-01-01T00:02:30Z");
  assert.is((await cron.fired("it")).length, 4);
  await cron.close();
});

test("jitter spreads jobs over its span, each by the same amount on every gateway", () => {
  const slotAt = Date.parse("2026-05-01T08:00:00Z");
  const { payload, schedule } = job("it", "0 * * * *", "UTC");
  const how = { missed: "skip", overlap: "skip", source: "api", anchorMs: 0 } as const;
  const body = { payload, schedule, jitterMs: 600_000, ...how };
  const delays = ["a", "b", "c", "d"].map((id) => {
    const slot = nextSlot(id, body, slotAt - 300_000);
    assert.equal(nextSlot(id, body, slotAt - 1), slot);
    assert.is(slot?.slotAt, slotAt);
    return slot!.nextAt - slotAt;
  });
  assert.is(new Set(delays).size, 4, `${delays}`);
  for (const delay of delays) assert.ok(delay >= 0 && delay < 600_000, `${delays}`);
});

test("jitter keeps the slot's name", async () => {
  const cron = makeCron("2026-05-01T07:55:00Z");
  await cron.jobs.add(job("it", "0 * * * *", "UTC", { jitterMs: 600_000 }), "api", "owner");
  await cron.walk("2026-05-01T08:30:00Z");
  assert.equal(await cron.fired("it"), ["2026-05-01T08:00:00.000Z"]);
  await cron.close();
});

test("a changed jitter neither loses the slot that waits nor runs one that was missed", async () => {
  const spread = { schedule: "0 * * * *", payload: text, jitterMs: 1_800_000 };
  const cron = makeCron("2026-05-01T07:55:00Z");
  await cron.jobs.sync({ it: spread });
  await cron.jobs.add({ name: "api", ...spread }, "api", "owner");
  // The date has passed, but its delay has not.
  cron.jump("2026-05-01T08:00:01Z");
  await cron.jobs.sync({ it: { ...spread, jitterMs: 0 } });
  await cron.operations.change("api", { jitterMs: 0 });
  await cron.walk("2026-05-01T08:00:01Z");
  for (const name of ["it", "api"])
    assert.equal(await cron.fired(name), ["2026-05-01T08:00:00.000Z"], name);

  cron.jump("2026-05-01T12:30:00Z");
  await cron.jobs.sync({ it: { ...spread, jitterMs: 60_000 } });
  await cron.operations.change("api", { jitterMs: 60_000 });
  await cron.look();
  for (const name of ["it", "api"]) {
    assert.equal(await cron.fired(name, "missed"), ["2026-05-01T09:00:00.000Z"], name);
    assert.is((await cron.fired(name)).length, 1, name);
  }
  await cron.close();
});

test("two gateways on one store: each slot fires once", async () => {
  const firstCron = makeCron("2026-05-01T00:00:30Z");
  const two = makeCron("2026-05-01T00:00:30Z", { dir: firstCron.dir });
  for (let i = 0; i < 20; i++)
    await firstCron.jobs.add(job(`j${i}`, "* * * * *", "UTC"), "api", "owner");
  for (let minute = 1; minute <= 5; minute++) {
    const at = Date.parse(`2026-05-01T00:0${minute}:00Z`);
    firstCron.jump(at);
    two.jump(at);
    await Promise.all([firstCron.look(), two.look(), two.look()]);
  }
  for (let i = 0; i < 20; i++) assert.is((await firstCron.fired(`j${i}`)).length, 5);
  const events = [...firstCron.emitted, ...two.emitted].filter(({ name }) => name === "cron:fired");
  assert.is(events.length, 100);
  await two.close();
  await firstCron.close();
});

test.run();

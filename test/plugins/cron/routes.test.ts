/** Jobs over HTTP: refused definitions, stored jobs, and changes. */
import * as assert from "uvu/assert";
import { type InProcessGateway, startGateway } from "../../support/gateway.ts";
import { suite } from "../../support/suite.ts";

const test = suite("routes of cron jobs");
const turn = { kind: "agentTurn", message: "report" };
const text = { kind: "systemEvent", text: "x" };
const hourly = { kind: "cron", expr: "0 * * * *", tz: "UTC" };
let g: InProcessGateway;

test.before(async () => {
  g = await startGateway({
    config: {
      agents: { defaults: { model: "echo", heartbeat: { every: "0" } } },
      cron: {
        timezone: "Europe/Berlin",
        jobs: { configured: { schedule: "0 * * * *", payload: text } },
      },
    },
  });
});
test.after(() => g?.stop());

interface Refusal {
  status: number;
  code: string;
  param?: string;
  message: string;
}

async function refusalOf(method: string, path: string, body?: object): Promise<Refusal> {
  const response = await g.request(method, path, body);
  const { error } = (await response.json()) as { error?: Omit<Refusal, "status"> };
  if (error === undefined) throw new Error(`${method} ${path} answered ${response.status}`);
  return { ...error, status: response.status };
}

const add = (job: object) => g.json("POST", "/cron/jobs", job);
const show = (job: string) => g.json("GET", `/cron/jobs/${job}`);
const change = (job: string, body: object) => g.json("PATCH", `/cron/jobs/${job}`, body);

test("bad definitions are refused with the field", async () => {
  const before = (await g.json("GET", "/cron/jobs")).jobs.length;
  for (const [job, param] of [
    [{ schedule: "0 0 31 2 *", payload: turn }, "schedule.expr"],
    [{ schedule: "61 * * * *", payload: turn }, "schedule.expr"],
    [{ schedule: "* * *", payload: turn }, "schedule.expr"],
    [
      { schedule: { kind: "cron", expr: "* * * * *", tz: "Mars/Base" }, payload: turn },
      "schedule.tz",
    ],
    [{ schedule: "every 0", payload: turn }, "schedule"],
    [{ schedule: { kind: "every", everyMs: 0 }, payload: turn }, "schedule.everyMs"],
    [{ schedule: { kind: "at", at: "2020-01-01T00:00:00Z" }, payload: turn }, "schedule.at"],
    [{ schedule: { kind: "every", everyMs: 9e15 }, payload: turn }, "schedule.everyMs"],
    [{ schedule: "every 99999999d", payload: turn }, "schedule"],
    [{ schedule: "in 99999999d", payload: turn }, "schedule.at"],
    [{ schedule: { kind: "at", at: 8.64e15 }, payload: turn, jitterMs: 1000 }, "schedule.at"],
    [{ schedule: { kind: "at", at: "2099-02-30" }, payload: turn }, "schedule.at"],
    [{ schedule: { kind: "at", at: "2099-02-30T00:00:00Z" }, payload: turn }, "schedule.at"],
    [{ schedule: { kind: "at", at: "2099-06-31T09:00+02:00" }, payload: turn }, "schedule.at"],
    [{ schedule: hourly, payload: { kind: "agentTurn" } }, "payload.message"],
    [{ schedule: hourly, payload: { kind: "hook", event: "no event" } }, "payload.event"],
    [{ schedule: hourly }, "payload"],
    [{ payload: turn }, "schedule"],
    [{ schedule: hourly, payload: turn, missed: "all" }, "missed"],
    [{ schedule: hourly, payload: turn, colour: "red" }, "colour"],
  ] as const) {
    const { status, ...error } = await refusalOf("POST", "/cron/jobs", job);
    assert.equal(
      [status, error.code, error.param],
      [400, "invalid_request_error", param],
      `${JSON.stringify(job)}: ${error.message}`,
    );
  }
  assert.is((await g.json("GET", "/cron/jobs")).jobs.length, before);
});

test("an error of an expression uses the numbers and names of that expression", async () => {
  for (const [expr, part] of [
    ["0 0 32 * *", "day: 32"],
    ["0 0 0 * *", "day: 0"],
    ["0 0 1-40 * *", "day: 32"],
    ["0 0 * 13 *", "month: 13"],
    ["0 0 * * 8", "dayOfWeek: 8"],
    ["0 24 * * *", "hour: 24"],
    ["@dayly", "@daily"],
    ["@reboot", "@reboot is not a known nickname"],
  ] as const) {
    const job = { schedule: expr, payload: turn };
    const { message, param } = await refusalOf("POST", "/cron/jobs", job);
    assert.is(param, "schedule.expr");
    assert.match(message, part);
  }
});

test("shorthands are in the configured zone, and a job shows its next five dates", async () => {
  const job = await add({ name: "weekdays", schedule: "30 9 * * 1-5", payload: turn });
  assert.equal(job.schedule, { kind: "cron", expr: "30 9 * * 1-5", tz: "Europe/Berlin" });
  assert.is(job.status, "enabled");
  const { nextDates } = await show("weekdays");
  assert.is(nextDates.length, 5);
  const inBerlin = new Intl.DateTimeFormat("en-GB", {
    timeZone: "Europe/Berlin",
    weekday: "short",
    hour: "2-digit",
    minute: "2-digit",
  });
  for (const date of nextDates)
    assert.match(inBerlin.format(new Date(date)), /^(Mon|Tue|Wed|Thu|Fri),? 09:30$/);
  assert.equal(nextDates, [...new Set(nextDates as string[])].sort());
  const epoch = Date.parse("2099-06-01T00:00:00Z");
  for (const [schedule, expected] of [
    [
      { kind: "at", at: "2099-05-02 09:00" },
      { kind: "at", at: "2099-05-02T07:00:00.000Z" },
    ],
    [
      { kind: "at", at: epoch },
      { kind: "at", at: "2099-06-01T00:00:00.000Z" },
    ],
    ["every 1h30m", { kind: "every", everyMs: 5_400_000 }],
  ])
    assert.equal((await add({ schedule, payload: turn })).schedule, expected);
  const before = Date.now();
  const soon = await add({ schedule: "in 20m", payload: turn });
  const at = Date.parse(soon.schedule.at) - 20 * 60_000;
  assert.ok(at >= before - 1000 && at <= Date.now() + 1000, soon.schedule.at);
});

test("run now does not change the next date, even for a disabled job", async () => {
  await add({ name: "by hand", schedule: "0 0 1 1 *", payload: turn });
  const path = "/cron/jobs/by%20hand";
  const before = (await show("by%20hand")).state.nextRunAt;
  assert.match((await g.json("POST", `${path}/run`)).turnId, /^turn_cron_/);
  assert.is((await show("by%20hand")).state.nextRunAt, before);
  await g.json("POST", `${path}/disable`);
  await g.json("POST", `${path}/run`);
  assert.is((await show("by%20hand")).status, "disabled");
  assert.is((await g.json("GET", `${path}/runs`)).runs[0].trigger, "manual");
});

test("a change keeps the date unless it changes the schedule", async () => {
  await add({ name: "a", schedule: "every 1h", payload: turn });
  const before = (await show("a")).state.nextRunAt;
  await change("a", { name: "b", payload: text });
  assert.is((await show("b")).state.nextRunAt, before);
  await change("b", { schedule: "every 10m" });
  const moved = Date.parse((await show("b")).state.nextRunAt);
  assert.ok(moved < Date.parse(before), new Date(moved).toISOString());
  const set = await change("b", { timeoutMs: 5000, overlap: "queue" });
  assert.equal([set.timeoutMs, set.overlap], [5000, "queue"]);
  const cleared = await change("b", { timeoutMs: null, overlap: null });
  assert.equal([cleared.timeoutMs, cleared.overlap], [undefined, "skip"]);
  const refused = (body: object) => refusalOf("PATCH", "/cron/jobs/b", body);
  assert.is((await refused({ payload: null })).param, "payload");
  assert.is((await refused({ schedule: "0 0 31 2 *" })).param, "schedule.expr");
  assert.is((await change("b", { status: "disabled" })).status, "disabled");
  assert.is((await change("b", { enabled: true })).status, "enabled");
});

test("jobs of the configuration can be run, and can be changed only there", async () => {
  for (const [method, path, body] of [
    ["PATCH", "", { name: "x" }],
    ["DELETE", "", undefined],
    ["POST", "/disable", undefined],
  ] as const) {
    const { status, message } = await refusalOf(method, `/cron/jobs/configured${path}`, body);
    assert.is(status, 409);
    assert.match(message, "cron.jobs.configured");
  }
  const { eventId } = await g.json("POST", "/cron/jobs/configured/run");
  assert.match(eventId, /^evt_cron_/);
});

test("several jobs of one name need an id", async () => {
  const [, second] = [
    await add({ name: "twins", schedule: hourly, payload: turn }),
    await add({ name: "twins", schedule: hourly, payload: turn }),
  ];
  assert.is((await refusalOf("GET", "/cron/jobs/twins")).status, 409);
  assert.is((await show(second.id)).id, second.id);
  assert.is((await refusalOf("GET", "/cron/jobs/none")).status, 404);
  await g.json("DELETE", `/cron/jobs/${second.id}`);
  assert.is((await show("twins")).name, "twins");
});

test.run();

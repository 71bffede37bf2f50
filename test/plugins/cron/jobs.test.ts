/** Jobs over days, with the test's own clock: successful and failed runs, and what follows them. */
import { test } from "../../support/suite.ts";
import * as assert from "uvu/assert";
import { PorticoError } from "../../../kernel/errors.ts";
import { KIND } from "../../../plugins/cron/job.ts";
import { until } from "../../support/until.ts";
import { makeCron } from "./fake-gateway.ts";

const START = "2026-05-01T07:55:00Z";
const turn = { kind: "agentTurn", message: "report" } as const;
const hourly = { kind: "cron", expr: "0 * * * *", tz: "UTC" } as const;

async function refused(
  work: Promise<unknown>,
): Promise<{ code: string; param?: string; message: string; status: number }> {
  try {
    await work;
  } catch (error) {
    return error as never;
  }
  throw new Error("was accepted");
}

test("a run ends with its turn, and the next slot is skipped while the turn runs", async () => {
  const cron = makeCron(START);
  await cron.operations.add({ name: "a", schedule: hourly, payload: turn }, "api", "owner");
  await cron.walk("2026-05-01T08:10:00Z");
  let [run] = (await cron.operations.runs("a")).runs;
  assert.is(run!["status"], "running");
  assert.match(run!["turnId"] as string, /^turn_cron_/);
  await cron.walk("2026-05-01T09:10:00Z");
  assert.equal(await cron.fired("a", "skipped"), ["2026-05-01T09:00:00.000Z"]);
  const turnId = await cron.finishTurn("done");
  assert.is(turnId, run!["turnId"]);
  run = (await cron.operations.runs("a")).runs[1];
  assert.is(run!["status"], "ok");
  assert.is(run!["durationMs"], 4_200_000);
  await cron.walk("2026-05-01T10:10:00Z");
  assert.equal(await cron.fired("a"), ["2026-05-01T08:00:00.000Z", "2026-05-01T10:00:00.000Z"]);
  await cron.close();
});

test("overlap queue starts the next turn after the first, in one session", async () => {
  const cron = makeCron(START);
  await cron.operations.add(
    { name: "a", schedule: hourly, payload: turn, overlap: "queue" },
    "api",
    "owner",
  );
  await cron.walk("2026-05-01T09:10:00Z");
  assert.is((await cron.fired("a")).length, 2);
  const lanes = new Set((await cron.store.items.list({ kind: "turn" })).map(({ lane }) => lane));
  assert.is(lanes.size, 1);
  await cron.close();
});

test("failures cause back-off, then disable the job with the reason; enabling clears it", async () => {
  const cron = makeCron(START, { maxErrors: 3 });
  await cron.operations.add(
    { name: "a", schedule: { kind: "cron", expr: "* * * * *", tz: "UTC" }, payload: turn },
    "api",
    "owner",
  );
  for (const [wake, next] of [
    ["2026-05-01T07:56:00Z", "2026-05-01T07:57:00.000Z"],
    ["2026-05-01T07:57:00Z", "2026-05-01T07:59:00.000Z"],
    ["2026-05-01T07:59:00Z", null],
  ] as const) {
    await cron.walk(wake);
    // 20 s of work: the pauses of 30 s, 1 min reach over one minute and two.
    cron.jump(cron.now() + 20_000);
    await cron.finishTurn("dead");
    assert.is(
      ((await cron.operations.show("a"))["state"] as { nextRunAt: string }).nextRunAt,
      next,
      wake,
    );
  }
  const job = await cron.operations.show("a");
  assert.is(job["status"], "disabled");
  const state = job["state"] as Record<string, unknown>;
  assert.is(state["consecutiveErrors"], 3);
  assert.match(state["disabledReason"] as string, "failed 3 times in a row; last error: boom");
  const enabled = await cron.operations.switch("a", "enabled");
  assert.is(enabled["status"], "enabled");
  assert.is((enabled["state"] as Record<string, unknown>)["consecutiveErrors"], 0);
  assert.is((enabled["state"] as Record<string, unknown>)["disabledReason"], undefined);
  await cron.close();
});

test("an at job stays disabled with its history, and deleteAfterRun deletes it", async () => {
  const cron = makeCron(START);
  const text = { kind: "systemEvent", text: "x" };
  await cron.operations.add({ name: "stays", schedule: "in 5m", payload: text }, "api", "owner");
  await cron.operations.add(
    { name: "goes", schedule: "in 5m", payload: text, deleteAfterRun: true },
    "api",
    "owner",
  );
  await cron.operations.add(
    { name: "later", schedule: "in 5m", payload: turn, deleteAfterRun: true },
    "api",
    "owner",
  );
  await cron.walk("2026-05-01T08:10:00Z");
  const stays = await cron.operations.show("stays");
  assert.is(stays["status"], "disabled");
  assert.equal(stays["nextDates"], []);
  assert.equal(await cron.fired("stays"), ["2026-05-01T08:00:00.000Z"]);
  assert.is((await refused(cron.operations.show("goes"))).code, "not_found");
  assert.is((await cron.operations.show("later"))["status"], "disabled", "its turn is still going");
  await cron.finishTurn("done");
  assert.is((await refused(cron.operations.show("later"))).code, "not_found");
  assert.is((await refused(cron.operations.switch("stays", "enabled"))).param, "schedule.at");
  assert.is((await cron.store.items.list({ kind: "wake" })).length, 2);
  await cron.close();
});

test("jobs of the configuration are kept, changed and removed with it, and are read-only elsewhere", async () => {
  const cron = makeCron(START);
  const text = { kind: "systemEvent", text: "x" } as const;
  await cron.jobs.sync({
    one: { schedule: "0 * * * *", payload: text },
    two: { schedule: "in 5m", payload: text },
  });
  await cron.walk("2026-05-01T08:30:00Z");
  await cron.jobs.sync({
    one: { schedule: "0 * * * *", payload: text },
    two: { schedule: "in 5m", payload: text },
  });
  assert.equal(
    await cron.fired("one"),
    ["2026-05-01T08:00:00.000Z"],
    "a restart keeps history and dates",
  );
  assert.is(
    (await cron.operations.show("two"))["status"],
    "disabled",
    "what has run does not come again",
  );
  for (const work of [
    cron.operations.change("one", { name: "x" }),
    cron.operations.remove("one"),
    cron.operations.switch("one", "disabled"),
  ]) {
    const error = await refused(work);
    assert.is(error.status, 409);
    assert.match(error.message, "cron.jobs.one");
  }
  assert.match((await cron.operations.run("one")).eventId!, /^evt_cron_/);
  assert.match(
    cron.jobs.problems({ bad: { schedule: "0 0 31 2 *", payload: text } }).get("bad")!.message,
    "cron.jobs.bad",
  );
  await cron.jobs.sync({ one: { schedule: "30 * * * *", payload: text, enabled: false } });
  assert.is((await cron.operations.show("one"))["status"], "disabled");
  assert.is((await cron.operations.list()).jobs.length, 1);
  await cron.jobs.sync({});
  assert.is((await cron.operations.list()).jobs.length, 0);
  await cron.close();
});

test("a hook payload reaches handlers of an event of its own; a failing one fails the run", async () => {
  const cron = makeCron(START);
  await cron.operations.add(
    {
      name: "a",
      schedule: hourly,
      payload: { kind: "hook", event: "report:daily", context: { depth: 3 } },
    },
    "api",
    "owner",
  );
  const payloads: unknown[] = [];
  const undo = cron.bus.on(
    "report:daily" as never,
    (event: { context: unknown }) => void payloads.push(event.context),
  );
  await cron.operations.run("a");
  await until(
    "the run's end",
    async () => (await cron.operations.runs("a")).runs[0]!["status"] === "ok",
  );
  assert.is((payloads[0] as { depth: number }).depth, 3);
  assert.is((payloads[0] as { name: string }).name, "a");
  await undo();
  cron.jump(cron.now() + 1_000);
  cron.bus.on("report:daily" as never, () => {
    throw new Error("no paper");
  });
  await cron.operations.run("a");
  await until(
    "the run's end",
    async () => (await cron.operations.runs("a")).runs[0]!["status"] === "error",
  );
  assert.match((await cron.operations.runs("a")).runs[0]!["error"] as string, "no paper");
  const fired = cron.emitted.filter(({ name }) => name === "cron:fired");
  assert.is(fired.length, 2, "cron:fired comes beside it");
  const failures = cron.emitted
    .filter(({ name }) => name === "cron:failed")
    .map(({ context }) => context);
  assert.equal(
    failures.map(({ name, status, consecutiveErrors, disabled }) => [
      name,
      status,
      consecutiveErrors,
      disabled,
    ]),
    [["a", "error", 1, false]],
  );
  await cron.close();
});

test("a result that can never be delivered fails its run, and is not retried forever", async () => {
  const cron = makeCron(START);
  await cron.operations.add({ name: "a", schedule: hourly, payload: turn }, "api", "owner");
  const agent = cron.ctx.use("agent");
  const { turnItem } = agent;
  agent.turnItem = () => {
    throw new PorticoError("not_found", "There is no agent of that name.");
  };
  await cron.walk("2026-05-01T08:30:00Z");
  agent.turnItem = turnItem;
  await until(
    "the run's end",
    async () => (await cron.operations.runs("a")).runs[0]!["status"] === "error",
  );
  const [run] = (await cron.operations.runs("a")).runs;
  assert.is(run!["error"], "There is no agent of that name.");
  await cron.walk("2026-05-01T09:30:00Z");
  assert.is(
    (await cron.operations.runs("a")).runs[0]!["status"],
    "running",
    "the next slot is its own",
  );
  await cron.close();
});

test("a run that a crash interrupted is shown as interrupted, never as completed", async () => {
  const cron = makeCron(START);
  const job = await cron.jobs.add(
    { name: "a", schedule: hourly, payload: { kind: "hook", event: "x:y" } } as never,
    "api",
    "owner",
  );
  const id = job.row.id;
  const data = { jobId: id, trigger: "schedule", slotAt: cron.now(), payload: "hook" };
  await cron.store.runs.put({
    id: "run_lost",
    owner: `${KIND}:${id}`,
    at: cron.now(),
    status: "running",
    data,
  });
  await cron.settler.sweep();
  assert.is(
    (await cron.operations.runs("a")).runs[0]!["status"],
    "running",
    "it may be another gateway's",
  );
  cron.jump(cron.now() + 120_000);
  await cron.settler.sweep();
  const [run] = (await cron.operations.runs("a")).runs;
  assert.is(run!["status"], "interrupted");
  assert.match(run!["error"] as string, "stopped during the run");
  await cron.close();
});

test("new rules of a time zone move the waiting slots", async () => {
  const cron = makeCron(START);
  const { row } = await cron.jobs.add(
    { name: "a", schedule: hourly, payload: turn },
    "api",
    "owner",
  );
  // As older zone data had reckoned it.
  const old = row.nextAt! - 1_800_000 + 600_000;
  const state = { slotAt: old, consecutiveErrors: 0, fired: 0 };
  await cron.store.tick({ kind: KIND, id: row.id, expectedNext: row.nextAt, next: old, state });
  cron.jump("2026-05-01T07:39:00Z");
  await cron.jobs.recalculateSlots(cron.now());
  assert.is((await cron.jobs.find("a")).row.nextAt, row.nextAt);
  await cron.close();
});

test.run();

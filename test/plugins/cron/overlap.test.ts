/** Several runs of one job at a time: a manual run beside a scheduled one, and runs that wait for each other. */
import * as assert from "uvu/assert";
import { KIND } from "../../../plugins/cron/job.ts";
import { test } from "../../support/suite.ts";
import { until } from "../../support/until.ts";
import { scriptedGateway } from "../agent/scripted.ts";
import { makeCron } from "./fake-gateway.ts";

const START = "2026-05-01T07:55:00Z";
const turn = { kind: "agentTurn", message: "report" } as const;
const hourly = { kind: "cron", expr: "0 * * * *", tz: "UTC" } as const;
const at = (hour: string) => `2026-05-01T${hour}:00:00.000Z`;

type Cron = ReturnType<typeof makeCron>;

const stateOf = async (cron: Cron) =>
  (await cron.operations.show("a"))["state"] as Record<string, unknown>;

/** Starts a scheduled run at 08:00 and a manual one at 08:10. Resolves to the ids of their turns. */
async function startBoth(cron: Cron): Promise<{ scheduled: string; manual: string }> {
  await cron.operations.add({ name: "a", schedule: hourly, payload: turn }, "api", "owner");
  await cron.walk("2026-05-01T08:10:00Z");
  const [run] = (await cron.operations.runs("a")).runs;
  const { turnId } = await cron.operations.run("a");
  return { scheduled: run!["turnId"] as string, manual: turnId! };
}

for (const first of ["manual", "scheduled"] as const) {
  test(`a manual run beside a scheduled one, of which the ${first} one ends first: slots are skipped until both have ended`, async () => {
    const cron = makeCron(START);
    const { scheduled, manual } = await startBoth(cron);
    const [one, other] = first === "manual" ? [manual, scheduled] : [scheduled, manual];
    await cron.finishTurn("done", one);
    assert.is((await stateOf(cron))["running"], true);
    await cron.walk("2026-05-01T09:10:00Z");
    assert.equal(await cron.fired("a", "skipped"), [at("09")]);
    await cron.finishTurn("done", other);
    assert.is((await stateOf(cron))["running"], false);
    await cron.walk("2026-05-01T10:10:00Z");
    assert.equal(await cron.fired("a", "running"), [at("10")]);
    await cron.close();
  });
}

test("a restart keeps both runs", async () => {
  const before = makeCron(START);
  const { scheduled, manual } = await startBoth(before);
  await before.close();
  const cron = makeCron("2026-05-01T08:20:00Z", { dir: before.dir });
  await cron.finishTurn("done", manual);
  await cron.walk("2026-05-01T09:10:00Z");
  assert.equal(await cron.fired("a", "skipped"), [at("09")]);
  await cron.finishTurn("done", scheduled);
  await cron.walk("2026-05-01T10:10:00Z");
  assert.equal(await cron.fired("a", "running"), [at("10")]);
  await cron.close();
});

test("a run in progress that version 0.1.0 stored counts", async () => {
  const cron = makeCron(START);
  await cron.operations.add({ name: "a", schedule: hourly, payload: turn }, "api", "owner");
  await cron.walk("2026-05-01T08:10:00Z");
  const { row, state } = await cron.jobs.find("a");
  const [running] = state.running;
  await cron.store.commitSchedule({
    ...{ kind: KIND, id: row.id, expectedRev: row.rev, next: row.nextAt },
    state: { ...state, running },
  });
  await cron.walk("2026-05-01T09:10:00Z");
  assert.equal(await cron.fired("a", "skipped"), [at("09")]);
  await cron.finishTurn("done");
  assert.is((await stateOf(cron))["running"], false);
  await cron.close();
});

test("a run that starts or ends while another one, or the configuration, changes the job is not forgotten", async () => {
  const cron = makeCron(START);
  const definition = { schedule: "0 * * * *", payload: turn };
  await cron.jobs.sync({ a: definition });
  type Read = (...args: unknown[]) => Promise<unknown>;
  /** Lets a manual run start after the schedules have been read for something else. */
  const interrupt = (name: "list" | "due" | "get"): void => {
    const schedules = cron.store.schedules as unknown as Record<string, Read>;
    const read = schedules[name]!;
    schedules[name] = async (...args: unknown[]) => {
      schedules[name] = read;
      const rows = await read(...args);
      await cron.operations.run("a");
      return rows;
    };
  };
  const countRunning = async () => (await cron.jobs.find("a")).state.running.length;
  interrupt("list");
  await cron.jobs.sync({ a: { ...definition, description: "new" } });
  assert.is(await countRunning(), 1, "a change of the configuration");
  interrupt("get");
  await cron.finishTurn("done");
  assert.is(await countRunning(), 1, "the end of another run");
  await cron.finishTurn("done");
  assert.is(await countRunning(), 0);
  interrupt("due");
  await cron.walk("2026-05-01T08:10:00Z");
  assert.equal(await cron.fired("a", "skipped"), [at("08")], "a slot");
  assert.is(await countRunning(), 1);
  await cron.close();
});

test("the history keeps a run in progress, so that its end is recorded", async () => {
  const cron = makeCron(START);
  const { scheduled, manual } = await startBoth(cron);
  await cron.finishTurn("done", manual);
  await cron.walk("2026-05-01T10:10:00Z");
  const { row } = await cron.jobs.find("a");
  await cron.store.runs.prune(`${KIND}:${row.id}`, 1);
  const statuses = async () => (await cron.operations.runs("a")).runs.map(({ status }) => status);
  assert.equal(await statuses(), ["skipped", "running"]);
  await cron.finishTurn("done", scheduled);
  assert.equal(await statuses(), ["skipped", "ok"]);
  assert.is((await stateOf(cron))["running"], false);
  await cron.close();
});

test("a job that goes after its run stays until every run has ended", async () => {
  const cron = makeCron(START);
  const job = { name: "a", schedule: "in 5m", payload: turn, deleteAfterRun: true };
  await cron.operations.add(job, "api", "owner");
  await cron.walk("2026-05-01T08:10:00Z");
  const [run] = (await cron.operations.runs("a")).runs;
  const { turnId } = await cron.operations.run("a");
  await cron.finishTurn("done", turnId);
  assert.is((await stateOf(cron))["running"], true);
  await cron.finishTurn("done", run!["turnId"] as string);
  assert.is((await cron.jobs.list()).length, 0);
  await cron.close();
});

test("the state of a job does not grow with the runs that wait", async () => {
  const cron = makeCron(START);
  const schedule = { kind: "cron", expr: "* * * * *", tz: "UTC" };
  const job = { name: "a", schedule, payload: turn, overlap: "queue" };
  await cron.operations.add(job, "api", "owner");
  await cron.walk("2026-05-01T10:00:00Z");
  assert.is((await cron.fired("a")).length, 125);
  assert.is((await cron.jobs.find("a")).state.running.length, 100);
  for (let left = 124; left >= 0; left--) {
    await cron.finishTurn("done");
    if (left % 31 === 0) assert.is((await stateOf(cron))["running"], left > 0, `${left} left`);
  }
  await cron.close();
});

test("through a gateway: the end of a manual run does not let slots start beside the scheduled run", async () => {
  const gateway = await scriptedGateway();
  try {
    let release: (text: string) => void = () => {};
    const reply = new Promise<string>((resolve) => {
      release = resolve;
    });
    gateway.script(() => (gateway.asked.length === 1 ? reply : "ok"));
    await gateway.json("POST", "/cron/jobs", {
      name: "slow",
      schedule: { kind: "every", everyMs: 200 },
      payload: turn,
      // A busy machine must not make a slot count as missed.
      graceMs: 3_600_000,
    });
    const runs = async (): Promise<Record<string, string>[]> =>
      (await gateway.json("GET", "/cron/jobs/slow/runs?limit=1000")).runs;
    await until("the scheduled run", () => gateway.asked.length === 1);
    const { runId } = await gateway.json("POST", "/cron/jobs/slow/run");
    const endedAt = await until("the end of the manual run", async () => {
      const run = (await runs()).find(({ id }) => id === runId);
      return run?.["endedAt"];
    });
    const later = await until("a later slot", async () =>
      (await runs()).find(({ scheduledAt }) => scheduledAt! > endedAt),
    );
    assert.is(later["status"], "skipped");
    assert.is((await gateway.json("GET", "/cron/jobs/slow")).state.running, true);
    release("ok");
    await until("a run after both", async () =>
      (await runs()).some(({ scheduledAt, status }) => scheduledAt! > endedAt && status === "ok"),
    );
  } finally {
    await gateway.stop();
  }
});

test.run();

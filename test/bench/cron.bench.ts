/**
 * 10,000 jobs and 1,000 polls in one gateway: what they cost at start and at rest, and how late a thousand jobs are that
 * fall due at once.
 */
import { join } from "node:path";
import { openStore } from "../../plugins/store/open.ts";
import { makeHome, spawnGateway } from "../support/gateway.ts";
import { quietLog } from "../support/quiet-log.ts";
import { cpuMicros, median, percentile } from "./harness/measure.ts";

const JOBS = 10_000;
const POLLS = 1_000;
const TOGETHER = 1_000;
const REST_MS = 8_000;

/** Fills a store as the routes would. */
async function fill(home: string): Promise<void> {
  const store = openStore({ url: `file:${join(home, "state", "portico.db")}`, log: quietLog() });
  const now = store.now();
  const put = (kind: string, id: string, nextAt: number, body: object) =>
    store.schedules.put({
      kind,
      id,
      name: id,
      enabled: true,
      nextAt,
      body,
      state: { slotAt: nextAt, consecutiveErrors: 0, fired: 0, checks: 0, changes: 0 },
    });
  const payload = { kind: "systemEvent", text: "x" };
  for (let i = 0; i < JOBS; i += 500) {
    await Promise.all(
      Array.from({ length: 500 }, (_, k) => {
        const schedule = { kind: "cron", expr: `${(i + k) % 60} ${i % 24} 1 1 *`, tz: "Europe/Berlin" };
        return put("cron", `job${i + k}`, now + 86_400_000 + i + k, {
          schedule,
          payload,
          missed: "skip",
          overlap: "skip",
          source: "api",
          anchorMs: now,
        });
      }),
    );
  }
  await Promise.all(
    Array.from({ length: POLLS }, (_, i) => {
      const body = {
        every: "1d",
        schedule: { kind: "every", everyMs: 86_400_000 },
        source: { kind: "http", url: "http://127.0.0.1:9/" },
        payload,
        fireOnFirst: false,
        origin: "api",
        anchorMs: now,
      };
      return put("poll", `poll${i}`, now + 86_000_000 + i, body);
    }),
  );
  await store.close();
}

/** Makes a thousand jobs due at one moment, each with a pattern of its own. */
async function gather(home: string, at: number): Promise<void> {
  const store = openStore({ url: `file:${join(home, "state", "portico.db")}`, log: quietLog() });
  await Promise.all(
    Array.from({ length: TOGETHER }, (_, i) => {
      const body = {
        schedule: {
          kind: "cron",
          expr: `${i % 60} ${Math.floor(i / 60)} * * * *`,
          tz: i % 2 ? "Europe/Berlin" : "America/New_York",
        },
        payload: { kind: "systemEvent", text: "x" },
        missed: "run-once",
        overlap: "skip",
        source: "api",
        anchorMs: at,
      };
      return store.schedules.put({
        kind: "cron",
        id: `due${i}`,
        name: `due${i}`,
        enabled: true,
        nextAt: at,
        body,
        state: { slotAt: at, consecutiveErrors: 0, fired: 0 },
      });
    }),
  );
  await store.close();
}

async function lateness(home: string): Promise<number[]> {
  const store = openStore({ url: `file:${join(home, "state", "portico.db")}`, log: quietLog() });
  const late: number[] = [];
  for (let i = 0; i < TOGETHER; i++) {
    const [run] = await store.runs.list({ owner: `cron:due${i}`, limit: 10 });
    const item = run?.itemId === undefined ? undefined : await store.items.get(run.itemId);
    if (run !== undefined && item !== undefined)
      late.push(Math.max(item.createdAt, item.runAt ?? 0) - (run.data as { slotAt: number }).slotAt);
  }
  await store.close();
  return late;
}

async function startMs(home: string): Promise<number> {
  const begun = performance.now();
  const gateway = await spawnGateway({ home });
  const ms = performance.now() - begun;
  await gateway.kill("SIGTERM");
  return ms;
}

export default async function cron() {
  const [empty, full] = [makeHome(), makeHome()];
  for (const home of [empty, full]) await (await spawnGateway({ home, config: {} })).kill("SIGTERM");
  await fill(full);
  const starts = { empty: [] as number[], full: [] as number[] };
  for (let i = 0; i < 3; i++) {
    starts.empty.push(await startMs(empty));
    starts.full.push(await startMs(full));
  }
  const gateway = await spawnGateway({ home: full });
  // Some eight seconds after a start the engine collects what that has left behind: no cost of being at rest.
  await new Promise((resolve) => setTimeout(resolve, 12_000));
  const before = cpuMicros(gateway.child.pid!);
  await new Promise((resolve) => setTimeout(resolve, REST_MS));
  const rest = (cpuMicros(gateway.child.pid!) - before) / 1000 / REST_MS;
  await gather(full, Date.now() + 4_000);
  // Another process wrote them: the gateway looks into the store every ten seconds.
  await gateway.json("POST", "/cron/jobs", {
    name: "poke",
    schedule: "in 1h",
    payload: { kind: "systemEvent", text: "x" },
  });
  await new Promise((resolve) => setTimeout(resolve, 8_000));
  await gateway.kill("SIGTERM");
  const late = await lateness(full);
  if (late.length < TOGETHER) throw new Error(`only ${late.length} of ${TOGETHER} jobs fired`);
  return {
    name: "cron and polls",
    figures: [
      {
        what: `start with ${JOBS} jobs and ${POLLS} polls, above an empty one`,
        value: median(starts.full) - median(starts.empty),
        unit: "ms",
        limit: 300,
      },
      { what: `CPU at rest with ${JOBS} jobs and ${POLLS} polls`, value: rest * 100, unit: "%", limit: 1 },
      {
        what: `${TOGETHER} jobs due at once: late, 50th percentile`,
        value: median(late),
        unit: "ms",
      },
      {
        what: `${TOGETHER} jobs due at once: late, 99th percentile`,
        value: percentile(late, 0.99),
        unit: "ms",
        limit: 100,
      },
    ],
  };
}

/** Fires slots: each is taken by compare-and-swap together with what it starts, so it fires once however many look. */
import { createHash, randomBytes } from "node:crypto";
import type { PluginContext } from "portico";
import type { CronFired, PayloadDelivery } from "portico/cron";
import type { NewItem, Run } from "portico/store";
import { graceOf, type Job, type JobState, KIND, nextSlot, type RunData, type RunStatus, toJob } from "../job.ts";
import { deliver, emitHook } from "./payload.ts";
import type { Settler } from "./settle.ts";

const HOOK_TIMEOUT_MS = 60_000;
/** What is fired in one go. */
const BATCH = 500;
const FORESEEN = 5_000;
/** How many slots within how long are a burst, and how long before it they are taken. */
const BURST = 100;
const BURST_WIDTH_MS = 200;
const BURST_LEAD_MS = 750;

export interface RunnerOptions {
  ctx: PluginContext;
  settler: Settler;
}
export interface Fired {
  runId: string;
  eventId?: string;
  turnId?: string;
  sessionId?: string;
}
export type Runner = ReturnType<typeof createRunner>;

/** The same on every gateway and after every restart: what a slot starts has ids of the slot. */
const slotKey = (id: string, slotAt: number): string =>
  `cron_${createHash("sha256").update(`${id} ${slotAt}`).digest("hex").slice(0, 20)}`;

export function createRunner({ ctx, settler }: RunnerOptions) {
  const store = () => ctx.use("store");

  async function isRunning({ state }: Job): Promise<boolean> {
    const { running } = state;
    if (running === undefined) return false;
    if (running.itemId === undefined) return settler.isHookRunning(running.runId);
    const item = await store().items.get(running.itemId);
    return item !== undefined && ["queued", "running", "held"].includes(item.state);
  }

  function prepare(
    job: Job,
    key: string,
    status: RunStatus,
    at: number,
    data: RunData,
  ): { run: Run; delivery: PayloadDelivery } {
    const { body, row } = job;
    const firing = status === "running";
    const delivery: PayloadDelivery = firing
      ? deliver(ctx, {
          payload: body.payload,
          source: "cron",
          key,
          metadata: { source: "cron", jobId: row.id, job: row.name, scheduledAt: new Date(data.slotAt).toISOString() },
          // Runs that queue up behind each other share a session: its lane keeps them in order.
          defaultSession: body.overlap === "queue" ? `cron:${row.id}` : `cron:${row.id}:${key.slice(5, 13)}`,
          timeoutMs: body.timeoutMs,
        })
      : { items: [] };
    const { items, ...ids } = delivery;
    const itemId = items[0]?.id;
    const ended = !firing || body.payload.kind === "systemEvent";
    const run: Run = {
      id: `run_${key}`,
      owner: `${KIND}:${row.id}`,
      at,
      // A queued event is all that such a job promises.
      status: firing && ended ? "ok" : status,
      data: { ...data, ...ids },
      endedAt: ended ? at : undefined,
      itemId,
    };
    return { run, delivery };
  }

  function stateAfter(job: Job, run: Run, itemId: string | undefined, slotAt: number | undefined): JobState {
    const state: JobState = { ...job.state, lastStatus: run.status as RunStatus };
    if (slotAt === undefined) delete state.slotAt;
    else state.slotAt = slotAt;
    if (run.status === "missed" || run.status === "skipped") return state;
    state.fired++;
    state.lastRunAt = run.at;
    if (run.status === "running") {
      state.running = { runId: run.id, since: run.at, itemId };
      return state;
    }
    delete state.running;
    delete state.lastError;
    return { ...state, consecutiveErrors: 0, lastDurationMs: 0 };
  }

  async function announce(job: Job, run: Run): Promise<void> {
    const { row, body } = job;
    const data = run.data as RunData;
    const fired: CronFired = {
      jobId: row.id,
      name: row.name ?? row.id,
      runId: run.id,
      scheduledAt: new Date(data.slotAt).toISOString(),
      firedAt: new Date(run.at).toISOString(),
      trigger: data.trigger,
      payload: body.payload.kind,
      eventId: data.eventId,
      turnId: data.turnId,
      context: body.payload.kind === "hook" ? body.payload.context : undefined,
    };
    await ctx.emit("cron:fired", fired, { sessionKey: data.sessionId ?? `cron:${row.id}` });
    const { payload } = body;
    if (payload.kind === "hook") {
      const work = async (): Promise<void> => {
        if (payload.event === "cron:fired") return;
        const { context: _, ...facts } = fired;
        await emitHook(ctx, payload.event, { ...facts, ...payload.context }, body.timeoutMs ?? HOOK_TIMEOUT_MS);
      };
      settler.hookRun(run, work());
    }
    if (body.deleteAfterRun && run.status === "ok") await settler.removeIfOver(row.id);
  }

  /** One slot that is due, or with `ahead` soon will be. False where nothing came of it: somebody else took it. */
  async function fireSlot(job: Job, now: number, ahead = false): Promise<boolean> {
    const { row, body, state } = job;
    const slotAt = state.slotAt ?? row.nextAt!;
    // A clock that went back must not bring a slot again: the next one lies after this one, too.
    const following = nextSlot(row.id, body, slotAt);
    const next = following === undefined || following.slotAt > now ? following : nextSlot(row.id, body, now);
    const data: RunData = { jobId: row.id, trigger: "schedule", slotAt, payload: body.payload.kind };
    let status: RunStatus = "running";
    const late = now - row.nextAt!;
    if (body.missed === "skip" && late > graceOf(job, slotAt)) {
      status = "missed";
      data.reason = `due ${Math.round(late / 1000)} s ago, while the gateway was not running`;
    } else if (body.overlap === "skip" && (await isRunning(job))) {
      status = "skipped";
      data.reason = "the run before it was still going";
    }
    const { run, delivery } = prepare(job, slotKey(row.id, slotAt), status, now, data);
    // What is taken ahead of its time waits for it in the queue.
    const items: NewItem[] = ahead ? delivery.items.map((item) => ({ ...item, runAt: now })) : delivery.items;
    const taken = await store().tick(
      {
        kind: KIND,
        id: row.id,
        expectedNext: row.nextAt,
        next: next?.nextAt ?? null,
        state: stateAfter(job, run, delivery.items[0]?.id, next?.slotAt),
        enabled: next ? undefined : false,
      },
      { items, runs: [run] },
    );
    if (taken === undefined) return false;
    if (ahead) at(now, () => announce(job, run));
    else if (status === "running") await announce(job, run);
    else ctx.log.warn({ job: row.name, reason: data.reason }, `cron slot ${status}`);
    return true;
  }

  async function fireSafely(job: Job, now: number, ahead = false): Promise<boolean> {
    try {
      await fireSlot(job, now, ahead);
      return true;
    } catch (error) {
      ctx.log.error({ err: error, job: job.row.name }, "cron slot could not be fired; it will be tried again");
      return false;
    }
  }

  /** Does something at a time of the store's clock, unless the plugin has gone by then. */
  function at(time: number, work: () => Promise<unknown>): void {
    const go = (): void => {
      if (ctx.signal.aborted) return;
      work().catch((error: unknown) => ctx.log.error({ err: error }, "cron could not go on"));
    };
    setTimeout(go, Math.max(0, time - store().now())).unref();
  }

  /**
   * A thousand slots of one moment take longer to write than a tenth of a second. So those of a burst are taken a little
   * before it, as work that begins at its time. Hooks are not: they would have nowhere to wait.
   */
  async function takeBurst(until: number): Promise<void> {
    const now = store().now();
    const jobs = (await store().schedules.due(KIND, until, FORESEEN)).map(toJob);
    const simple = jobs.filter(
      ({ row, body, state }) =>
        row.nextAt! > now &&
        body.payload.kind !== "hook" &&
        body.deleteAfterRun !== true &&
        state.running === undefined,
    );
    await Promise.all(simple.map((job) => fireSafely(job, job.row.nextAt!, true)));
  }

  return {
    /**
     * Reckons the dates that come after slots which are soon due. They are remembered, so that a thousand jobs of one
     * moment do not wait for each other's calendars.
     */
    async foresee(until: number): Promise<void> {
      const soon = await store().schedules.due(KIND, until, FORESEEN);
      if (soon.length < BURST) return;
      for (const [i, row] of soon.entries()) {
        if (i % 20 === 19) await new Promise((resolve) => setImmediate(resolve));
        const { state, body } = toJob(row);
        nextSlot(row.id, body, state.slotAt ?? row.nextAt!);
      }
      const now = store().now();
      const times = soon.map(({ nextAt }) => nextAt!).filter((time) => time > now + BURST_LEAD_MS);
      for (let i = 0; i + BURST <= times.length; ) {
        // The slots of one moment, give or take: due is sorted by time.
        let end = i;
        while (end < times.length && times[end]! - times[i]! <= BURST_WIDTH_MS) end++;
        const last = times[end - 1]!;
        if (end - i >= BURST) at(times[i]! - BURST_LEAD_MS, () => takeBurst(last));
        i = end;
      }
    },
    /** Fires what is due; answers how many slots moved on. */
    async runDue(now: number): Promise<number> {
      const due = await store().schedules.due(KIND, now, BATCH);
      const done = await Promise.all(due.map((row) => fireSafely(toJob(row), now)));
      return done.filter(Boolean).length;
    },
    /** Runs a job now; its slot stays where it is. */
    async runNow(find: () => Promise<Job>): Promise<Fired> {
      const key = `cron_${randomBytes(10).toString("hex")}`;
      for (;;) {
        const job = await find();
        const now = store().now();
        const data: RunData = { jobId: job.row.id, trigger: "manual", slotAt: now, payload: job.body.payload.kind };
        const { run, delivery } = prepare(job, key, "running", now, data);
        const state = stateAfter(job, run, delivery.items[0]?.id, job.state.slotAt);
        const { nextAt, id } = job.row;
        const taken = await store().tick(
          { kind: KIND, id, expectedNext: nextAt, next: nextAt, state },
          { items: delivery.items as NewItem[], runs: [run] },
        );
        if (taken === undefined) continue;
        await announce(job, run);
        const { items: _, ...ids } = delivery;
        return { runId: run.id, ...ids };
      }
    },
  };
}

/** Fires slots: each is taken by compare-and-swap together with what it starts, so it fires once however many look. */
import { randomBytes } from "node:crypto";
import type { PluginContext } from "portico";
import type { CronFired } from "portico/cron";
import type { NewItem, Run } from "portico/store";
import {
  graceOf,
  type Job,
  KIND,
  nextSlot,
  principalOfJob,
  type RunData,
  type RunStatus,
  sessionOfJob,
  toJob,
} from "../job.ts";
import { atTime, createForesight } from "./burst.ts";
import { emitHook } from "./payload.ts";
import { prepare, slotKey, stateAfter } from "./run.ts";
import type { Settler } from "./settle.ts";

const HOOK_TIMEOUT_MS = 60_000;
/** What is fired in one go. */
const BATCH = 500;

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

export function createRunner({ ctx, settler }: RunnerOptions) {
  const store = () => ctx.use("store");

  async function isRunning({ state }: Job): Promise<boolean> {
    const { running } = state;
    if (running === undefined) return false;
    if (running.itemId === undefined) return settler.isHookRunning(running.runId);
    const item = await store().items.get(running.itemId);
    return item !== undefined && ["queued", "running", "held"].includes(item.state);
  }

  /** `failure`: why nothing could be delivered. */
  async function announce(job: Job, run: Run, failure?: Error): Promise<void> {
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
    const principal = principalOfJob(body);
    const sessionKey = data.sessionId ?? sessionOfJob(job);
    await ctx.emit("cron:fired", fired, { sessionKey, principal });
    const { payload } = body;
    if (failure) settler.hookRun(run, Promise.reject(failure));
    else if (payload.kind === "hook") {
      const work = async (): Promise<void> => {
        if (payload.event === "cron:fired") return;
        const { context: _, ...facts } = fired;
        await emitHook(
          ctx,
          payload.event,
          { ...facts, ...payload.context },
          { timeoutMs: body.timeoutMs ?? HOOK_TIMEOUT_MS, principal },
        );
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
    const next =
      following === undefined || following.slotAt > now ? following : nextSlot(row.id, body, now);
    const data: RunData = {
      jobId: row.id,
      trigger: "schedule",
      slotAt,
      payload: body.payload.kind,
    };
    let status: RunStatus = "running";
    const late = now - row.nextAt!;
    if (body.missed === "skip" && late > graceOf(job, slotAt)) {
      status = "missed";
      data.reason = `due ${Math.round(late / 1000)} s ago, while the gateway was not running`;
    } else if (body.overlap === "skip" && (await isRunning(job))) {
      status = "skipped";
      data.reason = "the run before it was still going";
    }
    const { run, delivery, failure } = prepare(ctx, {
      job,
      key: slotKey(row.id, slotAt),
      status,
      at: now,
      data,
    });
    // What is taken ahead of its time waits for it in the queue.
    const items: NewItem[] = ahead
      ? delivery.items.map((item) => ({ ...item, runAt: now }))
      : delivery.items;
    const taken = await store().tick(
      {
        kind: KIND,
        id: row.id,
        expectedNext: row.nextAt,
        next: next?.nextAt ?? null,
        state: stateAfter(job, run, next?.slotAt),
        enabled: next ? undefined : false,
      },
      { items, runs: [run] },
    );
    if (taken === undefined) return false;
    if (ahead) atTime(ctx, now, () => announce(job, run, failure));
    else if (status === "running") await announce(job, run, failure);
    else ctx.log.warn({ job: row.name, reason: data.reason }, `cron slot ${status}`);
    return true;
  }

  async function fireSafely(job: Job, now: number, ahead = false): Promise<boolean> {
    try {
      await fireSlot(job, now, ahead);
      return true;
    } catch (error) {
      ctx.log.error(
        { err: error, job: job.row.name },
        "cron slot could not be fired; it will be tried again",
      );
      return false;
    }
  }

  return {
    /** Looks ahead for many slots of one moment. */
    foresee: createForesight(ctx, (job) => fireSafely(job, job.row.nextAt!, true)),
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
        const data: RunData = {
          jobId: job.row.id,
          trigger: "manual",
          slotAt: now,
          payload: job.body.payload.kind,
        };
        const { run, delivery, failure } = prepare(ctx, {
          job,
          key,
          status: "running",
          at: now,
          data,
        });
        if (failure) throw failure;
        const state = stateAfter(job, run, job.state.slotAt);
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

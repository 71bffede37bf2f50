/**
 * Fires slots. A compare-and-swap takes a slot together with the work it starts, so it fires once even with several
 * gateways.
 */
import { randomBytes } from "node:crypto";
import type { PluginContext } from "portico";
import type { CronFired } from "portico/cron";
import type { NewItem, Run, Store } from "portico/store";
import {
  graceOf,
  type Job,
  KIND,
  nextSlot,
  principalOfJob,
  type RunData,
  type RunningRun,
  type RunStatus,
  sessionOfJob,
  toJob,
} from "../job.ts";
import { atTime, createForesight } from "./burst.ts";
import { emitHook } from "./payload.ts";
import { type PreparedRun, prepareRun, createSlotKey, computeState } from "./run.ts";
import type { Settler } from "./settle.ts";

const HOOK_TIMEOUT_MS = 60_000;
/** The number of slots that are fired in one round. */
const BATCH = 500;

export interface RunnerOptions {
  ctx: PluginContext;
  settler: Settler;
}
export interface FiredRun {
  runId: string;
  eventId?: string;
  turnId?: string;
  sessionId?: string;
}

/** A slot of a job that is due, or that will be due soon if `isAhead` is set. */
interface DueSlot {
  job: Job;
  slotAt: number;
  now: number;
  isAhead: boolean;
}

export function createRunner(options: RunnerOptions): Runner {
  return new Runner(options);
}

/** The operations are properties, so that the loop can use them without their object. */
export class Runner {
  readonly #ctx: PluginContext;
  readonly #settler: Settler;
  /** Looks ahead for bursts of slots, until the given time. */
  readonly foresee: (until: number) => Promise<void>;

  constructor({ ctx, settler }: RunnerOptions) {
    this.#ctx = ctx;
    this.#settler = settler;
    this.foresee = createForesight(ctx, (job) => this.#fireSafely(job, job.row.nextAt!, true));
  }

  get #store(): Store {
    return this.#ctx.use("store");
  }

  /** Fires the slots that are due. Returns how many of them were processed. */
  readonly runDue = async (now: number): Promise<number> => {
    const dueRows = await this.#store.schedules.due(KIND, now, BATCH);
    const results = await Promise.all(dueRows.map((row) => this.#fireSafely(toJob(row), now)));
    return results.filter(Boolean).length;
  };

  /** Runs a job now, without changing its next slot. */
  readonly runNow = async (find: () => Promise<Job>): Promise<FiredRun> => {
    const key = `cron_${randomBytes(10).toString("hex")}`;
    for (;;) {
      const result = await this.#runOnce(await find(), key);
      if (result !== undefined) return result;
    }
  };

  /** Returns undefined if the job changed in the meantime, so that it has to be read again. */
  async #runOnce(job: Job, key: string): Promise<FiredRun | undefined> {
    const at = this.#store.now();
    const data: RunData = {
      jobId: job.row.id,
      trigger: "manual",
      slotAt: at,
      payload: job.body.payload.kind,
    };
    const prepared = prepareRun(this.#ctx, { job, key, status: "running", at, data });
    const { run, delivery, failure } = prepared;
    if (failure) throw failure;
    const state = computeState(job, run, job.state.slotAt);
    const { nextAt, id, rev } = job.row;
    const { items, ...ids } = delivery;
    const newRev = await this.#store.commitSchedule(
      { kind: KIND, id, expectedRev: rev, next: nextAt, state },
      { items: items as NewItem[], runs: [run] },
    );
    if (newRev === undefined) return undefined;
    await this.#announce(job, run);
    return { runId: run.id, ...ids };
  }

  async #fireSafely(job: Job, now: number, isAhead = false): Promise<boolean> {
    try {
      const slotAt = job.state.slotAt ?? job.row.nextAt!;
      await this.#fireSlot({ job, slotAt, now, isAhead });
      return true;
    } catch (error) {
      this.#ctx.log.error(
        { err: error, job: job.row.name },
        "a due cron job could not be started; the gateway will try again",
      );
      return false;
    }
  }

  async #fireSlot(slot: DueSlot): Promise<void> {
    const { job, slotAt, now, isAhead } = slot;
    const { row } = job;
    const { status, reason } = await this.#judge(slot);
    const data: RunData = {
      jobId: row.id,
      trigger: "schedule",
      slotAt,
      payload: job.body.payload.kind,
      ...(reason !== undefined && { reason }),
    };
    const key = createSlotKey(row.id, slotAt);
    const prepared = prepareRun(this.#ctx, { job, key, status, at: now, data });
    if (!(await this.#takeSlot(slot, prepared))) return;
    const { run, failure } = prepared;
    if (isAhead) atTime(this.#ctx, now, () => this.#announce(job, run, failure));
    else if (status === "running") await this.#announce(job, run, failure);
    else this.#ctx.log.warn({ job: row.name, reason }, `a due cron run was ${status}`);
  }

  /** Decides whether a slot fires (`running`). Returns the reason if it does not. */
  async #judge({ job, slotAt, now }: DueSlot): Promise<{ status: RunStatus; reason?: string }> {
    const { row, body } = job;
    const lateMs = now - row.nextAt!;
    if (body.missed === "skip" && lateMs > graceOf(job, slotAt)) {
      const seconds = Math.round(lateMs / 1000);
      const reason = `due ${seconds} s ago, while the gateway was not running`;
      return { status: "missed", reason };
    }
    if (body.overlap === "skip" && (await this.#hasRunInProgress(job)))
      return { status: "skipped", reason: "the previous run was still in progress" };
    return { status: "running" };
  }

  async #hasRunInProgress({ state }: Job): Promise<boolean> {
    for (const run of state.running) if (await this.#isInProgress(run)) return true;
    return false;
  }

  /** Looks at the work itself, because its end is recorded in the job's state a moment later. */
  async #isInProgress({ runId, itemId }: RunningRun): Promise<boolean> {
    if (itemId === undefined) return this.#settler.isHookRunning(runId);
    const item = await this.#store.items.get(itemId);
    return item !== undefined && ["queued", "running", "held"].includes(item.state);
  }

  /**
   * Moves the job to its next slot and writes the work of this one, in one transaction. Returns false if another
   * gateway took the slot, or if the job changed in the meantime, so that the slot is still due. The condition is the
   * revision, not the slot, because the new state must not undo the start or the end of another run.
   */
  async #takeSlot({ job, slotAt, now, isAhead }: DueSlot, prepared: PreparedRun): Promise<boolean> {
    const { run, delivery } = prepared;
    const { row } = job;
    const next = findNextSlot(job, slotAt, now);
    // Items of a slot that is taken ahead wait for its time in the queue.
    const items: NewItem[] = isAhead
      ? delivery.items.map((item) => ({ ...item, runAt: now }))
      : delivery.items;
    const newRev = await this.#store.commitSchedule(
      {
        kind: KIND,
        id: row.id,
        expectedRev: row.rev,
        next: next?.nextAt ?? null,
        state: computeState(job, run, next?.slotAt),
        enabled: next ? undefined : false,
      },
      { items, runs: [run] },
    );
    return newRev !== undefined;
  }

  /** Emits the events of a run. `failure` is the reason for which its payload could not be delivered. */
  async #announce(job: Job, run: Run, failure?: Error): Promise<void> {
    const { row, body } = job;
    const event = toFiredEvent(job, run);
    const { sessionId } = run.data as RunData;
    await this.#ctx.emit("cron:fired", event, {
      sessionKey: sessionId ?? sessionOfJob(job),
      principal: principalOfJob(body),
    });
    if (failure) this.#settler.followHook(run, Promise.reject(failure));
    else if (body.payload.kind === "hook") this.#settler.followHook(run, this.#runHook(job, event));
    if (body.deleteAfterRun && run.status === "ok") await this.#settler.removeIfFinished(row.id);
  }

  /** Emits the event that a job's payload names. `cron:fired` itself was emitted before. */
  async #runHook({ body }: Job, event: CronFired): Promise<void> {
    const { payload } = body;
    if (payload.kind !== "hook" || payload.event === "cron:fired") return;
    const { context: _, ...facts } = event;
    const context = { ...facts, ...payload.context };
    const timeoutMs = body.timeoutMs ?? HOOK_TIMEOUT_MS;
    await emitHook(this.#ctx, payload.event, context, {
      timeoutMs,
      principal: principalOfJob(body),
    });
  }
}

/** Returns the next slot. It is later than `slotAt` even if the clock went back, so that no slot fires twice. */
function findNextSlot({ row, body }: Job, slotAt: number, now: number) {
  const next = nextSlot(row.id, body, slotAt);
  return next === undefined || next.slotAt > now ? next : nextSlot(row.id, body, now);
}

function toFiredEvent({ row, body }: Job, run: Run): CronFired {
  const data = run.data as RunData;
  return {
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
}

/** Fires slots: each is taken by compare-and-swap together with what it starts, so it fires once however many look. */
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
  type RunStatus,
  sessionOfJob,
  toJob,
} from "../job.ts";
import { atTime, createForesight } from "./burst.ts";
import { emitHook } from "./payload.ts";
import { type Prepared, prepare, slotKey, stateAfter } from "./run.ts";
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

/** A slot of a job that is due, or with `ahead` soon will be. */
interface DueSlot {
  job: Job;
  slotAt: number;
  now: number;
  ahead: boolean;
}

export function createRunner(options: RunnerOptions): Runner {
  return new Runner(options);
}

/** The operations are properties, so that the loop of due times can take them singly. */
export class Runner {
  readonly #ctx: PluginContext;
  readonly #settler: Settler;
  /** Looks ahead for many slots of one moment. */
  readonly foresee: (until: number) => Promise<void>;

  constructor({ ctx, settler }: RunnerOptions) {
    this.#ctx = ctx;
    this.#settler = settler;
    this.foresee = createForesight(ctx, (job) => this.#fireSafely(job, job.row.nextAt!, true));
  }

  get #store(): Store {
    return this.#ctx.use("store");
  }

  /** Fires what is due; answers how many slots moved on. */
  readonly runDue = async (now: number): Promise<number> => {
    const due = await this.#store.schedules.due(KIND, now, BATCH);
    const done = await Promise.all(due.map((row) => this.#fireSafely(toJob(row), now)));
    return done.filter(Boolean).length;
  };

  /** Runs a job now; its slot stays where it is. */
  readonly runNow = async (find: () => Promise<Job>): Promise<Fired> => {
    const key = `cron_${randomBytes(10).toString("hex")}`;
    for (;;) {
      const fired = await this.#runOnce(await find(), key);
      if (fired !== undefined) return fired;
    }
  };

  /** Undefined where the job changed meanwhile, so that it has to be read again. */
  async #runOnce(job: Job, key: string): Promise<Fired | undefined> {
    const at = this.#store.now();
    const data: RunData = {
      jobId: job.row.id,
      trigger: "manual",
      slotAt: at,
      payload: job.body.payload.kind,
    };
    const prepared = prepare(this.#ctx, { job, key, status: "running", at, data });
    const { run, delivery, failure } = prepared;
    if (failure) throw failure;
    const state = stateAfter(job, run, job.state.slotAt);
    const { nextAt, id } = job.row;
    const { items, ...ids } = delivery;
    const moved = await this.#store.tick(
      { kind: KIND, id, expectedNext: nextAt, next: nextAt, state },
      { items: items as NewItem[], runs: [run] },
    );
    if (moved === undefined) return undefined;
    await this.#announce(job, run);
    return { runId: run.id, ...ids };
  }

  async #fireSafely(job: Job, now: number, ahead = false): Promise<boolean> {
    try {
      const slotAt = job.state.slotAt ?? job.row.nextAt!;
      await this.#fireSlot({ job, slotAt, now, ahead });
      return true;
    } catch (error) {
      this.#ctx.log.error(
        { err: error, job: job.row.name },
        "cron slot could not be fired; it will be tried again",
      );
      return false;
    }
  }

  async #fireSlot(slot: DueSlot): Promise<void> {
    const { job, slotAt, now, ahead } = slot;
    const { row } = job;
    const { status, reason } = await this.#judge(slot);
    const data: RunData = {
      jobId: row.id,
      trigger: "schedule",
      slotAt,
      payload: job.body.payload.kind,
      ...(reason !== undefined && { reason }),
    };
    const key = slotKey(row.id, slotAt);
    const prepared = prepare(this.#ctx, { job, key, status, at: now, data });
    if (!(await this.#takeSlot(slot, prepared))) return; // another gateway was faster
    const { run, failure } = prepared;
    if (ahead) atTime(this.#ctx, now, () => this.#announce(job, run, failure));
    else if (status === "running") await this.#announce(job, run, failure);
    else this.#ctx.log.warn({ job: row.name, reason }, `cron slot ${status}`);
  }

  /** Decides whether a slot fires (`running`), and if not, why. */
  async #judge({ job, slotAt, now }: DueSlot): Promise<{ status: RunStatus; reason?: string }> {
    const { row, body } = job;
    const late = now - row.nextAt!;
    if (body.missed === "skip" && late > graceOf(job, slotAt)) {
      const seconds = Math.round(late / 1000);
      const reason = `due ${seconds} s ago, while the gateway was not running`;
      return { status: "missed", reason };
    }
    if (body.overlap === "skip" && (await this.#isRunning(job)))
      return { status: "skipped", reason: "the previous run had not ended" };
    return { status: "running" };
  }

  async #isRunning({ state }: Job): Promise<boolean> {
    const { running } = state;
    if (running === undefined) return false;
    if (running.itemId === undefined) return this.#settler.isHookRunning(running.runId);
    const item = await this.#store.items.get(running.itemId);
    return item !== undefined && ["queued", "running", "held"].includes(item.state);
  }

  /** Moves the job on and writes what the slot starts, in one transaction. False if another gateway took the slot. */
  async #takeSlot({ job, slotAt, now, ahead }: DueSlot, prepared: Prepared): Promise<boolean> {
    const { run, delivery } = prepared;
    const { row } = job;
    const next = nextAfter(job, slotAt, now);
    // What is taken ahead of its time waits for it in the queue.
    const items: NewItem[] = ahead
      ? delivery.items.map((item) => ({ ...item, runAt: now }))
      : delivery.items;
    const moved = await this.#store.tick(
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
    return moved !== undefined;
  }

  /** `failure`: why nothing could be delivered. */
  async #announce(job: Job, run: Run, failure?: Error): Promise<void> {
    const { row, body } = job;
    const fired = firedEvent(job, run);
    const { sessionId } = run.data as RunData;
    await this.#ctx.emit("cron:fired", fired, {
      sessionKey: sessionId ?? sessionOfJob(job),
      principal: principalOfJob(body),
    });
    if (failure) this.#settler.hookRun(run, Promise.reject(failure));
    else if (body.payload.kind === "hook") this.#settler.hookRun(run, this.#runHook(job, fired));
    if (body.deleteAfterRun && run.status === "ok") await this.#settler.removeIfOver(row.id);
  }

  /** Emits the event that a job's payload names. `cron:fired` itself has been emitted already. */
  async #runHook({ body }: Job, fired: CronFired): Promise<void> {
    const { payload } = body;
    if (payload.kind !== "hook" || payload.event === "cron:fired") return;
    const { context: _, ...facts } = fired;
    const context = { ...facts, ...payload.context };
    const timeoutMs = body.timeoutMs ?? HOOK_TIMEOUT_MS;
    await emitHook(this.#ctx, payload.event, context, {
      timeoutMs,
      principal: principalOfJob(body),
    });
  }
}

/** The slot after the one that is due. After a clock that went back it still lies after it, so no slot comes twice. */
function nextAfter({ row, body }: Job, slotAt: number, now: number) {
  const following = nextSlot(row.id, body, slotAt);
  return following === undefined || following.slotAt > now
    ? following
    : nextSlot(row.id, body, now);
}

function firedEvent({ row, body }: Job, run: Run): CronFired {
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

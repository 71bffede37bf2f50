/** Ends runs: when a turn has ended (here or in another gateway), when a hook has, and after a crash. */
import type { PluginContext } from "portico";
import type { CronFailed } from "portico/cron";
import type { Run, Schedule, Store } from "portico/store";
import {
  type Job,
  type JobState,
  KIND,
  nextSlot,
  type RunData,
  type RunStatus,
  toJob,
  principalOfJob,
  sessionOfJob,
} from "../job.ts";

const BACKOFF_MS = [30_000, 60_000, 300_000, 900_000, 3_600_000];
/** How long a run waits for a turn that no longer exists, or for a hook of a process that has ended. */
const LOST_AFTER_MS = 60_000;
const RESULT_CHARS = 2_000;

export interface SettlerOptions {
  ctx: PluginContext;
  maxErrors(): number;
  keepRuns(): number;
  drop(id: string): Promise<void>;
}

interface End {
  status: RunStatus;
  error?: string;
  result?: string;
  endedAt: number;
}

export function createSettler(options: SettlerOptions): Settler {
  return new Settler(options);
}

/** The operations are properties, so that they can be passed on singly. */
export class Settler {
  readonly #options: SettlerOptions;
  /** Runs of hooks that this process follows, by id. */
  readonly #hooks = new Set<string>();

  constructor(options: SettlerOptions) {
    this.#options = options;
  }

  get #store(): Store {
    return this.#options.ctx.use("store");
  }

  readonly isHookRunning = (runId: string): boolean => this.#hooks.has(runId);

  /** Follows the handlers of a hook's run to their end. */
  readonly hookRun = (run: Run, work: Promise<void>): void => {
    const { ctx } = this.#options;
    this.#hooks.add(run.id);
    const ended = work
      .then(
        (): End => ({ status: "ok", endedAt: this.#store.now() }),
        (error: Error & { code?: string }): End => ({
          status: error.code === "timeout" ? "timeout" : "error",
          error: error.message,
          endedAt: this.#store.now(),
        }),
      )
      .then((end) => this.#settle(run, end))
      .catch((error: unknown) =>
        ctx.log.error({ err: error, run: run.id }, "the end of a cron run could not be recorded"),
      )
      .finally(() => this.#hooks.delete(run.id));
    void ctx.busy(ended);
  };

  /** A turn has ended: ends its run, where a job started it. */
  readonly turnEnded = async (turnId: string): Promise<void> => {
    if (!turnId.startsWith("turn_cron_")) return;
    const run = await this.#store.runs.get(`run_${turnId.slice("turn_".length)}`);
    if (run?.status === "running") await this.#look(run);
  };

  /** Ends what ended unseen: in another gateway, or while none was running. */
  readonly sweep = async (): Promise<void> => {
    for (const run of await this.#store.runs.list({ status: "running", limit: 1_000 })) {
      if (run.owner.startsWith(`${KIND}:`)) await this.#look(run);
    }
  };

  /** Removes a job made with `deleteAfterRun` once no date of it is to come. */
  readonly removeIfOver = async (id: string): Promise<void> => {
    const row = await this.#store.schedules.get(KIND, id);
    const isOver = row && row.nextAt === null && toJob(row).body.source !== "config";
    if (isOver) await this.#options.drop(id);
  };

  /** Ends a run whose turn or hook has ended, or is lost. */
  async #look(run: Run): Promise<void> {
    const end =
      run.itemId === undefined ? this.#endOfHook(run) : await this.#endOfTurn(run, run.itemId);
    if (end) await this.#settle(run, end);
  }

  #endOfHook(run: Run): End | undefined {
    if (this.#hooks.has(run.id)) return undefined;
    return this.#endIfLost(run, "the gateway stopped during the run");
  }

  async #endOfTurn(run: Run, turnId: string): Promise<End | undefined> {
    const turn = await this.#options.ctx.use("agent").turn(turnId);
    if (turn === undefined) return this.#endIfLost(run, "the store no longer has the turn");
    const { state, finishedAt, result, error } = turn;
    if (["queued", "running", "waiting"].includes(state)) return undefined;
    const endedAt = finishedAt === undefined ? this.#store.now() : Date.parse(finishedAt);
    if (state === "done") return { status: "ok", endedAt, result };
    const failure = error?.code === "timeout" ? "timeout" : "error";
    const status = state === "cancelled" ? "cancelled" : failure;
    return { status, endedAt, error: error?.message ?? `the turn is ${state}` };
  }

  #endIfLost(run: Run, error: string): End | undefined {
    const now = this.#store.now();
    if (now - run.at < LOST_AFTER_MS) return undefined;
    return { status: "interrupted", error, endedAt: now };
  }

  async #settle(run: Run, end: End): Promise<void> {
    const data: RunData = {
      ...(run.data as RunData),
      error: end.error,
      result: end.result?.slice(0, RESULT_CHARS),
    };
    const ended: Run = { ...run, status: end.status, endedAt: end.endedAt, data };
    for (;;) {
      const row = await this.#store.schedules.get(KIND, data.jobId);
      if (!row) {
        await this.#store.runs.prune(`${KIND}:${data.jobId}`, 0);
        return;
      }
      const stored = await this.#store.runs.get(run.id);
      if (stored?.status !== "running") return; // another gateway was faster
      if (await this.#endRun(toJob(row), ended, end)) return;
    }
  }

  /** False where the job changed meanwhile, so that it has to be read again. */
  async #endRun(job: Job, run: Run, end: End): Promise<boolean> {
    const { row } = job;
    const isOk = end.status === "ok";
    const state = stateAfterEnd(job, run, end);
    const { enabled, nextAt } = isOk ? row : this.#afterFailure(job, state, end);
    const moved = await this.#store.tick(
      { kind: KIND, id: row.id, expectedNext: row.nextAt, next: nextAt, state, enabled },
      { runs: [run] },
    );
    if (moved === undefined) return false;
    if (state.fired % 10 === 0) await this.#store.runs.prune(run.owner, this.#options.keepRuns());
    if (!isOk) await this.#announceFailure(job, run, state, row.enabled && !enabled);
    else if (job.body.deleteAfterRun) await this.removeIfOver(row.id);
    return true;
  }

  /** What a failure makes of a job: it waits longer, or is disabled. */
  #afterFailure(job: Job, state: JobState, end: End): Pick<Schedule, "enabled" | "nextAt"> {
    const { row, body } = job;
    state.consecutiveErrors++;
    state.lastError = end.error ?? end.status;
    const limit = body.maxErrors ?? this.#options.maxErrors();
    if (limit > 0 && state.consecutiveErrors >= limit) {
      state.disabledReason = `failed ${state.consecutiveErrors} times in a row, last with: ${state.lastError}`;
      return { enabled: false, nextAt: null };
    }
    if (row.nextAt === null || body.schedule.kind === "at") return row;
    const step = Math.min(state.consecutiveErrors, BACKOFF_MS.length) - 1;
    const earliest = end.endedAt + BACKOFF_MS[step]!;
    const later = row.nextAt < earliest ? nextSlot(row.id, body, earliest) : undefined;
    if (later) state.slotAt = later.slotAt;
    return { enabled: row.enabled, nextAt: later?.nextAt ?? row.nextAt };
  }

  async #announceFailure(job: Job, run: Run, state: JobState, disabled: boolean): Promise<void> {
    const { ctx } = this.#options;
    const { row } = job;
    const { slotAt, turnId, sessionId } = run.data as RunData;
    if (disabled)
      ctx.log.error(
        { job: row.name, reason: state.disabledReason },
        "a cron job was disabled after failures in a row",
      );
    const failed: CronFailed = {
      jobId: row.id,
      name: row.name ?? row.id,
      runId: run.id,
      scheduledAt: new Date(slotAt).toISOString(),
      failedAt: new Date(run.endedAt!).toISOString(),
      status: run.status,
      error: state.lastError!,
      turnId,
      consecutiveErrors: state.consecutiveErrors,
      disabled,
    };
    await ctx.emit("cron:failed", failed, {
      sessionKey: sessionId ?? sessionOfJob(job),
      principal: principalOfJob(job.body),
    });
  }
}

/** The state of a job whose run has ended, before a failure is counted. */
function stateAfterEnd(job: Job, run: Run, end: End): JobState {
  const state: JobState = {
    ...job.state,
    lastStatus: end.status,
    lastDurationMs: end.endedAt - run.at,
  };
  if (state.running?.runId === run.id) delete state.running;
  if (end.status === "ok") Object.assign(state, { consecutiveErrors: 0, lastError: undefined });
  return state;
}

/** Ends runs when their turn (here or in another gateway) or their hook has ended, and after a crash. */
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
/** A run whose turn no longer exists, or whose hook's process has ended, counts as lost after this time. */
const LOST_AFTER_MS = 60_000;
const RESULT_CHARS = 2_000;

export interface SettlerOptions {
  ctx: PluginContext;
  maxErrors(): number;
  keepRuns(): number;
  drop(id: string): Promise<void>;
}

interface RunEnd {
  status: RunStatus;
  error?: string;
  result?: string;
  endedAt: number;
}

export function createSettler(options: SettlerOptions): Settler {
  return new Settler(options);
}

/** The operations are properties, so that they can be passed on without their object. */
export class Settler {
  readonly #options: SettlerOptions;
  /** The ids of the runs whose hooks are running in this process. */
  readonly #hooks = new Set<string>();

  constructor(options: SettlerOptions) {
    this.#options = options;
  }

  get #store(): Store {
    return this.#options.ctx.use("store");
  }

  readonly isHookRunning = (runId: string): boolean => this.#hooks.has(runId);

  /** Waits for the handlers of a hook's run, and records its end. */
  readonly followHook = (run: Run, work: Promise<void>): void => {
    const { ctx } = this.#options;
    this.#hooks.add(run.id);
    const recording = work
      .then(
        (): RunEnd => ({ status: "ok", endedAt: this.#store.now() }),
        (error: Error & { code?: string }): RunEnd => ({
          status: error.code === "timeout" ? "timeout" : "error",
          error: error.message,
          endedAt: this.#store.now(),
        }),
      )
      .then((end) => this.#settle(run, end))
      .catch((error: unknown) =>
        ctx.log.error({ err: error, run: run.id }, "the outcome of a cron run could not be saved"),
      )
      .finally(() => this.#hooks.delete(run.id));
    void ctx.busy(recording);
  };

  /** Ends the run of a turn that has ended, if a job started it. */
  readonly settleTurn = async (turnId: string): Promise<void> => {
    if (!turnId.startsWith("turn_cron_")) return;
    const run = await this.#store.runs.get(`run_${turnId.slice("turn_".length)}`);
    if (run?.status === "running") await this.#endIfOver(run);
  };

  /** Ends runs whose end this process did not notice, because it came in another gateway, or while no gateway ran. */
  readonly sweep = async (): Promise<void> => {
    for (const run of await this.#store.runs.list({ status: "running", limit: 1_000 })) {
      if (run.owner.startsWith(`${KIND}:`)) await this.#endIfOver(run);
    }
  };

  /** Removes a job that was created with `deleteAfterRun` once it has no more dates, and no run in progress. */
  readonly removeIfFinished = async (id: string): Promise<void> => {
    const row = await this.#store.schedules.get(KIND, id);
    if (!row || row.nextAt !== null) return;
    const { body, state } = toJob(row);
    const isOver = body.source !== "config" && state.running.length === 0;
    if (isOver) await this.#options.drop(id);
  };

  /** Ends a run whose turn or hook has ended, or is lost. */
  async #endIfOver(run: Run): Promise<void> {
    const end =
      run.itemId === undefined ? this.#endOfHook(run) : await this.#endOfTurn(run, run.itemId);
    if (end) await this.#settle(run, end);
  }

  #endOfHook(run: Run): RunEnd | undefined {
    if (this.#hooks.has(run.id)) return undefined;
    return this.#endIfLost(run, "the gateway stopped during the run");
  }

  async #endOfTurn(run: Run, turnId: string): Promise<RunEnd | undefined> {
    const turn = await this.#options.ctx.use("agent").turn(turnId);
    if (turn === undefined) return this.#endIfLost(run, "the turn is no longer in the store");
    const { state, finishedAt, result, error } = turn;
    if (["queued", "running", "waiting"].includes(state)) return undefined;
    const endedAt = finishedAt === undefined ? this.#store.now() : Date.parse(finishedAt);
    if (state === "done") return { status: "ok", endedAt, result };
    const failure = error?.code === "timeout" ? "timeout" : "error";
    const status = state === "cancelled" ? "cancelled" : failure;
    return { status, endedAt, error: error?.message ?? `the turn ended in the state ${state}` };
  }

  #endIfLost(run: Run, error: string): RunEnd | undefined {
    const now = this.#store.now();
    if (now - run.at < LOST_AFTER_MS) return undefined;
    return { status: "interrupted", error, endedAt: now };
  }

  async #settle(run: Run, end: RunEnd): Promise<void> {
    const data: RunData = {
      ...(run.data as RunData),
      error: end.error,
      result: end.result?.slice(0, RESULT_CHARS),
    };
    const endedRun: Run = { ...run, status: end.status, endedAt: end.endedAt, data };
    for (;;) {
      const row = await this.#store.schedules.get(KIND, data.jobId);
      if (!row) {
        await this.#store.runs.prune(`${KIND}:${data.jobId}`, 0);
        return;
      }
      const storedRun = await this.#store.runs.get(run.id);
      if (storedRun?.status !== "running") return; // Another gateway was faster.
      if (await this.#endRun(toJob(row), endedRun, end)) return;
    }
  }

  /** Returns false if the job changed in the meantime, so that it has to be read again. */
  async #endRun(job: Job, run: Run, end: RunEnd): Promise<boolean> {
    const { row } = job;
    const isOk = end.status === "ok";
    const state = computeStateAfterEnd(job, run, end);
    const { enabled, nextAt } = isOk ? row : this.#afterFailure(job, state, end);
    const newRev = await this.#store.commitSchedule(
      { kind: KIND, id: row.id, expectedRev: row.rev, next: nextAt, state, enabled },
      { runs: [run] },
    );
    if (newRev === undefined) return false;
    if (state.fired % 10 === 0) await this.#store.runs.prune(run.owner, this.#options.keepRuns());
    if (!isOk) await this.#announceFailure(job, run, state, row.enabled && !enabled);
    else if (job.body.deleteAfterRun) await this.removeIfFinished(row.id);
    return true;
  }

  /** Counts a failure. Returns a later slot for the job, or disables it after too many failures. */
  #afterFailure(job: Job, state: JobState, end: RunEnd): Pick<Schedule, "enabled" | "nextAt"> {
    const { row, body } = job;
    state.consecutiveErrors++;
    state.lastError = end.error ?? end.status;
    const limit = body.maxErrors ?? this.#options.maxErrors();
    if (limit > 0 && state.consecutiveErrors >= limit) {
      state.disabledReason = `failed ${state.consecutiveErrors} times in a row; last error: ${state.lastError}`;
      return { enabled: false, nextAt: null };
    }
    if (row.nextAt === null || body.schedule.kind === "at") return row;
    const step = Math.min(state.consecutiveErrors, BACKOFF_MS.length) - 1;
    const earliest = end.endedAt + BACKOFF_MS[step]!;
    const laterSlot = row.nextAt < earliest ? nextSlot(row.id, body, earliest) : undefined;
    if (laterSlot) state.slotAt = laterSlot.slotAt;
    return { enabled: row.enabled, nextAt: laterSlot?.nextAt ?? row.nextAt };
  }

  async #announceFailure(
    job: Job,
    run: Run,
    state: JobState,
    isNowDisabled: boolean,
  ): Promise<void> {
    const { ctx } = this.#options;
    const { row } = job;
    const { slotAt, turnId, sessionId } = run.data as RunData;
    if (isNowDisabled)
      ctx.log.error(
        { job: row.name, reason: state.disabledReason },
        "a cron job was disabled after repeated failures",
      );
    const event: CronFailed = {
      jobId: row.id,
      name: row.name ?? row.id,
      runId: run.id,
      scheduledAt: new Date(slotAt).toISOString(),
      failedAt: new Date(run.endedAt!).toISOString(),
      status: run.status,
      error: state.lastError!,
      turnId,
      consecutiveErrors: state.consecutiveErrors,
      disabled: isNowDisabled,
    };
    await ctx.emit("cron:failed", event, {
      sessionKey: sessionId ?? sessionOfJob(job),
      principal: principalOfJob(job.body),
    });
  }
}

/** The state of a job whose run has ended, before a failure is counted. */
function computeStateAfterEnd(job: Job, run: Run, end: RunEnd): JobState {
  const state: JobState = {
    ...job.state,
    lastStatus: end.status,
    lastDurationMs: end.endedAt - run.at,
    running: job.state.running.filter(({ runId }) => runId !== run.id),
  };
  if (end.status === "ok") Object.assign(state, { consecutiveErrors: 0, lastError: undefined });
  return state;
}

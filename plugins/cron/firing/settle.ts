/** Ends runs: when a turn has ended (here or in another gateway), when a hook has, and after a crash. */
import type { PluginContext } from "portico";
import type { CronFailed } from "portico/cron";
import type { Run, Schedule } from "portico/store";
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
/** A turn that nobody can find any more, or a hook's run of a process that is gone, is given up after this. */
const LOST_AFTER_MS = 60_000;
const RESULT_CHARS = 2_000;

export interface SettlerOptions {
  ctx: PluginContext;
  maxErrors(): number;
  keepRuns(): number;
  drop(id: string): Promise<void>;
}
export type Settler = ReturnType<typeof createSettler>;

interface End {
  status: RunStatus;
  error?: string;
  result?: string;
  endedAt: number;
}

export function createSettler({ ctx, maxErrors, keepRuns, drop }: SettlerOptions) {
  const store = () => ctx.use("store");
  const hooks = new Set<string>();

  /** What a failure makes of a job: it waits longer, or is disabled. */
  function afterFailure(job: Job, state: JobState, end: End): Pick<Schedule, "enabled" | "nextAt"> {
    const { row, body } = job;
    state.consecutiveErrors++;
    state.lastError = end.error ?? end.status;
    const limit = body.maxErrors ?? maxErrors();
    if (limit > 0 && state.consecutiveErrors >= limit) {
      state.disabledReason = `failed ${state.consecutiveErrors} times in a row, last with: ${state.lastError}`;
      return { enabled: false, nextAt: null };
    }
    if (row.nextAt === null || body.schedule.kind === "at") return row;
    const earliest =
      end.endedAt + BACKOFF_MS[Math.min(state.consecutiveErrors, BACKOFF_MS.length) - 1]!;
    const later = row.nextAt < earliest ? nextSlot(row.id, body, earliest) : undefined;
    if (later) state.slotAt = later.slotAt;
    return { enabled: row.enabled, nextAt: later?.nextAt ?? row.nextAt };
  }

  async function settle(run: Run, end: End): Promise<void> {
    const data: RunData = {
      ...(run.data as RunData),
      error: end.error,
      result: end.result?.slice(0, RESULT_CHARS),
    };
    const ended: Run = { ...run, status: end.status, endedAt: end.endedAt, data };
    for (;;) {
      const row = await store().schedules.get(KIND, data.jobId);
      if (!row) {
        await store().runs.prune(`${KIND}:${data.jobId}`, 0);
        return;
      }
      const job = toJob(row);
      if ((await store().runs.get(run.id))?.status !== "running") return; // another gateway was faster
      const state: JobState = {
        ...job.state,
        lastStatus: end.status,
        lastDurationMs: end.endedAt - run.at,
      };
      if (state.running?.runId === run.id) delete state.running;
      const isOk = end.status === "ok";
      if (isOk) Object.assign(state, { consecutiveErrors: 0, lastError: undefined });
      const { enabled, nextAt } = isOk ? row : afterFailure(job, state, end);
      const moved = await store().tick(
        { kind: KIND, id: row.id, expectedNext: row.nextAt, next: nextAt, state, enabled },
        { runs: [ended] },
      );
      if (moved === undefined) continue;
      if (state.fired % 10 === 0) await store().runs.prune(run.owner, keepRuns());
      if (!isOk) await announceFailure(job, ended, state, row.enabled && !enabled);
      else if (job.body.deleteAfterRun) await removeIfOver(row.id);
      return;
    }
  }

  async function announceFailure(
    job: Job,
    run: Run,
    state: JobState,
    disabled: boolean,
  ): Promise<void> {
    const { row } = job;
    const { slotAt, turnId, sessionId } = run.data as RunData;
    if (disabled)
      ctx.log.error({ job: row.name, reason: state.disabledReason }, "cron job disabled itself");
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

  /** Removes a job made with `deleteAfterRun` once no date of it is to come. */
  async function removeIfOver(id: string): Promise<void> {
    const row = await store().schedules.get(KIND, id);
    if (row && row.nextAt === null && toJob(row).body.source !== "config") await drop(id);
  }

  /** Ends a run whose turn or hook has ended, or is lost. */
  async function look(run: Run): Promise<void> {
    const end = run.itemId === undefined ? endOfHook(run) : await endOfTurn(run, run.itemId);
    if (end) await settle(run, end);
  }

  function endOfHook(run: Run): End | undefined {
    if (hooks.has(run.id)) return undefined;
    return endIfLost(run, "the gateway stopped during the run");
  }

  async function endOfTurn(run: Run, turnId: string): Promise<End | undefined> {
    const turn = await ctx.use("agent").turn(turnId);
    if (turn === undefined) return endIfLost(run, "the turn is gone from the store");
    const { state, finishedAt, result, error } = turn;
    if (["queued", "running", "waiting"].includes(state)) return undefined;
    const endedAt = finishedAt === undefined ? store().now() : Date.parse(finishedAt);
    if (state === "done") return { status: "ok", endedAt, result };
    const failure = error?.code === "timeout" ? "timeout" : "error";
    const status = state === "cancelled" ? "cancelled" : failure;
    return { status, endedAt, error: error?.message ?? `the turn is ${state}` };
  }

  function endIfLost(run: Run, error: string): End | undefined {
    const now = store().now();
    if (now - run.at < LOST_AFTER_MS) return undefined;
    return { status: "interrupted", error, endedAt: now };
  }

  return {
    isHookRunning: (runId: string): boolean => hooks.has(runId),
    removeIfOver,
    /** Follows the handlers of a hook's run to their end. */
    hookRun(run: Run, work: Promise<void>): void {
      hooks.add(run.id);
      const ended = work
        .then(
          (): End => ({ status: "ok", endedAt: store().now() }),
          (error: Error & { code?: string }): End => ({
            status: error.code === "timeout" ? "timeout" : "error",
            error: error.message,
            endedAt: store().now(),
          }),
        )
        .then((end) => settle(run, end))
        .catch((error: unknown) =>
          ctx.log.error({ err: error, run: run.id }, "cron run could not be ended"),
        )
        .finally(() => hooks.delete(run.id));
      void ctx.busy(ended);
    },
    /** A turn has ended: ends its run, where it was one of ours. */
    async turnEnded(turnId: string): Promise<void> {
      if (!turnId.startsWith("turn_cron_")) return;
      const run = await store().runs.get(`run_${turnId.slice("turn_".length)}`);
      if (run?.status === "running") await look(run);
    },
    /** Ends what ended unseen: in another gateway, or while none was running. */
    async sweep(): Promise<void> {
      for (const run of await store().runs.list({ status: "running", limit: 1_000 })) {
        if (run.owner.startsWith(`${KIND}:`)) await look(run);
      }
    },
  };
}

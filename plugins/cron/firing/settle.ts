/** Ends runs: when a turn has ended (here or in another gateway), when a hook has, and after a crash. */
import type { PluginContext } from "portico";
import type { Run } from "portico/store";
import { type JobState, KIND, nextSlot, type RunData, type RunStatus, toJob } from "../job.ts";

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

  async function settle(run: Run, end: End): Promise<void> {
    const data = run.data as RunData;
    const ended: Run = {
      ...run,
      status: end.status,
      endedAt: end.endedAt,
      data: {
        ...data,
        error: end.error,
        result: end.result?.slice(0, RESULT_CHARS),
      },
    };
    for (;;) {
      const row = await store().schedules.get(KIND, data.jobId);
      if (!row) {
        await store().runs.prune(`${KIND}:${data.jobId}`, 0);
        return;
      }
      const job = toJob(row);
      if ((await store().runs.get(run.id))?.status !== "running") return; // another gateway was faster
      const state: JobState = { ...job.state, lastStatus: end.status, lastDurationMs: end.endedAt - run.at };
      if (state.running?.runId === run.id) delete state.running;
      let next = row.nextAt;
      let enabled = row.enabled;
      if (end.status === "ok") {
        state.consecutiveErrors = 0;
        delete state.lastError;
      } else {
        state.consecutiveErrors++;
        state.lastError = end.error ?? end.status;
        const limit = job.body.maxErrors ?? maxErrors();
        if (limit > 0 && state.consecutiveErrors >= limit) {
          enabled = false;
          next = null;
          state.disabledReason = `failed ${state.consecutiveErrors} times in a row, last with: ${state.lastError}`;
          ctx.log.error({ job: row.name, reason: state.disabledReason }, "cron job disabled itself");
        } else if (next !== null) {
          const pause = BACKOFF_MS[Math.min(state.consecutiveErrors, BACKOFF_MS.length) - 1]!;
          const earliest = end.endedAt + pause;
          const later =
            next < earliest && job.body.schedule.kind !== "at" ? nextSlot(row.id, job.body, earliest) : undefined;
          if (later) {
            next = later.nextAt;
            state.slotAt = later.slotAt;
          }
        }
      }
      const moved = await store().tick(
        { kind: KIND, id: row.id, expectedNext: row.nextAt, next, state, enabled },
        { runs: [ended] },
      );
      if (moved === undefined) continue;
      if (state.fired % 10 === 0) await store().runs.prune(run.owner, keepRuns());
      if (end.status === "ok" && job.body.deleteAfterRun) await removeIfOver(row.id);
      return;
    }
  }

  /** Removes a job made with `deleteAfterRun` once no date of it is to come. */
  async function removeIfOver(id: string): Promise<void> {
    const row = await store().schedules.get(KIND, id);
    if (row && row.nextAt === null && toJob(row).body.source !== "config") await drop(id);
  }

  async function look(run: Run): Promise<void> {
    const now = store().now();
    if (run.itemId === undefined) {
      if (hooks.has(run.id) || now - run.at < LOST_AFTER_MS) return;
      await settle(run, { status: "interrupted", error: "the gateway stopped during the run", endedAt: now });
      return;
    }
    const turn = await ctx.use("agent").turn(run.itemId);
    if (turn === undefined) {
      if (now - run.at < LOST_AFTER_MS) return;
      await settle(run, { status: "interrupted", error: "the turn is gone from the store", endedAt: now });
      return;
    }
    if (turn.state === "queued" || turn.state === "running") return;
    const endedAt = turn.finishedAt === undefined ? now : Date.parse(turn.finishedAt);
    if (turn.state === "done") {
      await settle(run, { status: "ok", endedAt, result: turn.result });
      return;
    }
    const timedOut = turn.error?.code === "timeout";
    const status = turn.state === "cancelled" ? "cancelled" : timedOut ? "timeout" : "error";
    await settle(run, { status, endedAt, error: turn.error?.message ?? `the turn is ${turn.state}` });
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
        .catch((error: unknown) => ctx.log.error({ err: error, run: run.id }, "cron run could not be ended"))
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

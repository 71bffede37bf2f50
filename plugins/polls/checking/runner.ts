/** Makes the checks that are due: takes a lease, looks, and commits cursor, history and what it fires in one transaction. */
import { randomBytes } from "node:crypto";
import { isPorticoError, type PluginContext } from "portico";
import type { ScheduleTools } from "portico/cron";
import type { NewItem, Run } from "portico/store";
import { backoffMs, jittered } from "./backoff.ts";
import { type Checked, check } from "./check.ts";
import { deliverNews } from "./deliver.ts";
import { guardOf } from "../policy.ts";
import {
  type CheckData,
  type CheckStatus,
  type Cursor,
  KIND,
  type Poll,
  type PollBody,
  type PollState,
  placeOf,
  toPoll,
} from "../poll.ts";
import type { PollsConfig } from "../schema.ts";
import { CheckFailed } from "../sources/source.ts";

/** Beyond the deadline of the check itself: for the comparison and the commit. */
const LEASE_MARGIN_MS = 30_000;
const ITEMS_IN_EVENT = 50;
/** Short intervals are meant exactly. */
const JITTER_FROM_MS = 60_000;

export interface RunnerOptions {
  ctx: PluginContext;
  tools: ScheduleTools;
  settings(): PollsConfig;
}
export type PollRunner = ReturnType<typeof createRunner>;

export interface CheckResult {
  runId: string;
  status: CheckStatus;
  count: number;
  error?: string;
  eventIds?: string[];
  turnIds?: string[];
}

type Outcome = { checked: Checked } | { error: Error };

export function createRunner({ ctx, tools, settings }: RunnerOptions) {
  const store = () => ctx.use("store");
  const active = new Set<Promise<unknown>>();

  /** One look, without any trace: for tests and for checks alike. */
  function look(body: PollBody, cursor: Cursor | undefined): Promise<Checked> {
    const { timeoutMs, maxBytes, roots } = settings();
    return check({
      source: body.source,
      cursor,
      fireOnFirst: body.fireOnFirst,
      guard: guardOf(ctx, settings(), body),
      roots: [ctx.paths.workspace, ...roots],
      timeoutMs: body.timeoutMs ?? timeoutMs,
      maxBytes: body.maxBytes ?? maxBytes,
      signal: ctx.signal,
      now: store().now(),
    });
  }

  function nextAt({ body }: Poll, state: PollState, failure: Error | undefined, now: number): number | null {
    const regular = tools.next(body.schedule, now, body.anchorMs);
    const interval = body.schedule.kind === "every" ? body.schedule.everyMs : (regular ?? now) - now;
    if (failure !== undefined) {
      const { status, retryAfterMs } = failure instanceof CheckFailed ? failure : {};
      return (
        now +
        jittered(
          backoffMs({ errors: state.consecutiveErrors, intervalMs: interval, status, retryAfterMs }),
          Math.random(),
        )
      );
    }
    if (body.schedule.kind !== "every") return regular ?? null;
    return now + (interval >= JITTER_FROM_MS ? jittered(interval, Math.random()) : interval);
  }

  function newState(poll: Poll, outcome: Outcome, status: CheckStatus, at: number, now: number): PollState {
    const { leased: _, lastError: __, ...before } = poll.state;
    const state: PollState = {
      ...before,
      lastCheckAt: at,
      lastStatus: status,
      lastDurationMs: now - at,
      checks: before.checks + 1,
    };
    if ("error" in outcome)
      return { ...state, lastError: outcome.error.message, consecutiveErrors: before.consecutiveErrors + 1 };
    const { checked } = outcome;
    const validators = checked.cursor?.validators;
    state.consecutiveErrors = 0;
    state.cursor = {
      ...(checked.listed === undefined
        ? before.cursor?.items === undefined
          ? {}
          : { items: before.cursor.items }
        : { items: checked.listed }),
      ...(validators?.etag === undefined ? {} : { etag: validators.etag }),
      ...(validators?.lastModified === undefined ? {} : { lastModified: validators.lastModified }),
      ...(checked.cursor?.hash === undefined ? {} : { hash: checked.cursor.hash }),
    };
    if (status === "changed") {
      state.lastChangeAt = now;
      state.changes++;
    }
    return state;
  }

  /** Looks at a poll whose lease was taken as `rev`, and commits. `undefined`: it was edited meanwhile, and nothing happened. */
  async function complete(
    poll: Poll,
    rev: number,
    trigger: CheckData["trigger"],
    keepNext: number | null | undefined,
  ): Promise<CheckResult | undefined> {
    const { row, body } = poll;
    const at = store().now();
    const cursor = ((await store().schedules.cursor(KIND, row.id)) ?? undefined) as Cursor | undefined;
    const outcome: Outcome = await look(body, cursor).then(
      (checked) => ({ checked }),
      (error: Error) => ({ error }),
    );
    if (ctx.signal.aborted) return undefined; // the next start looks again: the cursor is where it was
    const now = store().now();
    const failure = "error" in outcome ? outcome.error : undefined;
    if (failure !== undefined && !(failure instanceof CheckFailed) && !isPorticoError(failure)) {
      ctx.log.warn({ err: failure, poll: row.name }, "poll failed in an unexpected way");
    }
    const status: CheckStatus = "checked" in outcome ? outcome.checked.status : "error";
    const state = newState(poll, outcome, status, at, now);
    const news = "checked" in outcome ? outcome.checked.news : [];
    const checkKey = `${row.id} ${row.createdAt} ${rev}`;
    const runId = `run_poll_${randomBytes(10).toString("hex")}`;
    const fired =
      "checked" in outcome && status === "changed"
        ? deliverNews(tools, {
            pollId: row.id,
            name: row.name ?? row.id,
            place: placeOf(body.source),
            checkKey,
            runId,
            items: news,
            ...(outcome.checked.diff === undefined ? {} : { diff: outcome.checked.diff }),
            maxItems: body.maxItems ?? settings().maxItems,
            payload: body.payload,
          })
        : [];
    const eventIds = fired.flatMap(({ eventId }) => eventId ?? []);
    const turnIds = fired.flatMap(({ turnId }) => turnId ?? []);
    const data: CheckData = {
      pollId: row.id,
      trigger,
      count: news.length,
      ...("checked" in outcome ? { bytes: outcome.checked.bytes } : {}),
      ...("checked" in outcome && outcome.checked.listed !== undefined ? { items: outcome.checked.listed } : {}),
      ...("checked" in outcome && outcome.checked.httpStatus !== undefined
        ? { httpStatus: outcome.checked.httpStatus }
        : {}),
      ...(failure instanceof CheckFailed && failure.status !== undefined ? { httpStatus: failure.status } : {}),
      ...(failure === undefined ? {} : { error: failure.message }),
      ...(eventIds.length > 0 ? { eventIds } : {}),
      ...(turnIds.length > 0 ? { turnIds } : {}),
    };
    const run: Run = {
      id: runId,
      owner: `${KIND}:${row.id}`,
      at,
      status,
      endedAt: now,
      data,
    };
    const regular = nextAt(poll, state, failure, now);
    const next = keepNext === undefined ? regular : keepNext === null || keepNext > now ? keepNext : regular;
    const committed = await store().commitSchedule(
      {
        kind: KIND,
        id: row.id,
        expectedRev: rev,
        next,
        state,
        ...("checked" in outcome && outcome.checked.cursor ? { cursor: outcome.checked.cursor } : {}),
        ...(next === null ? { enabled: false } : {}),
      },
      { items: fired.flatMap(({ items }) => items) as NewItem[], runs: [run] },
    );
    if (committed === undefined) return undefined;
    if (state.checks % 10 === 0) await store().runs.prune(run.owner, settings().keepRuns);
    if (status === "changed") await announce(poll, run, (outcome as { checked: Checked }).checked);
    return {
      runId: run.id,
      status,
      count: news.length,
      ...(failure === undefined ? {} : { error: failure.message }),
      ...(eventIds.length > 0 ? { eventIds } : {}),
      ...(turnIds.length > 0 ? { turnIds } : {}),
    };
  }

  async function announce({ row, body }: Poll, run: Run, checked: Checked): Promise<void> {
    await ctx.emit(
      "poll:changed",
      {
        pollId: row.id,
        name: row.name ?? row.id,
        url: placeOf(body.source),
        runId: run.id,
        changedAt: new Date(run.endedAt!).toISOString(),
        count: checked.news.length,
        items: checked.news.slice(0, ITEMS_IN_EVENT),
        ...(checked.diff === undefined ? {} : { diff: checked.diff }),
      },
      { sessionKey: `poll:${row.id}` },
    );
  }

  /** Takes the slot for as long as the check may last; `undefined` where somebody else has it. */
  function lease(poll: Poll, now: number): Promise<number | undefined> {
    const { row, body, state } = poll;
    const until = now + (body.timeoutMs ?? settings().timeoutMs) + LEASE_MARGIN_MS;
    const next = row.enabled ? until : null;
    return store().tick({
      kind: KIND,
      id: row.id,
      expectedNext: row.nextAt,
      next,
      ...(row.enabled ? { state: { ...state, leased: { until, dueAt: row.nextAt } } satisfies PollState } : {}),
    });
  }

  function track<T>(work: Promise<T>): Promise<T> {
    active.add(work);
    const done = (): void => void active.delete(work);
    work.then(done, done);
    return ctx.busy(work);
  }

  return {
    look,
    /** Starts the checks that are due, as many as there is room for; answers how many. */
    async runDue(now: number): Promise<number> {
      const { maxConcurrent } = settings();
      if (active.size >= maxConcurrent) await Promise.race(active);
      const due = await store().schedules.due(KIND, now, Math.max(1, maxConcurrent - active.size));
      const leases = due.map(async (row) => {
        const poll = toPoll(row);
        const rev = await lease(poll, now);
        if (rev === undefined) return;
        const work = complete(poll, rev, "schedule", undefined).catch((error: unknown) => {
          ctx.log.error({ err: error, poll: row.name }, "poll could not be completed; it will be tried again");
        });
        void track(work);
      });
      await Promise.all(leases);
      return due.length;
    },
    /** A check by hand; the slot stays where it is. `undefined`: a check is going on already. */
    async runNow(poll: Poll): Promise<CheckResult | undefined> {
      const now = store().now();
      const { leased } = poll.state;
      if (leased !== undefined && leased.until === poll.row.nextAt && leased.until > now) return undefined;
      const rev = await lease(poll, now);
      return rev === undefined ? undefined : track(complete(poll, rev, "manual", poll.row.nextAt));
    },
    async idle(): Promise<void> {
      await Promise.allSettled(active);
    },
  };
}

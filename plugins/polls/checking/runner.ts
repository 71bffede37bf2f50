/** Makes the checks that are due: takes a lease, looks, and commits cursor, history and what it fires in one transaction. */
import { randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { isPorticoError, type PluginContext } from "portico";
import { openPayload } from "portico/deliveries";
import { newWorker, type ScheduleTools } from "portico/schedules";
import type { Run } from "portico/store";
import { guardOf } from "../policy.ts";
import {
  type CheckData,
  type CheckStatus,
  type Cursor,
  KIND,
  type Poll,
  type PollBody,
  placeOf,
  principalOfPoll,
  toPoll,
} from "../poll.ts";
import type { PollsConfig } from "../schema.ts";
import { fileRoots } from "../sources/confined.ts";
import { CheckFailed } from "../sources/source.ts";
import { type Checked, check } from "./check.ts";
import { deliverNews } from "./deliver.ts";
import { announceChange, announceFailure } from "./events.ts";
import { PollLease } from "./lease.ts";
import { dataOf, nextCheckAt, type Outcome, stateAfter, statusOf } from "./outcome.ts";

/** How long a check by hand waits for one that goes on, and how often it looks for the end of one elsewhere. */
const MOST_WAIT_MS = 60_000;
const LOOK_AGAIN_MS = 50;

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

/** A poll that is being looked at. */
interface RunningCheck {
  lease: PollLease;
  trigger: CheckData["trigger"];
  /** For a check by hand: the slot, which stays. */
  slot?: number | null;
}

export function createRunner({ ctx, tools, settings }: RunnerOptions) {
  const store = () => ctx.use("store");
  const worker = newWorker();
  /** The checks that go on here, by their polls. */
  const active = new Map<string, Promise<unknown>>();

  /** One look, without any trace: for tests and for checks alike. */
  function look(body: PollBody, cursor: Cursor | undefined): Promise<Checked> {
    const { timeoutMs, maxBytes, roots, settleMs } = settings();
    return check({
      source: body.source,
      cursor,
      fireOnFirst: body.fireOnFirst,
      guard: guardOf(ctx, settings(), body),
      roots: fileRoots(ctx, roots),
      timeoutMs: body.timeoutMs ?? timeoutMs,
      maxBytes: body.maxBytes ?? maxBytes,
      settleMs,
      browser: () => ctx.use("browser"),
      signal: ctx.signal,
      now: store().now(),
    });
  }

  async function outcomeOf({ row, body }: Poll): Promise<Outcome> {
    const startedAt = store().now();
    const cursor = ((await store().schedules.cursor(KIND, row.id)) ?? undefined) as
      | Cursor
      | undefined;
    try {
      const checked = await look(body, cursor);
      return { checked, startedAt, endedAt: store().now() };
    } catch (error) {
      const failure = error as Error;
      if (!(failure instanceof CheckFailed) && !isPorticoError(failure) && !ctx.signal.aborted)
        ctx.log.warn({ err: failure, poll: row.name }, "poll failed in an unexpected way");
      return { failure, startedAt, endedAt: store().now() };
    }
  }

  function deliveriesOf(poll: Poll, rev: number, checked: Checked | undefined, runId: string) {
    if (checked?.status !== "changed") return [];
    const { row, body } = poll;
    return deliverNews(tools, {
      pollId: row.id,
      principal: principalOfPoll(poll),
      name: row.name ?? row.id,
      place: placeOf(body.source),
      checkKey: `${row.id} ${row.createdAt} ${rev}`,
      runId,
      items: checked.news,
      diff: checked.diff,
      maxItems: body.maxItems ?? settings().maxItems,
      payload: openPayload(ctx, body.payload),
    });
  }

  /** Looks, and commits. `undefined`: the poll was edited meanwhile, and nothing happened. */
  async function complete({
    lease,
    trigger,
    slot,
  }: RunningCheck): Promise<CheckResult | undefined> {
    const { poll } = lease;
    const { row } = poll;
    const outcome = await outcomeOf(poll);
    const rev = await lease.end();
    if (ctx.signal.aborted) return undefined; // the next start looks again: the cursor is where it was
    const { checked, failure, startedAt, endedAt } = outcome;
    const status = statusOf(outcome);
    const state = stateAfter(poll, outcome);
    const runId = `run_poll_${randomBytes(10).toString("hex")}`;
    const deliveries = deliveriesOf(poll, rev, checked, runId);
    const eventIds = listOf(deliveries.flatMap(({ eventId }) => eventId ?? []));
    const turnIds = listOf(deliveries.flatMap(({ turnId }) => turnId ?? []));
    const data: CheckData = { ...dataOf(poll, trigger, outcome), eventIds, turnIds };
    const run: Run = {
      id: runId,
      owner: `${KIND}:${row.id}`,
      at: startedAt,
      status,
      endedAt,
      data,
    };
    const keepsSlot = slot === null || (slot !== undefined && slot > endedAt);
    const next = keepsSlot ? slot : nextCheckAt(tools, poll, state.consecutiveErrors, outcome);
    const committed = await store().commitSchedule(
      {
        kind: KIND,
        id: row.id,
        expectedRev: rev,
        next,
        state,
        cursor: checked?.cursor,
        enabled: next === null ? false : undefined,
      },
      { items: deliveries.flatMap(({ items }) => items), runs: [run] },
    );
    if (committed === undefined) return undefined;
    if (state.checks % 10 === 0) await store().runs.prune(run.owner, settings().keepRuns);
    if (checked?.status === "changed") await announceChange(ctx, poll, run, checked);
    if (failure !== undefined)
      await announceFailure(ctx, poll, run, { failure, errors: state.consecutiveErrors, next });
    return { runId, status, count: data.count ?? 0, error: failure?.message, eventIds, turnIds };
  }

  const take = (poll: Poll): Promise<PollLease | undefined> =>
    PollLease.take({ store: store(), log: ctx.log, poll, worker });

  function track<T>(id: string, work: Promise<T>): Promise<T> {
    active.set(id, work);
    const done = (): void => {
      if (active.get(id) === work) active.delete(id);
    };
    work.then(done, done);
    return ctx.busy(work);
  }

  async function startCheck(poll: Poll): Promise<void> {
    const lease = await take(poll);
    if (lease === undefined) return;
    const work = complete({ lease, trigger: "schedule" }).catch((error: unknown) => {
      ctx.log.error(
        { err: error, poll: poll.row.name },
        "poll could not be completed; it will be tried again",
      );
    });
    void track(poll.row.id, work);
  }

  return {
    look,
    /** Starts the checks that are due, as many as there is room for; answers how many. */
    async runDue(now: number): Promise<number> {
      const { maxConcurrent } = settings();
      if (active.size >= maxConcurrent) await Promise.race(active.values());
      const due = await store().schedules.due(KIND, now, Math.max(1, maxConcurrent - active.size));
      await Promise.all(due.map((row) => startCheck(toPoll(row))));
      return due.length;
    },
    /** A check by hand; the slot stays where it is. One that goes on already is waited for; `undefined`: for too long. */
    async runNow(find: () => Promise<Poll>): Promise<CheckResult | undefined> {
      const giveUpAt = performance.now() + MOST_WAIT_MS;
      while (!ctx.signal.aborted && performance.now() < giveUpAt) {
        const poll = await find();
        const { id, nextAt } = poll.row;
        const now = store().now();
        const { leased } = poll.state;
        const isTaken = leased !== undefined && leased.until === nextAt && leased.until > now;
        const lease = isTaken ? undefined : await take(poll);
        const done =
          lease && (await track(id, complete({ lease, trigger: "manual", slot: nextAt })));
        if (done) return done;
        // Another gateway's end is not told.
        await Promise.race([active.get(id)?.catch(() => {}), sleep(LOOK_AGAIN_MS)].filter(Boolean));
      }
      return undefined;
    },
    async idle(): Promise<void> {
      await Promise.allSettled(active.values());
    },
  };
}

const listOf = <T>(list: T[]): T[] | undefined => (list.length > 0 ? list : undefined);

/** Makes the checks that are due: takes a lease, looks, and commits cursor, history and what it fires in one transaction. */
import { randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { isPorticoError, type PluginContext } from "portico";
import { payloadForEvent } from "portico/deliveries";
import { newWorker, type ScheduleTools } from "portico/schedules";
import type { Run, Store } from "portico/store";
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

/** How long a check by hand waits for a running one, and how often it looks whether one elsewhere has ended. */
const MOST_WAIT_MS = 60_000;
const LOOK_AGAIN_MS = 50;

export interface RunnerOptions {
  ctx: PluginContext;
  tools: ScheduleTools;
  settings(): PollsConfig;
}

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

/** A check that has ended, before it is committed. */
interface EndedCheck extends RunningCheck {
  outcome: Outcome;
  /** The revision of the poll's row that the commit expects. */
  rev: number;
}

/** What a check made of its poll, once the store has it. */
interface CommittedCheck {
  poll: Poll;
  outcome: Outcome;
  run: Run;
  data: CheckData;
  state: PollState;
  next: number | null;
}

export class PollRunner {
  readonly #options: RunnerOptions;
  readonly #worker = newWorker();
  /** The checks that run in this process, by the ids of their polls. */
  readonly #active = new Map<string, Promise<unknown>>();

  constructor(options: RunnerOptions) {
    this.#options = options;
  }

  get #store(): Store {
    return this.#options.ctx.use("store");
  }

  /** One look, without any trace: for tests and for checks alike. */
  look(body: PollBody, cursor: Cursor | undefined): Promise<Checked> {
    const { ctx } = this.#options;
    const settings = this.#options.settings();
    return check({
      source: body.source,
      cursor,
      fireOnFirst: body.fireOnFirst,
      guard: guardOf(ctx, settings, body),
      roots: fileRoots(ctx, settings.roots),
      timeoutMs: body.timeoutMs ?? settings.timeoutMs,
      maxBytes: body.maxBytes ?? settings.maxBytes,
      settleMs: settings.settleMs,
      browser: () => ctx.use("browser"),
      signal: ctx.signal,
      now: this.#store.now(),
    });
  }

  /** Starts the checks that are due, as many as there is room for. Resolves to how many were due. */
  async runDue(now: number): Promise<number> {
    const { maxConcurrent } = this.#options.settings();
    if (this.#active.size >= maxConcurrent) await Promise.race(this.#active.values());
    const room = Math.max(1, maxConcurrent - this.#active.size);
    const due = await this.#store.schedules.due(KIND, now, room);
    await Promise.all(due.map((row) => this.#start(toPoll(row))));
    return due.length;
  }

  /** A check by hand; the slot stays. Waits for a check that is running already; `undefined` if that takes too long. */
  async runNow(find: () => Promise<Poll>): Promise<CheckResult | undefined> {
    const giveUpAt = performance.now() + MOST_WAIT_MS;
    while (!this.#options.ctx.signal.aborted && performance.now() < giveUpAt) {
      const poll = await find();
      const result = await this.#tryNow(poll);
      if (result !== undefined) return result;
      // Nothing reports the end of a check in another gateway.
      const running = this.#active.get(poll.row.id)?.catch(() => {});
      await Promise.race([running, sleep(LOOK_AGAIN_MS)].filter(Boolean));
    }
    return undefined;
  }

  /** Resolves when no check runs in this process any more. */
  async idle(): Promise<void> {
    await Promise.allSettled(this.#active.values());
  }

  /** Checks now; `undefined` where another check has the poll, or a change interrupted this one. */
  async #tryNow(poll: Poll): Promise<CheckResult | undefined> {
    const { id, nextAt } = poll.row;
    const { leased } = poll.state;
    const isTaken =
      leased !== undefined && leased.until === nextAt && leased.until > this.#store.now();
    if (isTaken) return undefined;
    const lease = await this.#take(poll);
    if (lease === undefined) return undefined;
    return this.#track(id, this.#complete({ lease, trigger: "manual", slot: nextAt }));
  }

  async #start(poll: Poll): Promise<void> {
    const lease = await this.#take(poll);
    if (lease === undefined) return;
    const check = this.#complete({ lease, trigger: "schedule" }).catch((error: unknown) => {
      this.#options.ctx.log.error(
        { err: error, poll: poll.row.name },
        "poll could not be completed; it will be tried again",
      );
    });
    void this.#track(poll.row.id, check);
  }

  #take(poll: Poll): Promise<PollLease | undefined> {
    const { log } = this.#options.ctx;
    return PollLease.take({ store: this.#store, log, poll, worker: this.#worker });
  }

  #track<T>(id: string, check: Promise<T>): Promise<T> {
    this.#active.set(id, check);
    const forget = (): void => {
      if (this.#active.get(id) === check) this.#active.delete(id);
    };
    check.then(forget, forget);
    return this.#options.ctx.busy(check);
  }

  /** Checks, commits and announces. `undefined`: the poll was changed in the meantime, and nothing happened. */
  async #complete(running: RunningCheck): Promise<CheckResult | undefined> {
    const { lease } = running;
    const outcome = await this.#outcomeOf(lease.poll);
    const rev = await lease.end();
    // The next start looks again: the cursor is where it was.
    if (this.#options.ctx.signal.aborted) return undefined;
    const committed = await this.#commit({ ...running, outcome, rev });
    if (committed === undefined) return undefined;
    const { run, data, state } = committed;
    if (state.checks % 10 === 0) {
      await this.#store.runs.prune(run.owner, this.#options.settings().keepRuns);
    }
    await this.#announce(committed);
    return {
      runId: run.id,
      status: statusOf(outcome),
      count: data.count ?? 0,
      error: outcome.failure?.message,
      eventIds: data.eventIds,
      turnIds: data.turnIds,
    };
  }

  async #outcomeOf({ row, body }: Poll): Promise<Outcome> {
    const { ctx } = this.#options;
    const startedAt = this.#store.now();
    const stored = (await this.#store.schedules.cursor(KIND, row.id)) ?? undefined;
    try {
      const checked = await this.look(body, stored as Cursor | undefined);
      const outcome = { checked, startedAt, endedAt: this.#store.now() };
      // Where this gateway cannot read the payload, the check has failed: the news are there for the next one.
      return checked.status === "changed"
        ? { ...outcome, payload: payloadForEvent(ctx, body.payload) }
        : outcome;
    } catch (error) {
      const failure = error as Error;
      const isExpected = failure instanceof CheckFailed || isPorticoError(failure);
      if (!isExpected && !ctx.signal.aborted)
        ctx.log.warn({ err: failure, poll: row.name }, "poll failed in an unexpected way");
      return { failure, startedAt, endedAt: this.#store.now() };
    }
  }

  /** Writes cursor, state, history and deliveries in one transaction. */
  async #commit(ended: EndedCheck): Promise<CommittedCheck | undefined> {
    const { outcome, rev, slot } = ended;
    const { poll } = ended.lease;
    const { id } = poll.row;
    const { startedAt, endedAt, checked } = outcome;
    const runId = `run_poll_${randomBytes(10).toString("hex")}`;
    const deliveries = this.#deliveriesOf(poll, rev, outcome, runId);
    const data: CheckData = {
      ...dataOf(poll, ended.trigger, outcome),
      eventIds: listOf(deliveries.flatMap(({ eventId }) => eventId ?? [])),
      turnIds: listOf(deliveries.flatMap(({ turnId }) => turnId ?? [])),
    };
    const status = statusOf(outcome);
    const run: Run = { id: runId, owner: `${KIND}:${id}`, at: startedAt, status, endedAt, data };
    const state = stateAfter(poll, outcome);
    const keepsSlot = slot === null || (slot !== undefined && slot > endedAt);
    const next = keepsSlot
      ? slot
      : nextCheckAt(this.#options.tools, poll, state.consecutiveErrors, outcome);
    const enabled = next === null ? false : undefined;
    const committed = await this.#store.commitSchedule(
      { kind: KIND, id, expectedRev: rev, next, state, cursor: checked?.cursor, enabled },
      { items: deliveries.flatMap(({ items }) => items), runs: [run] },
    );
    return committed === undefined ? undefined : { poll, outcome, run, data, state, next };
  }

  #deliveriesOf(poll: Poll, rev: number, { checked, payload }: Outcome, runId: string) {
    if (checked === undefined || payload === undefined) return [];
    const { tools, settings } = this.#options;
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
      payload,
    });
  }

  async #announce({ poll, outcome, run, state, next }: CommittedCheck): Promise<void> {
    const { ctx } = this.#options;
    const { checked, failure } = outcome;
    if (checked?.status === "changed") await announceChange(ctx, poll, run, checked);
    if (failure === undefined) return;
    await announceFailure(ctx, poll, run, { failure, errors: state.consecutiveErrors, next });
  }
}

const listOf = <T>(list: T[]): T[] | undefined => (list.length > 0 ? list : undefined);

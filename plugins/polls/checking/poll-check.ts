/** One check of a poll: reads the source, and commits cursor, history and deliveries in one transaction. */
import { randomBytes } from "node:crypto";
import { isPorticoError, type PluginContext } from "portico";
import { payloadForEvent } from "portico/deliveries";
import type { ScheduleTools } from "portico/schedules";
import type { Run, Store } from "portico/store";
import { createPollGuard } from "../policy.ts";
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
} from "../poll.ts";
import type { PollsConfig } from "../schema.ts";
import { listFileRoots } from "../sources/confined.ts";
import { CheckFailed } from "../sources/source.ts";
import { type SourceCheck, check } from "./check.ts";
import { deliverNews } from "./deliver.ts";
import { announceChange, announceFailure } from "./events.ts";
import type { PollLease } from "./lease.ts";
import { dataOf, computeNextCheckAt, type Outcome, computeState, statusOf } from "./outcome.ts";

/** The number of checks after which the history of a poll is pruned. */
const PRUNE_EVERY = 10;

export interface CheckServices {
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

/** The reason for a check. A manual check keeps the poll's slot. */
export type CheckReason = { trigger: "schedule" } | { trigger: "manual"; slot: number | null };

/** The results of a check that the store has accepted. */
interface CommittedCheck {
  run: Run;
  data: CheckData;
  state: PollState;
  next: number | null;
}

/** Reads a source and compares it with the cursor. Writes nothing. */
export function readPollSource(
  { ctx, settings: readSettings }: CheckServices,
  body: PollBody,
  cursor: Cursor | undefined,
): Promise<SourceCheck> {
  const settings = readSettings();
  return check({
    source: body.source,
    cursor,
    fireOnFirst: body.fireOnFirst,
    guard: createPollGuard(ctx, settings, body),
    roots: listFileRoots(ctx, settings.roots),
    timeoutMs: body.timeoutMs ?? settings.timeoutMs,
    maxBytes: body.maxBytes ?? settings.maxBytes,
    settleMs: settings.settleMs,
    browser: () => ctx.use("browser"),
    signal: ctx.signal,
    now: ctx.use("store").now(),
  });
}

/** A check of a poll whose lease this process has. */
export class PollCheck {
  readonly #services: CheckServices;
  readonly #lease: PollLease;
  readonly #reason: CheckReason;

  constructor(services: CheckServices, lease: PollLease, reason: CheckReason) {
    this.#services = services;
    this.#lease = lease;
    this.#reason = reason;
  }

  get #poll(): Poll {
    return this.#lease.poll;
  }

  get #store(): Store {
    return this.#services.ctx.use("store");
  }

  /**
   * Reads, commits and announces. Returns undefined if the poll was changed in the meantime, so that nothing was
   * written.
   */
  async run(): Promise<CheckResult | undefined> {
    const outcome = await this.#lease.during(() => this.#read());
    // The cursor has not moved, so the next start reads the source again.
    if (this.#services.ctx.signal.aborted) return undefined;
    const commit = await this.#commit(outcome);
    if (commit === undefined) return undefined;
    const { run, data, state } = commit;
    if (state.checks % PRUNE_EVERY === 0)
      await this.#store.runs.prune(run.owner, this.#services.settings().keepRuns);
    await this.#announce(outcome, commit);
    return {
      runId: run.id,
      status: statusOf(outcome),
      count: data.count ?? 0,
      error: outcome.failure?.message,
      eventIds: data.eventIds,
      turnIds: data.turnIds,
    };
  }

  async #read(): Promise<Outcome> {
    const { ctx } = this.#services;
    const { row, body } = this.#poll;
    const startedAt = this.#store.now();
    const cursor = (await this.#store.schedules.cursor(KIND, row.id)) ?? undefined;
    try {
      const sourceCheck = await readPollSource(this.#services, body, cursor as Cursor | undefined);
      const outcome = { sourceCheck, startedAt, endedAt: this.#store.now() };
      if (sourceCheck.status !== "changed") return outcome;
      // If this gateway cannot decrypt the payload, the check fails, and the next check finds the same news.
      return { ...outcome, payload: payloadForEvent(ctx, body.payload) };
    } catch (error) {
      const failure = error as Error;
      const isExpected = failure instanceof CheckFailed || isPorticoError(failure);
      if (!isExpected && !ctx.signal.aborted)
        ctx.log.warn({ err: failure, poll: row.name }, "a check of a poll failed unexpectedly");
      return { failure, startedAt, endedAt: this.#store.now() };
    }
  }

  /** Writes cursor, state, history and deliveries in one transaction. */
  async #commit(outcome: Outcome): Promise<CommittedCheck | undefined> {
    const poll = this.#poll;
    const { id } = poll.row;
    const { startedAt, endedAt, sourceCheck } = outcome;
    const runId = `run_poll_${randomBytes(10).toString("hex")}`;
    const deliveries = this.#deliveriesOf(outcome, runId);
    const data: CheckData = {
      ...dataOf(poll, this.#reason.trigger, outcome),
      eventIds: unlessEmpty(deliveries.flatMap(({ eventId }) => eventId ?? [])),
      turnIds: unlessEmpty(deliveries.flatMap(({ turnId }) => turnId ?? [])),
    };
    const status = statusOf(outcome);
    const run: Run = { id: runId, owner: `${KIND}:${id}`, at: startedAt, status, endedAt, data };
    const state = computeState(poll, outcome);
    const next = this.#nextAt(outcome, state);
    const enabled = next === null ? false : undefined;
    const rev = await this.#store.commitSchedule(
      {
        kind: KIND,
        id,
        expectedRev: this.#lease.rev,
        next,
        state,
        cursor: sourceCheck?.cursor,
        enabled,
      },
      { items: deliveries.flatMap(({ items }) => items), runs: [run] },
    );
    return rev === undefined ? undefined : { run, data, state, next };
  }

  /** A manual check keeps the next slot of the schedule, if there is one. */
  #nextAt(outcome: Outcome, { consecutiveErrors }: PollState): number | null {
    const slot = this.#reason.trigger === "manual" ? this.#reason.slot : undefined;
    const isUpcoming = slot === null || (slot !== undefined && slot > outcome.endedAt);
    if (isUpcoming) return slot;
    return computeNextCheckAt(this.#services.tools, this.#poll, consecutiveErrors, outcome);
  }

  #deliveriesOf({ sourceCheck, payload }: Outcome, runId: string) {
    if (sourceCheck === undefined || payload === undefined) return [];
    const { tools, settings } = this.#services;
    const poll = this.#poll;
    const { row, body } = poll;
    return deliverNews(tools, {
      pollId: row.id,
      principal: principalOfPoll(poll),
      name: row.name ?? row.id,
      place: placeOf(body.source),
      checkKey: `${row.id} ${row.createdAt} ${this.#lease.rev}`,
      runId,
      items: sourceCheck.news,
      diff: sourceCheck.diff,
      maxItems: body.maxItems ?? settings().maxItems,
      payload,
    });
  }

  async #announce({ sourceCheck, failure }: Outcome, commit: CommittedCheck): Promise<void> {
    const { ctx } = this.#services;
    const { run, state, next } = commit;
    if (sourceCheck?.status === "changed") await announceChange(ctx, this.#poll, run, sourceCheck);
    if (failure === undefined) return;
    const errors = state.consecutiveErrors;
    await announceFailure(ctx, this.#poll, run, { failure, errors, next });
  }
}

function unlessEmpty<T>(list: T[]): T[] | undefined {
  return list.length > 0 ? list : undefined;
}

/** The interface of the store. */
import type {
  Batch,
  Dedup,
  KnownKey,
  Enqueued,
  Limit,
  Take,
  EndedState,
  WorkItem,
  Claim,
  ClaimOutcome,
  ItemFilter,
  ItemState,
  Shares,
  QueueStats,
  LaneStatus,
} from "./records/work.ts";
import type { NewSchedule, Schedule, ScheduleSlot, ScheduleCommit } from "./records/schedules.ts";
import type { Charge, Reserved, ReservationRequest } from "./records/reservations.ts";
import type {
  Session,
  NewMessage,
  StoredMessage,
  NewDelivery,
  Delivery,
  Run,
} from "./records/logs.ts";
import type {
  UsageRecord,
  UsageFilter,
  UsageSum,
  RequestBlock,
  NewRequests,
  RequestRange,
} from "./records/usage.ts";

export type * from "./records/work.ts";
export type * from "./records/schedules.ts";
export type * from "./records/logs.ts";
export type * from "./records/reservations.ts";
export type * from "./records/usage.ts";

/**
 * The store: everything that must outlive the process, behind one interface with one small file per engine.
 *
 * Every writing call is one transaction and resolves only when it is durable; a store that cannot write rejects with
 * `PorticoError("store_unavailable")` (503, `Retry-After`), never resolves. Times are milliseconds since 1970 on the
 * store's own clock (`now()`). Bodies, results and states are anything that JSON can hold.
 */
export interface Store {
  /**
   * Who else uses it: nobody, the other workers of this gateway, or other gateways too. Where somebody does, what has to be
   * exact over all is counted here.
   */
  readonly sharedBy: "nobody" | "workers" | "gateways";
  /**
   * True while no other process has it open: then nobody else puts anything in or leases anything. When another one opens
   * it, every listener of `onWork` is called.
   */
  inSoleUse(): boolean;
  /** The store's clock. Compare stored times with this, not with `Date.now()`. */
  now(): number;

  // ------------------------------------------------------------------------------------------ work
  /**
   * Adds everything in the batch, or nothing. Where `batch.dedup.key` is known already, nothing is written and
   * `duplicate` carries the first answer. With `limit`, a batch that is no duplicate takes one from it in the same
   * transaction; where that is refused, nothing is written and `limit.allowed` is false.
   */
  enqueue(batch: Batch & { dedup?: Dedup; limit?: Limit }): Promise<Enqueued>;
  /** The first answer to a key that is still remembered. */
  known(key: string): Promise<KnownKey | undefined>;
  /**
   * Leases up to `max` lanes of these kinds and returns the head item of each. A lane (per kind) has one item in
   * progress at a time and keeps its order; an item whose lease ran out is handed out again, with `attempts` one higher.
   * With `shares`, lanes whose next item would exceed its holder's share are passed over.
   */
  claim(
    worker: string,
    max: number,
    leaseMs: number,
    kinds: readonly string[],
    shares?: Shares,
  ): Promise<Claim[]>;
  /** Renews a lease. `false`: it was lost (or the item was cancelled), so the work must be aborted. */
  extend(claim: Claim, leaseMs: number): Promise<boolean>;
  /**
   * Ends a claim and writes `emits` with it. `false`: the lease was lost, and nothing was written. Items that were
   * drained by this item end with it: done with it, kept for its retry, or put back where it died.
   */
  finish(claim: Claim, outcome: ClaimOutcome, emits?: Batch): Promise<boolean>;
  /**
   * Binds up to `max` due items of a lane to the item `by` (in order), and returns all that are bound to it. They count
   * as done only when `by` has finished. Items of such a kind are simply never claimed. Their bodies together have at
   * most `maxChars` characters of JSON; one that alone has more is bound where nothing else is.
   */
  drain(
    lane: string,
    kind: string,
    max: number,
    by: string,
    maxChars?: number,
  ): Promise<WorkItem[]>;
  /** Who has leases, whether or not they have run out. */
  workers(): Promise<string[]>;
  /**
   * Ends all leases of a worker that is known to be dead, so that its lanes can be claimed at once and the schedules that it
   * has leased are due again; returns how many.
   */
  abandon(worker: string): Promise<number>;
  /** Items of a lane that are due and not yet drained or claimed. */
  pending(lane: string, kind: string): Promise<number>;
  /** When the next lane of these kinds comes due; `undefined` where nothing waits. A time in the past means now. */
  nextWorkAt(kinds: readonly string[]): Promise<number | undefined>;
  /** Called (in this process) whenever work of this kind may have become claimable. Returns its undo. */
  onWork(kind: string, wake: () => void): () => void;

  readonly items: {
    get(id: string): Promise<WorkItem | undefined>;
    /** Newest first. `before` is a `seq`. */
    list(filter?: ItemFilter): Promise<WorkItem[]>;
    /** Ends a queued or running item as `cancelled`; a running one loses its lease. `false` where it had ended. */
    cancel(id: string): Promise<boolean>;
    /** Makes a queued item that waits for its time due now; `false` where it does not wait, or is not the next of its lane. */
    wake(id: string): Promise<boolean>;
    /** Puts a dead or cancelled item back into its lane with fresh attempts and failures. */
    replay(id: string): Promise<boolean>;
    /** Removes items that ended before `before` in one of these states; returns how many. */
    prune(before: number, states: readonly EndedState[]): Promise<number>;
    /** Takes next to no time where nothing was written since it was asked. */
    count(kind: string, state: ItemState): Promise<number>;
    stats(): Promise<QueueStats>;
    /** Lanes with work: leased ones first, then the busiest. */
    lanes(limit?: number): Promise<LaneStatus[]>;
  };

  // ------------------------------------------------------------------------------------- schedules
  readonly schedules: {
    /** Inserts or replaces the definition; `rev` increases. With `expectedRev`, returns `undefined` if another change was faster. */
    put(schedule: NewSchedule, expectedRev?: number): Promise<Schedule | undefined>;
    get(kind: string, id: string): Promise<Schedule | undefined>;
    list(kind: string): Promise<Schedule[]>;
    /** Those whose state has `consecutiveErrors` other than 0: few of many. As `count`. */
    failing(kind: string): Promise<readonly Schedule[]>;
    delete(kind: string, id: string): Promise<boolean>;
    /** Enabled schedules whose `nextAt` has come, earliest first. */
    due(kind: string, now: number, limit: number): Promise<Schedule[]>;
    /** The earliest `nextAt` of the enabled schedules of a kind. */
    nextDueAt(kind: string): Promise<number | undefined>;
    /** The large part of a schedule's state, which `list` leaves out. */
    cursor(kind: string, id: string): Promise<unknown>;
  };
  /**
   * One slot of a schedule: only where `nextAt` still is `expectedNext` are the new `next` (`null`: never again), the
   * state and the batch written. Returns the new `rev`, or `undefined` if another gateway took the slot.
   * Work that is done within the slot takes it with a `lease` whose end is `next`, renews that with `commitSchedule` and the
   * `rev` from here, and ends it with `commitSchedule` and the newest `rev`.
   */
  tick(slot: ScheduleSlot, batch?: Batch): Promise<number | undefined>;
  /** Cursor, state and batch together: only where `rev` still is `expectedRev`. Returns the new `rev`. */
  commitSchedule(commit: ScheduleCommit, batch?: Batch): Promise<number | undefined>;

  // ------------------------------------------------------------------------------------ rate limits
  /**
   * Never more than `max` in any window of `windowMs`. Exact up to 1,000 (every hit is kept); above that the window is
   * cut into 100 slots and errs on the strict side. Survives a crash of the process.
   */
  take(key: string, cost: number, max: number, windowMs: number): Promise<Take>;

  /** Limits by what requests use, which is known only at their end. */
  readonly reservations: {
    /**
     * Sets aside what a request may use of each limit, all of it or, where one leaves no room, nothing. It takes the place
     * of what `id` has set aside before, and is given back by `settle`, or `ttlMs` after the last `extend` of its holder: so those of a process that died go by themselves.
     */
    reserve(
      reservation: { id: string; holder: string; ttlMs: number },
      requests: readonly ReservationRequest[],
    ): Promise<Reserved>;
    /** Gives back what `id` has set aside, if anything, and adds what was used instead. */
    settle(id: string, charges: readonly Charge[]): Promise<void>;
    /** Keeps all that a holder has set aside for another while. */
    extend(holder: string, ttlMs: number): Promise<void>;
  };

  // ------------------------------------------------------------------------------------- key, value
  readonly kv: {
    get<T = unknown>(namespace: string, key: string): Promise<T | undefined>;
    /** `ttlMs`: forgotten after that. */
    /** Namespace and key have at most 2,000 bytes together: `invalid_request_error` for more. */
    set(
      namespace: string,
      key: string,
      value: unknown,
      options?: { ttlMs?: number },
    ): Promise<void>;
    /** As `set`, where the key has no value; `false`, and nothing written, where it has one. */
    add(
      namespace: string,
      key: string,
      value: unknown,
      options?: { ttlMs?: number },
    ): Promise<boolean>;
    delete(namespace: string, key: string): Promise<boolean>;
    /** Keys in order. */
    list(namespace: string, prefix?: string): Promise<string[]>;
  };

  // --------------------------------------------------------------------------------------- sessions
  readonly sessions: {
    get(id: string): Promise<Session | undefined>;
    /**
     * Creates it, or merges `meta` into the one that is there (a key set to `null` goes). The transcript counts as that of
     * `meta.principal`.
     */
    put(id: string, meta: Record<string, unknown>): Promise<Session>;
    /** Last used first. `before` is an `updatedAt`. */
    list(filter?: { limit?: number; before?: number; prefix?: string }): Promise<Session[]>;
    /** Adds messages (and creates the session). A turn does this with `finish` instead, in one transaction. */
    append(id: string, messages: readonly NewMessage[]): Promise<void>;
    /** In order. `after` is a `seq`; `last` keeps the newest n of what would be answered. */
    transcript(
      id: string,
      range?: { after?: number; limit?: number; last?: number },
    ): Promise<StoredMessage[]>;
    /** Removes the messages and keeps the session and its `meta`; returns how many. */
    clear(id: string): Promise<number>;
    delete(id: string): Promise<boolean>;
    /** Characters of the transcripts that count as the principal's. */
    bytes(principal: string): Promise<number>;
  };

  // ------------------------------------------------------------------------------- logs of what was
  /** What came in from outside (the webhooks' delivery log). */
  readonly deliveries: {
    append(delivery: NewDelivery): Promise<void>;
    get(id: string): Promise<(Delivery & { payload: string | undefined }) | undefined>;
    /** Newest first, without payloads. `before` is an `at`. */
    list(filter?: {
      source?: string;
      outcome?: string;
      limit?: number;
      before?: number;
    }): Promise<Delivery[]>;
    /** Of those with one of `outcomes` (or of all), keeps the newest `keep` and drops what is older than `before`; returns how many went. */
    prune(options: {
      before?: number;
      keep?: number;
      outcomes?: readonly string[];
    }): Promise<number>;
  };
  /** Histories of cron jobs, polls, hooks: `owner` is e.g. `cron:<id>`. */
  readonly runs: {
    /** Inserts, or replaces the run of that id. */
    put(run: Run): Promise<void>;
    get(id: string): Promise<Run | undefined>;
    /** Newest first. `before` is an `at`. */
    list(filter: {
      owner?: string;
      status?: string;
      limit?: number;
      before?: number;
    }): Promise<Run[]>;
    /** Keeps the newest `keep` of an owner (0: removes all). */
    prune(owner: string, keep: number): Promise<number>;
  };

  // ------------------------------------------------------------------------------------------ usage
  /** Sums per minute, which stay small, and single requests, of which only the newest are kept. */
  readonly usage: {
    /** Adds to the sums; with `requests` also blocks of single requests, and forgets the oldest beyond `keep`. */
    append(records: readonly UsageRecord[], requests?: NewRequests): Promise<void>;
    /** One row per distinct value of `by` (one row in all without it). Minutes count as a whole. */
    sum(filter?: UsageFilter): Promise<UsageSum[]>;
    /** Blocks by their latest request, newest first: as many as hold `least` requests, or a few hundred; none: empty. */
    requests(range: RequestRange): Promise<RequestBlock[]>;
    /** Removes sums and blocks from before `before`; returns how many rows. */
    prune(before: number): Promise<number>;
  };

  // ------------------------------------------------------------------------------------ maintenance
  /** Opens (and migrates) now instead of at the first call. */
  open(): Promise<void>;
  /** Never rejects: says what is wrong. `isQuick`: without its size, which takes longer to find out than the rest. */
  health(isQuick?: boolean): Promise<StoreHealth>;
  /** Integrity problems in plain words; none: empty. Runs beside other work. */
  check(): Promise<string[]>;
  /**
   * A consistent copy, written beside running work: as `<file>.part`, which gets its name when it is whole. Rejects with
   * `conflict` where the file exists. A copy that fails says nothing about the store, whose health stays what it was.
   */
  backup(file: string): Promise<{ bytes: number }>;
  /** Forgets keys, values and rate limits whose time is over. */
  sweep(): Promise<void>;
  /**
   * Gives free space back to the disk. Reads go on; writes wait for its end, in order, so that leases are renewed before
   * anybody can claim them. Needs up to twice the store's size in free space.
   */
  compact(): Promise<{ before: number; after: number }>;
  /** Writes what waits and closes. Later calls reject. */
  close(): Promise<void>;
}

export interface StoreHealth {
  ok: boolean;
  engine: string;
  /** What is wrong, without paths. */
  problem?: string;
  bytes?: number | undefined;
  schemaVersion?: number;
}

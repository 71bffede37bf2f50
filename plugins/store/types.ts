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
   * Who else uses the store: nobody, the other workers of this gateway, or other gateways too. If others use it, counts
   * that must be exact over all processes belong in the store.
   */
  readonly sharedBy: "nobody" | "workers" | "gateways";
  /**
   * Returns true while no other process has the store open, so that no other process adds or leases anything. When another
   * process opens it, the store calls every listener of `onWork`.
   */
  inSoleUse(): boolean;
  /** The store's clock. Compare stored times with this, not with `Date.now()`. */
  now(): number;

  // ------------------------------------------------------------------------------------------ work
  /**
   * Adds everything in the batch, or nothing. If `batch.dedup.key` is remembered already, it writes nothing and `duplicate`
   * holds the first response. With `limit`, a batch that is no duplicate counts as one hit in the same transaction; if the
   * limit refuses it, nothing is written and `limit.allowed` is false.
   */
  enqueue(batch: Batch & { dedup?: Dedup; limit?: Limit }): Promise<Enqueued>;
  /** Returns the first response to a key that is still remembered. */
  known(key: string): Promise<KnownKey | undefined>;
  /**
   * Leases up to `max` lanes of these kinds and returns the head item of each. A lane (per kind) has one item in
   * progress at a time and keeps its order; an item whose lease expired is claimed again, with `attempts` one higher.
   * With `shares`, it skips lanes whose next item would exceed its holder's share.
   */
  claim(
    worker: string,
    max: number,
    leaseMs: number,
    kinds: readonly string[],
    shares?: Shares,
  ): Promise<Claim[]>;
  /** Renews a lease. Returns false if it was lost or the item was cancelled: then the work must be aborted. */
  extend(claim: Claim, leaseMs: number): Promise<boolean>;
  /**
   * Ends a claim and writes `emits` in the same transaction. Returns false if the lease was lost: then nothing was written.
   * The items that this item has drained share its end: they are done with it, stay bound for its retry, or return to their
   * lane if it is dead or cancelled.
   */
  finish(claim: Claim, outcome: ClaimOutcome, emits?: Batch): Promise<boolean>;
  /**
   * Binds up to `max` due items of a lane to the item `by` (in order), and returns all that are bound to it. They are done
   * only when `by` is done. Callers never claim items of such a kind. Their bodies together have at most `maxChars`
   * characters of JSON; a longer item is bound only if no other item is.
   */
  drain(
    lane: string,
    kind: string,
    max: number,
    by: string,
    maxChars?: number,
  ): Promise<WorkItem[]>;
  /** Returns the workers that have leases, including expired ones. */
  workers(): Promise<string[]>;
  /**
   * Ends all leases of a dead worker, so that its lanes can be claimed at once and the schedules that it has leased are due
   * again. Returns the number of leases.
   */
  abandon(worker: string): Promise<number>;
  /** Returns the number of items of a lane that are due and not drained or claimed yet. */
  pending(lane: string, kind: string): Promise<number>;
  /** Returns when the next lane of these kinds is due, or `undefined` if no item waits. A time in the past means now. */
  nextWorkAt(kinds: readonly string[]): Promise<number | undefined>;
  /** Calls `wake` in this process whenever work of this kind may have become claimable. Returns a function that stops this. */
  onWork(kind: string, wake: () => void): () => void;

  readonly items: {
    get(id: string): Promise<WorkItem | undefined>;
    /** Lists the newest items first. `before` is a `seq`. */
    list(filter?: ItemFilter): Promise<WorkItem[]>;
    /** Ends a queued or running item as `cancelled`; a running one loses its lease. Returns false if it had already ended. */
    cancel(id: string): Promise<boolean>;
    /** Makes a queued item due now. Returns false if it does not wait for its time, or is not the next of its lane. */
    wake(id: string): Promise<boolean>;
    /** Puts a dead or cancelled item back into its lane with fresh attempts and failures. */
    replay(id: string): Promise<boolean>;
    /** Removes items that ended before `before` in one of these states. Returns their number. */
    prune(before: number, states: readonly EndedState[]): Promise<number>;
    /** Returns the number of items. A repeated call is very fast on SQLite as long as nothing is written. */
    count(kind: string, state: ItemState): Promise<number>;
    stats(): Promise<QueueStats>;
    /** Lists the lanes with work: leased lanes first, then those with the most queued items. */
    lanes(limit?: number): Promise<LaneStatus[]>;
  };

  // ------------------------------------------------------------------------------------- schedules
  readonly schedules: {
    /** Inserts or replaces the definition and increases `rev`. Returns `undefined` if `rev` is not `expectedRev`. */
    put(schedule: NewSchedule, expectedRev?: number): Promise<Schedule | undefined>;
    get(kind: string, id: string): Promise<Schedule | undefined>;
    list(kind: string): Promise<Schedule[]>;
    /** Lists the schedules whose state has `consecutiveErrors` other than 0. A repeated call is as fast as `items.count`. */
    failing(kind: string): Promise<readonly Schedule[]>;
    delete(kind: string, id: string): Promise<boolean>;
    /** Lists the enabled schedules whose `nextAt` is not after `now`, earliest first. */
    due(kind: string, now: number, limit: number): Promise<Schedule[]>;
    /** Returns the earliest `nextAt` of the enabled schedules of a kind. */
    nextDueAt(kind: string): Promise<number | undefined>;
    /** Returns the cursor of a schedule, which may be large and which `list` omits. */
    cursor(kind: string, id: string): Promise<unknown>;
  };
  /**
   * Takes one slot of a schedule. It writes the new `next` (`null`: never again), the state and the batch only if `nextAt`
   * still is `expectedNext`. Returns the new `rev`, or `undefined` if another gateway took the slot.
   * Work that is done within the slot takes it with a `lease` whose end is `next`, renews the lease with `commitSchedule`
   * and the returned `rev`, and ends it with `commitSchedule` and the newest `rev`.
   */
  tick(slot: ScheduleSlot, batch?: Batch): Promise<number | undefined>;
  /** Writes cursor, state and batch together, only if `rev` still is `expectedRev`. Returns the new `rev`. */
  commitSchedule(commit: ScheduleCommit, batch?: Batch): Promise<number | undefined>;

  // ------------------------------------------------------------------------------------ rate limits
  /**
   * Allows at most `max` in any window of `windowMs`. Up to a `max` of 1,000 it is exact, since it stores every hit; above
   * that it divides the window into 100 slots and errs on the strict side. The counts survive a crash of the process.
   */
  take(key: string, cost: number, max: number, windowMs: number): Promise<Take>;

  /** Limits on amounts that are known only when a request has ended. */
  readonly reservations: {
    /**
     * Reserves the amount that a request may use of each limit, or nothing if one of the limits has no room. It replaces an
     * earlier reservation of `id`. `settle` releases it; otherwise it expires `ttlMs` after the last `extend` of its holder,
     * so that the reservations of a dead process disappear by themselves.
     */
    reserve(
      reservation: { id: string; holder: string; ttlMs: number },
      requests: readonly ReservationRequest[],
    ): Promise<Reserved>;
    /** Releases the reservation of `id`, if there is one, and adds the amounts that were used instead. */
    settle(id: string, charges: readonly Charge[]): Promise<void>;
    /** Extends all reservations of a holder until `ttlMs` from now. */
    extend(holder: string, ttlMs: number): Promise<void>;
  };

  // ------------------------------------------------------------------------------------- key, value
  readonly kv: {
    get<T = unknown>(namespace: string, key: string): Promise<T | undefined>;
    /**
     * Sets a value, which expires after `ttlMs`. Rejects with `invalid_request_error` if namespace and key have more than
     * 2,000 bytes together.
     */
    set(
      namespace: string,
      key: string,
      value: unknown,
      options?: { ttlMs?: number },
    ): Promise<void>;
    /** Sets the value like `set` if the key has none. Returns false, and writes nothing, if it has one. */
    add(
      namespace: string,
      key: string,
      value: unknown,
      options?: { ttlMs?: number },
    ): Promise<boolean>;
    delete(namespace: string, key: string): Promise<boolean>;
    /** Lists the keys in order. */
    list(namespace: string, prefix?: string): Promise<string[]>;
  };

  // --------------------------------------------------------------------------------------- sessions
  readonly sessions: {
    get(id: string): Promise<Session | undefined>;
    /**
     * Creates the session, or merges `meta` into that of an existing one; a key that is `null` is removed. The transcript
     * counts for the quota of `meta.principal`.
     */
    put(id: string, meta: Record<string, unknown>): Promise<Session>;
    /** Lists the last used sessions first. `before` is an `updatedAt`. */
    list(filter?: { limit?: number; before?: number; prefix?: string }): Promise<Session[]>;
    /** Adds messages, and creates the session if it is missing. A turn does this with `finish` instead, in one transaction. */
    append(id: string, messages: readonly NewMessage[]): Promise<void>;
    /** Lists the messages in order. `after` is a `seq`; `last` limits the result to that many of the newest. */
    transcript(
      id: string,
      range?: { after?: number; limit?: number; last?: number },
    ): Promise<StoredMessage[]>;
    /** Removes the messages and keeps the session and its `meta`. Returns the number of messages. */
    clear(id: string): Promise<number>;
    delete(id: string): Promise<boolean>;
    /** Returns the size of the transcripts that count for the principal, in characters. */
    bytes(principal: string): Promise<number>;
  };

  // ------------------------------------------------------------------------------------------- logs
  /** The delivery log of webhooks: requests that came in from outside. */
  readonly deliveries: {
    append(delivery: NewDelivery): Promise<void>;
    get(id: string): Promise<(Delivery & { payload: string | undefined }) | undefined>;
    /** Lists the newest deliveries first, without payloads. `before` is an `at`. */
    list(filter?: {
      source?: string;
      outcome?: string;
      limit?: number;
      before?: number;
    }): Promise<Delivery[]>;
    /**
     * Removes deliveries that are older than `before` or not among the newest `keep`. With `outcomes`, it considers only
     * deliveries with one of them. Returns the number of removed deliveries.
     */
    prune(options: {
      before?: number;
      keep?: number;
      outcomes?: readonly string[];
    }): Promise<number>;
  };
  /** Histories of cron jobs, polls and hooks; `owner` is for example `cron:<id>`. */
  readonly runs: {
    /** Inserts the run, or replaces the run with the same id. */
    put(run: Run): Promise<void>;
    get(id: string): Promise<Run | undefined>;
    /** Lists the newest runs first. `before` is an `at`. */
    list(filter: {
      owner?: string;
      status?: string;
      limit?: number;
      before?: number;
    }): Promise<Run[]>;
    /**
     * Removes all runs of an owner except the newest `keep` and those whose status is `running`, because their end is
     * recorded later. If `keep` is 0, it removes all runs. Returns the number of removed runs.
     */
    prune(owner: string, keep: number): Promise<number>;
  };

  // ------------------------------------------------------------------------------------------ usage
  /** Sums per minute, which stay small, and single requests, of which the store keeps only the newest. */
  readonly usage: {
    /** Adds to the sums. With `requests`, it also adds blocks of single requests, and removes the oldest beyond `keep`. */
    append(records: readonly UsageRecord[], requests?: NewRequests): Promise<void>;
    /** Returns one row per distinct value of `by`, or a single row without it. It counts whole minutes. */
    sum(filter?: UsageFilter): Promise<UsageSum[]>;
    /** Lists blocks by their latest request, newest first, until they hold `least` requests; at most a few hundred blocks. */
    requests(range: RequestRange): Promise<RequestBlock[]>;
    /** Removes sums and blocks from before `before`. Returns the number of removed rows, without those of tags. */
    prune(before: number): Promise<number>;
  };

  // ------------------------------------------------------------------------------------ maintenance
  /** Opens and migrates the store now instead of at the first call. */
  open(): Promise<void>;
  /** Reports problems and never rejects. With `isQuick`, it omits the size, which takes longest to find out. */
  health(isQuick?: boolean): Promise<StoreHealth>;
  /** Lists integrity problems in plain words, while other work continues. */
  check(): Promise<string[]>;
  /**
   * Writes a consistent copy while other work continues. It writes to `<file>.part`, and renames that when it is complete.
   * Rejects with `conflict` if the file exists. A failed copy does not change the health of the store.
   */
  backup(file: string): Promise<{ bytes: number }>;
  /** Removes expired keys, values, rate limits and reservations. */
  sweep(): Promise<void>;
  /**
   * Gives free space back to the disk. Reads continue. On SQLite, writes wait in order until it ends, so that leases are
   * renewed before another worker can claim them, and it needs up to twice the store's size in free space.
   */
  compact(): Promise<{ before: number; after: number }>;
  /** Performs the waiting writes and closes the store. Later calls reject. */
  close(): Promise<void>;
}

export interface StoreHealth {
  ok: boolean;
  engine: string;
  /** Describes what is wrong, without paths. */
  problem?: string;
  bytes?: number | undefined;
  schemaVersion?: number;
}

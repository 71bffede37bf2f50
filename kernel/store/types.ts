/**
 * The store: everything that must outlive the process, behind one interface with one small file per engine.
 *
 * Every writing call is one transaction and resolves only when it is durable; a store that cannot write rejects with
 * `PorticoError("store_unavailable")` (503, `Retry-After`), never resolves. Times are milliseconds since 1970 on the
 * store's own clock (`now()`). Bodies, results and states are anything that JSON can hold.
 */
export interface Store {
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
  /** Sets or replaces the answer that is kept for a key. */
  remember(dedup: Dedup): Promise<void>;
  /**
   * Leases up to `max` lanes of these kinds and returns the head item of each. A lane (per kind) has one item in
   * progress at a time and keeps its order; an item whose lease ran out is handed out again, with `attempts` one higher.
   */
  claim(worker: string, max: number, leaseMs: number, kinds: readonly string[]): Promise<Claim[]>;
  /** Renews a lease. `false`: it was lost (or the item was cancelled), so the work must be aborted. */
  extend(claim: Claim, leaseMs: number): Promise<boolean>;
  /**
   * Ends a claim and writes `emits` with it. `false`: the lease was lost, and nothing was written. Items that were
   * drained by this item end with it: done with it, kept for its retry, or put back where it died.
   */
  finish(claim: Claim, outcome: ClaimOutcome, emits?: Batch): Promise<boolean>;
  /**
   * Binds up to `max` due items of a lane to the item `by` (in order), and returns all that are bound to it. They count
   * as done only when `by` has finished. Items of such a kind are simply never claimed.
   */
  drain(lane: string, kind: string, max: number, by: string): Promise<WorkItem[]>;
  /** Ends all leases of a worker that is known to be dead, so that its lanes can be claimed at once; answers how many. */
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
    /** Puts a dead or cancelled item back into its lane with fresh attempts and failures. */
    replay(id: string): Promise<boolean>;
    /** Removes items that ended before `before` (dead ones too where `dead` is true); answers how many. */
    prune(before: number, options?: { dead?: boolean }): Promise<number>;
    stats(): Promise<QueueStats>;
    /** Lanes with work, busiest first. */
    lanes(limit?: number): Promise<LaneStatus[]>;
  };

  // ------------------------------------------------------------------------------------- schedules
  readonly schedules: {
    /** Inserts or replaces the definition; `rev` goes up. With `expectedRev`, `undefined` where somebody was faster. */
    put(schedule: NewSchedule, expectedRev?: number): Promise<Schedule | undefined>;
    get(kind: string, id: string): Promise<Schedule | undefined>;
    list(kind: string): Promise<Schedule[]>;
    delete(kind: string, id: string): Promise<boolean>;
    /** Enabled schedules whose `nextAt` has come, earliest first. */
    due(kind: string, now: number, limit: number): Promise<Schedule[]>;
    /** The earliest `nextAt` of the enabled schedules of a kind. */
    nextDueAt(kind: string): Promise<number | undefined>;
    /** The large part of a poll's state (seen keys, ETags), which `list` leaves out. */
    cursor(kind: string, id: string): Promise<unknown>;
  };
  /**
   * One slot of a schedule: only where `nextAt` still is `expectedNext` are the new `next` (`null`: never again), the
   * state and the batch written. Answers the new `rev`, or `undefined` where somebody else took the slot.
   * A poller takes the slot with `next` = now + its deadline, then ends it with `commitPoll` and the `rev` from here.
   */
  tick(slot: ScheduleSlot, batch?: Batch): Promise<number | undefined>;
  /** A poll's cursor, state and events together: only where `rev` still is `expectedRev`. Answers the new `rev`. */
  commitPoll(poll: PollCommit, batch?: Batch): Promise<number | undefined>;

  // ------------------------------------------------------------------------------------ rate limits
  /**
   * Never more than `max` in any window of `windowMs`. Exact up to 1,000 (every hit is kept); above that the window is
   * cut into 100 slots and errs on the strict side. Survives a crash of the process.
   */
  take(key: string, cost: number, max: number, windowMs: number): Promise<Take>;

  // ------------------------------------------------------------------------------------- key, value
  readonly kv: {
    get<T = unknown>(namespace: string, key: string): Promise<T | undefined>;
    /** `ttlMs`: forgotten after that. */
    set(namespace: string, key: string, value: unknown, options?: { ttlMs?: number }): Promise<void>;
    delete(namespace: string, key: string): Promise<boolean>;
    /** Keys in order. */
    list(namespace: string, prefix?: string): Promise<string[]>;
    /** Keys and values in order. */
    entries<T = unknown>(namespace: string, prefix?: string): Promise<{ key: string; value: T }[]>;
    clear(namespace: string): Promise<number>;
  };

  // --------------------------------------------------------------------------------------- sessions
  readonly sessions: {
    get(id: string): Promise<Session | undefined>;
    /** Creates it, or merges `meta` into the one that is there (a key set to `null` goes). */
    put(id: string, meta: Record<string, unknown>): Promise<Session>;
    /** Last used first. `before` is an `updatedAt`. */
    list(filter?: { limit?: number; before?: number; prefix?: string }): Promise<Session[]>;
    /** Adds messages (and creates the session). A turn does this with `finish` instead, in one transaction. */
    append(id: string, messages: readonly NewMessage[]): Promise<void>;
    /** In order. `after` is a `seq`; `last` keeps the newest n of what would be answered. */
    transcript(id: string, range?: { after?: number; limit?: number; last?: number }): Promise<StoredMessage[]>;
    /** Removes the messages and keeps the session and its `meta`; answers how many. */
    clear(id: string): Promise<number>;
    delete(id: string): Promise<boolean>;
    /** Removes sessions not used since `before`; answers how many. */
    prune(before: number): Promise<number>;
  };

  // ------------------------------------------------------------------------------- logs of what was
  /** What came in from outside (the webhooks' delivery log). */
  readonly deliveries: {
    append(delivery: NewDelivery): Promise<void>;
    get(id: string): Promise<(Delivery & { payload: string | undefined }) | undefined>;
    /** Newest first, without payloads. `before` is an `at`. */
    list(filter?: { source?: string; outcome?: string; limit?: number; before?: number }): Promise<Delivery[]>;
    /** Changes the outcome and merges `meta`. */
    update(id: string, change: { outcome?: string; meta?: Record<string, unknown> }): Promise<boolean>;
    /** Keeps the newest `keep` and drops what is older than `before`; answers how many went. */
    prune(options: { before?: number; keep?: number }): Promise<number>;
  };
  /** Histories of cron jobs, polls, hooks: `owner` is e.g. `cron:<id>`. */
  readonly runs: {
    /** Inserts, or replaces the run of that id. */
    put(run: Run): Promise<void>;
    get(id: string): Promise<Run | undefined>;
    /** Newest first. `before` is an `at`. */
    list(filter: { owner?: string; status?: string; limit?: number; before?: number }): Promise<Run[]>;
    /** Keeps the newest `keep` of an owner (0: removes all). */
    prune(owner: string, keep: number): Promise<number>;
  };

  // ------------------------------------------------------------------------------------------ usage
  /** Kept summed up per minute, so that it stays small. */
  readonly usage: {
    append(records: readonly UsageRecord[]): Promise<void>;
    /** One row per distinct value of `by` (one row in all without it). Minutes count as a whole. */
    sum(filter?: UsageFilter): Promise<UsageSum[]>;
    prune(before: number): Promise<number>;
  };

  // ------------------------------------------------------------------------------------ maintenance
  /** Opens (and migrates) now instead of at the first call. */
  open(): Promise<void>;
  /** Never rejects: says what is wrong. */
  health(): Promise<StoreHealth>;
  /** Integrity problems in plain words; none: empty. */
  check(): Promise<string[]>;
  /** A consistent copy, written beside running work. The file must not exist. */
  backup(file: string): Promise<{ bytes: number }>;
  /** Forgets keys, values and rate limits whose time is over. */
  sweep(): Promise<void>;
  /** Gives free space back to the disk. */
  compact(): Promise<{ before: number; after: number }>;
  /** Writes what waits and closes. Later calls reject. */
  close(): Promise<void>;
}

/** What is written together, in one transaction. */
export interface Batch {
  items?: readonly NewItem[];
  deliveries?: readonly NewDelivery[];
  runs?: readonly Run[];
  messages?: readonly { session: string; messages: readonly NewMessage[]; meta?: Record<string, unknown> }[];
  kv?: readonly { namespace: string; key: string; value: unknown; ttlMs?: number }[];
  usage?: readonly UsageRecord[];
}

export interface Dedup {
  /** Scope it: `webhook:<token name>:<key>`. */
  key: string;
  /** How long the key is remembered. */
  ttlMs: number;
  /** What the first caller was told, to be told again. */
  answer: unknown;
}
export interface KnownKey {
  answer: unknown;
  /** When it was first used. */
  at: number;
}
export interface Enqueued {
  duplicate?: KnownKey;
  /** The state of `batch.limit`, where there was one. */
  limit?: Take;
}
/** One of the limits that `take` counts. */
export interface Limit {
  key: string;
  max: number;
  windowMs: number;
}

export interface NewItem {
  /** `evt_…`, `turn_…`: unique for ever; adding a known id again is a duplicate and changes nothing. */
  id: string;
  /** Items of one lane and kind run one at a time, in order. */
  lane: string;
  /** What takes it: `turn`, `wake`, … Each kind has lanes of its own. */
  kind: string;
  body: unknown;
  /** Not before this time; default: at once. */
  runAt?: number;
  /** Advice to the worker; default 5. */
  maxAttempts?: number;
  /** Holds the whole lane until nothing was added for `windowMs`, at most `maxWaitMs` from its first waiting item. */
  settle?: { windowMs: number; maxWaitMs: number };
}

/** `held`: drained, waiting for the item `drainedBy` to finish. */
export type ItemState = "queued" | "running" | "held" | "done" | "dead" | "cancelled";

export interface WorkItem<B = unknown> {
  id: string;
  seq: number;
  lane: string;
  kind: string;
  state: ItemState;
  body: B;
  /** How often it was begun, cut-off attempts included. */
  attempts: number;
  /** How often it was given back for a retry because it had failed. */
  failures: number;
  maxAttempts: number;
  createdAt: number;
  runAt?: number;
  /** When its last attempt began. */
  startedAt?: number;
  finishedAt?: number;
  /** For a retry: when. */
  retryAt?: number;
  result?: unknown;
  /** Of the last attempt. */
  error?: ItemError;
  drainedBy?: string;
}
export interface ItemError {
  code: string;
  message: string;
}

export interface Claim<B = unknown> {
  worker: string;
  /** Fencing token: only the newest of a lane can extend or finish. */
  token: number;
  leaseUntil: number;
  /** With `attempts` counting this one. */
  item: WorkItem<B>;
}

export type ClaimOutcome =
  | { state: "done"; result?: unknown }
  /** The lane waits until `at`: order is kept. `interrupted`: it was not the work's fault, and is no failure. */
  | { state: "retry"; at: number; error: ItemError; interrupted?: boolean }
  | { state: "dead"; error: ItemError }
  | { state: "cancelled"; error?: ItemError };

export interface ItemFilter {
  kind?: string;
  lane?: string;
  state?: ItemState;
  limit?: number;
  before?: number;
}
export interface QueueStats {
  /** Kind → state → number. Ended items that were pruned are not counted. */
  kinds: Record<string, Partial<Record<ItemState, number>>>;
  /** `createdAt` of the oldest item that has not ended. */
  oldestAt?: number;
}
export interface LaneStatus {
  lane: string;
  kind: string;
  queued: number;
  /** Who has it leased, until when. */
  worker?: string;
  leaseUntil?: number;
  /** The item in progress, or waiting for its retry. */
  head?: string;
  readyAt: number;
}

export interface NewSchedule {
  kind: string;
  id: string;
  name?: string;
  enabled: boolean;
  /** `null`: never. */
  nextAt: number | null;
  /** The definition. */
  body: unknown;
  /** Left as it is where absent. */
  state?: unknown;
  /** Left as it is where absent; `null` forgets it. */
  cursor?: unknown;
}
export interface Schedule {
  kind: string;
  id: string;
  name?: string;
  enabled: boolean;
  nextAt: number | null;
  body: unknown;
  state: unknown;
  rev: number;
  createdAt: number;
  updatedAt: number;
}
export interface ScheduleSlot {
  kind: string;
  id: string;
  expectedNext: number | null;
  next: number | null;
  /** Left as it is where absent. */
  state?: unknown;
  /** Left as it is where absent (a one-shot job is disabled by its own tick). */
  enabled?: boolean;
}
export interface PollCommit {
  kind: string;
  id: string;
  expectedRev: number;
  next: number | null;
  state?: unknown;
  cursor?: unknown;
  enabled?: boolean;
}

export interface Take {
  allowed: boolean;
  limit: number;
  remaining: number;
  /** 0 where allowed; else how long until the same cost would be allowed. */
  retryAfterMs: number;
  /** Until the window is empty again. */
  resetMs: number;
}

export interface Session {
  id: string;
  createdAt: number;
  updatedAt: number;
  messages: number;
  meta: Record<string, unknown>;
}
export interface NewMessage {
  role: string;
  /** The whole message in OpenAI's form, or whatever its owner needs. */
  body: unknown;
  turnId?: string;
  at?: number;
}
export interface StoredMessage {
  seq: number;
  role: string;
  body: unknown;
  turnId?: string;
  at: number;
}

export interface NewDelivery {
  id: string;
  at?: number;
  /** Which endpoint or mapping. */
  source: string;
  /** `accepted`, `duplicate`, `refused`, … the owner's words. */
  outcome: string;
  /** The event or turn that it became. */
  itemId?: string;
  /** Small and masked: status, headers, address. */
  meta?: Record<string, unknown>;
  /** The raw body, where it is kept. */
  payload?: string;
}
export interface Delivery {
  id: string;
  at: number;
  source: string;
  outcome: string;
  itemId?: string;
  meta: Record<string, unknown>;
}

export interface Run {
  id: string;
  owner: string;
  at: number;
  /** `running`, `ok`, `error`, `skipped`, … the owner's words. */
  status: string;
  endedAt?: number;
  itemId?: string;
  data?: unknown;
}

export interface UsageRecord {
  at?: number;
  channel?: string;
  model?: string;
  /** The client key; absent for the owner. */
  key?: string;
  promptTokens?: number;
  completionTokens?: number;
  cachedTokens?: number;
  /** In whatever currency prices are given. */
  cost?: number;
  /** Default 1. */
  requests?: number;
  errors?: number;
}
export interface UsageFilter {
  since?: number;
  until?: number;
  channel?: string;
  model?: string;
  key?: string;
  by?: readonly ("channel" | "model" | "key" | "minute" | "hour" | "day")[];
}
export interface UsageSum {
  channel?: string;
  model?: string;
  key?: string;
  /** The beginning of the minute, hour or day (UTC). */
  at?: number;
  requests: number;
  errors: number;
  promptTokens: number;
  completionTokens: number;
  cachedTokens: number;
  cost: number;
}

export interface StoreHealth {
  ok: boolean;
  engine: string;
  /** What is wrong, without paths. */
  problem?: string;
  bytes?: number;
  schemaVersion?: number;
}

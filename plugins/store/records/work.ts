/** The queue: batches, items and claims. Times are milliseconds since 1970; bodies are anything that JSON can hold. */
import type { NewDelivery, NewMessage, Run } from "./logs.ts";

/** Records that are written together in one transaction. */
export interface Batch {
  items?: readonly NewItem[];
  deliveries?: readonly NewDelivery[];
  runs?: readonly Run[];
  messages?: readonly {
    session: string;
    messages: readonly NewMessage[];
    meta?: Record<string, unknown>;
  }[];
  kv?: readonly { namespace: string; key: string; value: unknown; ttlMs?: number }[];
}

export interface Dedup {
  /** The key with a scope, for example `webhook:<token name>:<key>`. */
  key: string;
  /** How long the key is remembered. */
  ttlMs: number;
  /** The response to the first caller, which a repeated request receives too. */
  answer: unknown;
}

export interface KnownKey {
  answer: unknown;
  /** When it was first used. */
  at: number;
}

export interface Enqueued {
  duplicate?: KnownKey;
  /** The state of `batch.limit`, if the batch has one. */
  limit?: Take;
}

/** One of the limits that `take` counts. */
export interface Limit {
  key: string;
  max: number;
  windowMs: number;
}

export interface Take {
  allowed: boolean;
  limit: number;
  remaining: number;
  /** 0 if allowed; otherwise the time in milliseconds until the same cost would be allowed. */
  retryAfterMs: number;
  /** The time in milliseconds until the window is empty again. */
  resetMs: number;
}

export interface NewItem {
  /** A unique id such as `evt_…` or `turn_…`. Adding an item with the id of an existing one changes nothing. */
  id: string;
  /** Items of one lane and kind run one at a time, in order. */
  lane: string;
  /** The kind of work, such as `turn` or `wake`, for which consumers ask. Each kind has lanes of its own. */
  kind: string;
  body: unknown;
  /** The principal whose share of claims it counts for; absent if no share limits it. */
  holder?: string | undefined;
  /** The earliest time at which it runs; default: at once. */
  runAt?: number;
  /** The number of attempts after which the consumer should give up; default 5. */
  maxAttempts?: number;
  /** Delays the whole lane until no item was added for `windowMs`, at most `maxWaitMs` from its first waiting item. */
  settle?: { windowMs: number; maxWaitMs: number };
}

/** The numbers of lanes that may be claimed at a time for items that have a holder. */
export interface Shares {
  /** The number of lanes that are claimed already, by holder. */
  used: Readonly<Record<string, number>>;
  /** The largest number of lanes for one holder. */
  each: number;
  /** The largest number of lanes for all holders together. */
  together: number;
}

export type EndedState = "done" | "dead" | "cancelled";

/** A `held` item was drained, and waits for the item `drainedBy` to finish. */
export type ItemState = "queued" | "running" | "held" | EndedState;

export interface WorkItem<B = unknown> {
  id: string;
  seq: number;
  lane: string;
  kind: string;
  state: ItemState;
  body: B;
  /** The number of attempts, including interrupted ones. */
  attempts: number;
  /** The number of attempts that failed and were followed by a retry. */
  failures: number;
  maxAttempts: number;
  createdAt: number;
  runAt?: number;
  /** The time at which the last attempt began. */
  startedAt?: number;
  finishedAt?: number;
  /** The time of the next attempt, if it waits for one. */
  retryAt?: number;
  result?: unknown;
  /** The error of the last attempt. */
  error?: ItemError;
  drainedBy?: string;
}

export interface ItemError {
  code: string;
  message: string;
  /** The HTTP status that belongs to it. */
  status?: number;
}

export interface Claim<B = unknown> {
  worker: string;
  /** The fencing token. Only the newest token of a lane can extend or finish the claim. */
  token: number;
  leaseUntil: number;
  /** The item, whose `attempts` include this one. */
  item: WorkItem<B>;
}

export type ClaimOutcome =
  /** `body` replaces the item's body. */
  | { state: "done"; result?: unknown; body?: unknown }
  /** The lane waits until `at`, which keeps its order. An `interrupted` attempt does not count as a failure. */
  | { state: "retry"; at: number; error: ItemError; interrupted?: boolean }
  /**
   * The work is unfinished, and `body` holds its progress. It continues `at` that time, or after `items.wake`. The claim does
   * not count as an attempt.
   */
  | { state: "paused"; at: number; body: unknown }
  | { state: "dead"; error: ItemError; result?: unknown }
  | { state: "cancelled"; error?: ItemError; result?: unknown };

export interface ItemFilter {
  kind?: string;
  lane?: string;
  state?: ItemState;
  limit?: number;
  before?: number;
}

export interface QueueStats {
  /** The number of items by kind and state, without pruned ones. */
  kinds: Record<string, Partial<Record<ItemState, number>>>;
  /** `createdAt` of the oldest item that has not ended. */
  oldestAt?: number;
}

export interface LaneStatus {
  lane: string;
  kind: string;
  queued: number;
  /** The worker that has leased the lane, until `leaseUntil`. */
  worker?: string;
  leaseUntil?: number;
  /** The item in progress, or waiting for its retry. */
  head?: string;
  readyAt: number;
}

/** The queue: what goes in together, its items and their claims. Times are milliseconds since 1970; bodies anything JSON can hold. */
import type { NewDelivery, NewMessage, Run } from "./logs.ts";

/** What is written together, in one transaction. */
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
  /** Scope it: `webhook:<token name>:<key>`. */
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
  /** The state of `batch.limit`, where there was one. */
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
  /** 0 where allowed; else how long until the same cost would be allowed. */
  retryAfterMs: number;
  /** Until the window is empty again. */
  resetMs: number;
}

export interface NewItem {
  /** `evt_…`, `turn_…`: unique for ever; adding a known id again is a duplicate and changes nothing. */
  id: string;
  /** Items of one lane and kind run one at a time, in order. */
  lane: string;
  /** What takes it: `turn`, `wake`, … Each kind has lanes of its own. */
  kind: string;
  body: unknown;
  /** Who it counts for where claims are shared out; absent: whom no share limits. */
  holder?: string | undefined;
  /** Not before this time; default: at once. */
  runAt?: number;
  /** Advice to the worker; default 5. */
  maxAttempts?: number;
  /** Holds the whole lane until nothing was added for `windowMs`, at most `maxWaitMs` from its first waiting item. */
  settle?: { windowMs: number; maxWaitMs: number };
}

/** How many lanes may be claimed at a time for items that have a holder. */
export interface Shares {
  /** Lanes that are claimed already, by holder. */
  used: Readonly<Record<string, number>>;
  /** For one holder. */
  each: number;
  /** For all holders together. */
  together: number;
}

export type EndedState = "done" | "dead" | "cancelled";

/** `held`: drained, waiting for the item `drainedBy` to finish. */
export type ItemState = "queued" | "running" | "held" | EndedState;

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
  /** The HTTP status that belongs to it. */
  status?: number;
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
  /** `body`: what is kept of the item's own from then on. */
  | { state: "done"; result?: unknown; body?: unknown }
  /** The lane waits until `at`: order is kept. `interrupted`: it was not the work's fault, and is no failure. */
  | { state: "retry"; at: number; error: ItemError; interrupted?: boolean }
  /** Given back unfinished, with what it has done so far as its body: it goes on `at` that time, or once `items.wake` is called. The claim is no attempt. */
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

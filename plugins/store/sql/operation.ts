/**
 * The store's logic is written once, as generators that yield steps and receive their results: SQLite executes them
 * synchronously, an engine over the network awaits each one.
 *
 * In the SQL, placeholders are `?`. Each engine replaces these words by its own: `{serial}` stands for a counting primary
 * key, `{waiting}` for an item that is queued, where it is looked for by its kind and lane, `{skip}` for the clause that
 * passes over rows which another transaction has locked.
 */
import type { Lock } from "./locks.ts";

export type Param = string | number | null;

export interface Query {
  sql: string;
  params: readonly Param[];
  /** Only the first row is wanted. */
  isSingle?: boolean;
  /** Touches no table that anything `Deferred` writes to, so it need not wait for that. */
  apart?: boolean;
  /** Some of the numbers need not be whole. */
  fractions?: boolean;
  /** It may take minutes on a large store. */
  patient?: boolean;
}

/** Takes up to `most` of these locks, in this order, and passes over those that another transaction holds. */
interface TryLocks {
  tryLocks: readonly Lock[];
  most: number;
}

/** The next fencing token. */
interface NextToken {
  nextToken: true;
}

export type Step = Query | TryLocks | NextToken;

export interface Result {
  rows: Record<string, unknown>[];
  changes: number;
}

export type Operation<T> = Generator<Step, T, Result>;

/** An operation that changes something. */
export interface Write<T> {
  /** All that it may lock; or, where that depends on rows, how to look it up. */
  locks: readonly Lock[] | ((tx: Transaction) => Operation<readonly Lock[]>);
  /** Runs when the transaction holds the locks. */
  run(tx: Transaction): Operation<T>;
  /** It need not be on the disk before it resolves, only before the next write that is not soft. */
  soft?: boolean;
  /** Writes of different groups never share a transaction. */
  group?: "usage";
}

/** What an operation knows of the transaction that it runs in. */
export interface Transaction {
  /** The store's clock. */
  now: number;
  /** Whatever changes rows that others change too calls this first. Throws `MissingLock` where the write has not declared the lock. */
  require(lock: Lock): void;
  /** Work of this kind may have become claimable: its listeners hear of it once the transaction is durable. */
  touch(kind: string): void;
  /** The one of its class that all operations of a database transaction share, until it is written. */
  deferred<D extends Deferred>(kind: new () => D): D;
}

/** Writes that are put off, so that many operations make them together; no reader sees the difference. */
export interface Deferred {
  /** Called before any other query runs, and at the end. */
  write(tx: Transaction): Operation<void>;
}

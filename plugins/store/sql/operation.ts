/**
 * The store's logic is written once, as generators that yield steps and receive their results: SQLite executes them
 * synchronously, an engine over the network awaits each one.
 *
 * In the SQL, placeholders are `?`. Each engine replaces these words with SQL of its own: `{serial}` is an automatically
 * incremented primary key, `{waiting}` the condition for queued items in searches by kind and lane, and `{skip}` the clause
 * that skips rows which another transaction has locked.
 */
import type { Lock } from "./locks.ts";

export type Param = string | number | null;

export interface Query {
  sql: string;
  params: readonly Param[];
  /** True if the caller needs only the first row. */
  isSingle?: boolean;
  /** True if the query uses no table that a `Deferred` writes to, so that it need not wait for deferred writes. */
  isIndependent?: boolean;
  /** True if parameters may be fractions; otherwise PostgreSQL gets rounded numbers. */
  hasFractions?: boolean;
  /** True if the query may take minutes on a large store. */
  isSlow?: boolean;
}

/** Takes up to `max` of these locks in this order, and skips those that another transaction holds. */
interface TryLocks {
  tryLocks: readonly Lock[];
  max: number;
}

/** Requests the next fencing token. */
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
  /** All locks that it may need, or an operation that looks them up if they depend on rows. */
  locks: readonly Lock[] | ((tx: Transaction) => Operation<readonly Lock[]>);
  /** Performs the write. The transaction holds the locks by then. */
  run(tx: Transaction): Operation<T>;
  /** True if the write may resolve before it is on the disk. It is durable with the next write that is not soft. */
  isSoft?: boolean;
  /** The group of the write. Writes of different groups never share a transaction. */
  group?: "usage";
}

/** The view that an operation has of its transaction. */
export interface Transaction {
  /** The time of the store's clock, in milliseconds since 1970. */
  now: number;
  /** Throws `MissingLock` if the write has not declared the lock. Call this before you change rows that others change too. */
  require(lock: Lock): void;
  /** Calls the listeners for this kind of work once the transaction is durable, since work may have become claimable. */
  markClaimable(kind: string): void;
  /** Returns the instance of this class that all operations of a database transaction share until it is written. */
  deferred<D extends Deferred>(kind: new () => D): D;
}

/** Deferred writes, which many operations share. No reader sees the difference. */
export interface Deferred {
  /** Performs the writes. The transaction calls this before the next query that is not independent, and at its end. */
  write(tx: Transaction): Operation<void>;
}

/**
 * The store's logic is written once, as generators that yield SQL and get rows: SQLite runs them without waiting,
 * an engine over the network awaits each step. Placeholders are `?`, or `?1` in all of a statement; `{serial}` stands for a counting primary key,
 * `{waiting}` for an item that is queued, where it is looked for by its kind and lane,
 * `{lock}` where rows are to be locked and those that are locked already passed over, `{hold}` where such are waited for;
 * each engine puts its own words there.
 */
export type Param = string | number | null;
export interface Query {
  sql: string;
  params: readonly Param[];
  /** Only the first row is wanted. */
  one?: boolean;
  /** Touches no table that anything `Deferred` writes to, so it need not wait for that. */
  apart?: boolean;
  /** Does nothing but lock: for engines that run several transactions at a time. */
  locks?: boolean;
  /** Among the numbers are some that need not be whole. */
  fractions?: boolean;
}
export interface Result {
  rows: Record<string, unknown>[];
  changes: number;
}
export type Operation<T> = Generator<Query, T, Result>;

/** An operation that takes no step: a generator for each costs a busy store as much as its rows. */
export class Settled<T> {
  readonly done = true;

  constructor(readonly value: T) {}

  /** Its only result, as an iterator has it. */
  next(): this {
    return this;
  }

  /** As an operation. */
  static of<T>(value: T): Operation<T> {
    return new Settled(value) as unknown as Operation<T>;
  }
}

/** What an operation knows of the transaction that it runs in. */
export interface Transaction {
  /** The store's clock when the transaction began. */
  now: number;
  /** Nobody else writes before this is written: what was looked up stays true. */
  readonly isAlone: boolean;
  /** Work of this kind may have become claimable: say so once the transaction is durable. */
  touch(kind: string): void;
  /** The one of its kind that all operations of a database transaction share, until it is written. */
  deferred<D extends Deferred>(kind: new () => D): D;
}

/** Writes that are put off, so that many operations make them together; nobody sees the difference. */
export interface Deferred {
  /** Called before any other query runs, and at the end. */
  write(tx: Transaction): Operation<void>;
}

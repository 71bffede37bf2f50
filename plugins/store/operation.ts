/**
 * The store's logic is written once, as generators that yield SQL and get rows: SQLite runs them without waiting,
 * an engine over the network awaits each step. Placeholders are `?`; `{lock}` stands where rows are to be locked and
 * `{serial}` for a counting primary key, and each engine puts its own words there.
 */
export type Param = string | number | null;
export interface Query {
  sql: string;
  params: readonly Param[];
  /** Only the first row is wanted. */
  one?: boolean;
  /** Touches no table that anything `Deferred` writes to, so it need not wait for that. */
  apart?: boolean;
}
export interface Result {
  rows: Record<string, unknown>[];
  changes: number;
}
export type Operation<T> = Generator<Query, T, Result>;

/** What an operation knows of the transaction that it runs in. */
export interface Transaction {
  /** The store's clock when the transaction began. */
  now: number;
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

/** Runs operations against one database. */
export interface Engine {
  now(): number;
  /** `soft`: need not be on the disk before it resolves, only before the next durable write does. */
  write<T>(operation: (tx: Transaction) => Operation<T>, options?: { soft?: boolean }): Promise<T>;
  read<T>(operation: (tx: Transaction) => Operation<T>): Promise<T>;
  onWork(kind: string, wake: () => void): () => void;
  open(): Promise<void>;
  health(): Promise<import("./types.ts").StoreHealth>;
  check(): Promise<string[]>;
  backup(file: string): Promise<{ bytes: number }>;
  compact(): Promise<{ before: number; after: number }>;
  close(): Promise<void>;
}

/** Of rows in one statement: few, since each size is prepared by itself. */
const SIZES = [32, 16, 8, 4, 2, 1];

export function* all<R>(sql: string, ...params: Param[]): Operation<R[]> {
  const result = yield { sql, params };
  return result.rows as R[];
}

export function* first<R>(sql: string, ...params: Param[]): Operation<R | undefined> {
  const result = yield { sql, params, one: true };
  return result.rows[0] as R | undefined;
}

/**
 * An INSERT of any number of rows, in few statements: `head` says INSERT INTO, `values` is one row's placeholders,
 * `tail` what to do with conflicts. Answers how many rows changed.
 */
export function insertion(
  head: string,
  values: string,
  tail: string,
): (rows: readonly (readonly Param[])[]) => Operation<number> {
  const statements = SIZES.map((size) => ({
    size,
    sql: `${head} VALUES ${`${values}, `.repeat(size - 1)}${values} ${tail}`,
  }));
  return function* insert(rows) {
    let done = 0;
    let changed = 0;
    for (const { size, sql } of statements) {
      for (; rows.length - done >= size; done += size) {
        // for short lists, many times as fast as flat()
        const params = ([] as Param[]).concat(...rows.slice(done, done + size));
        changed += (yield { sql, params }).changes;
      }
    }
    return changed;
  };
}

/** Answers how many rows changed. */
export function* run(sql: string, ...params: Param[]): Operation<number> {
  const result = yield { sql, params };
  return result.changes;
}

export function toJson(value: unknown): string | null {
  return value === undefined ? null : (JSON.stringify(value) ?? null);
}

export function fromJson(text: unknown): unknown {
  return typeof text === "string" ? JSON.parse(text) : undefined;
}

/** `undefined` for the NULL of a database. */
export function optional<T>(value: T | null | undefined): T | undefined {
  return value ?? undefined;
}

/** All strings that begin with `prefix` lie from `prefix` to below this. */
export function prefixEnd(prefix: string): string {
  return `${prefix}\u{10FFFF}`;
}

/** A WHERE clause of the conditions whose value is there, or nothing. */
export function conditions(list: [sql: string, value: Param | undefined][]): { where: string; params: Param[] } {
  const set = list.filter((entry): entry is [string, Param] => entry[1] !== undefined);
  return {
    where: set.length > 0 ? `WHERE ${set.map(([sql]) => sql).join(" AND ")}` : "",
    params: set.map(([, value]) => value),
  };
}

/** A page's size within sane bounds. */
export function pageSize(limit: number | undefined, fallback = 50, most = 1000): number {
  return Math.min(Math.max(Math.trunc(limit ?? fallback), 1), most);
}

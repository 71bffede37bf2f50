/** Steps of operations, and what rows are made of. */
import type { Operation, Param } from "./operation.ts";

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
 * `tail` what to do with conflicts. Returns how many rows changed.
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

/** Returns how many rows changed. */
export function* run(sql: string, ...params: Param[]): Operation<number> {
  const result = yield { sql, params };
  return result.changes;
}

/** Neither engine gives back a text with NUL in it: this one, which Unicode keeps from being a character, stands for it. */
const NUL = "\u{10FFFE}";

export function withoutNul(text: string): string {
  return text.includes("\0") ? text.replaceAll("\0", NUL) : text;
}

export function withNul(text: string): string {
  return text.includes(NUL) ? text.replaceAll(NUL, "\0") : text;
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

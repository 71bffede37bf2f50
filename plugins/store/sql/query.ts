/** Steps of operations, and what rows are made of. */
import type { Operation, Param, Result } from "./operation.ts";

/** Of rows in one statement. Not every size, since each is prepared by itself; but up to 16 rows take one statement. */
const SIZES = [64, 32, ...Array.from({ length: 16 }, (_, i) => 16 - i)];

export function* all<R>(sql: string, ...params: Param[]): Operation<R[]> {
  const result = yield { sql, params };
  return result.rows as R[];
}

export function* first<R>(sql: string, ...params: Param[]): Operation<R | undefined> {
  const result = yield { sql, params, isSingle: true };
  return result.rows[0] as R | undefined;
}

/**
 * An INSERT of any number of rows, in few statements: `head` says INSERT INTO, `values` is one row's placeholders, `tail`
 * what to do with conflicts. Returns the rows that RETURNING names, and how many rows changed.
 */
export function insertion(
  head: string,
  values: string,
  tail: string,
): (rows: readonly (readonly Param[])[]) => Operation<Result> {
  const statements = SIZES.map((size) => ({
    size,
    sql: `${head} VALUES ${new Array(size).fill(values).join(", ")} ${tail}`,
  }));
  return function* insert(rows) {
    const total: Result = { rows: [], changes: 0 };
    let done = 0;
    for (const { size, sql } of statements) {
      for (; rows.length - done >= size; done += size) {
        const params = rows.slice(done, done + size).flat();
        const result = yield { sql, params };
        total.rows.push(...result.rows);
        total.changes += result.changes;
      }
    }
    return total;
  };
}

/** Returns how many rows changed. */
export function* run(sql: string, ...params: Param[]): Operation<number> {
  const result = yield { sql, params };
  return result.changes;
}

/** As `run`, of rows of which there may be very many. */
export function* remove(sql: string, ...params: Param[]): Operation<number> {
  const result = yield { sql, params, patient: true };
  return result.changes;
}

/** Neither engine gives back a text with NUL in it: this one, which Unicode keeps from being a character, stands for it. */
const NUL = "\u{10FFFE}";

/** Values as an engine is to hold them. */
export function withoutNul(params: readonly Param[]): readonly Param[] {
  for (const param of params)
    if (typeof param === "string" && param.includes("\0"))
      return params.map((each) => (typeof each === "string" ? each.replaceAll("\0", NUL) : each));
  return params;
}

/** Rows as they were before `withoutNul`. */
export function withNul<R extends Record<string, unknown>>(rows: R[]): R[] {
  for (const row of rows as Record<string, unknown>[]) {
    for (const key in row) {
      const value = row[key];
      if (typeof value === "string" && value.includes(NUL)) row[key] = value.replaceAll(NUL, "\0");
    }
  }
  return rows;
}

export function toJson(value: unknown): string | null {
  return value === undefined ? null : (JSON.stringify(value) ?? null);
}

/** JSON has no bare NUL: where there is one, it was the character that stands for it. */
export function fromJson(text: unknown): unknown {
  return typeof text === "string" ? JSON.parse(text.replaceAll("\0", NUL)) : undefined;
}

/** `undefined` for the NULL of a database. */
export function optional<T>(value: T | null | undefined): T | undefined {
  return value ?? undefined;
}

/** The upper limit (exclusive) of all strings that begin with `prefix`. */
export function prefixEnd(prefix: string): string {
  return `${prefix}\u{10FFFF}`;
}

/** A WHERE clause of the conditions whose value is there, or nothing. */
export function conditions(list: [sql: string, value: Param | undefined][]): {
  where: string;
  params: Param[];
} {
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

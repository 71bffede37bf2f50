/** Steps of operations, and conversions of values to and from columns. */
import type { Operation, Param, Result } from "./operation.ts";

/** The numbers of rows in one INSERT. There are few, since each is a statement of its own; up to 16 rows take only one. */
const INSERT_SIZES = [64, 32, ...Array.from({ length: 16 }, (_, i) => 16 - i)];

export function* all<R>(sql: string, ...params: Param[]): Operation<R[]> {
  const result = yield { sql, params };
  return result.rows as R[];
}

export function* first<R>(sql: string, ...params: Param[]): Operation<R | undefined> {
  const result = yield { sql, params, isSingle: true };
  return result.rows[0] as R | undefined;
}

/**
 * Returns a function that inserts any number of rows in few statements. `head` is the INSERT INTO clause, `values` one row's
 * placeholders, and `tail` the ON CONFLICT and RETURNING clauses. The result has the returned rows and the number of changes.
 */
export function insertion(
  head: string,
  values: string,
  tail: string,
): (rows: readonly (readonly Param[])[]) => Operation<Result> {
  const statements = INSERT_SIZES.map((size) => ({
    size,
    sql: `${head} VALUES ${new Array(size).fill(values).join(", ")} ${tail}`,
  }));
  return function* insert(rows) {
    const total: Result = { rows: [], changes: 0 };
    let insertedRows = 0;
    for (const { size, sql } of statements) {
      for (; rows.length - insertedRows >= size; insertedRows += size) {
        const params = rows.slice(insertedRows, insertedRows + size).flat();
        const result = yield { sql, params };
        total.rows.push(...result.rows);
        total.changes += result.changes;
      }
    }
    return total;
  };
}

/** Runs a statement and returns the number of changed rows. */
export function* run(sql: string, ...params: Param[]): Operation<number> {
  const result = yield { sql, params };
  return result.changes;
}

/** Runs a statement that may change very many rows and take long. Returns the number of changed rows. */
export function* remove(sql: string, ...params: Param[]): Operation<number> {
  const result = yield { sql, params, isSlow: true };
  return result.changes;
}

/** Stands for NUL in stored texts, since neither engine returns a text with NUL unchanged. Unicode never assigns it. */
const NUL = "\u{10FFFE}";

/** Replaces NUL in values that an engine is to store. */
export function withoutNul(params: readonly Param[]): readonly Param[] {
  for (const param of params)
    if (typeof param === "string" && param.includes("\0"))
      return params.map((value) =>
        typeof value === "string" ? value.replaceAll("\0", NUL) : value,
      );
  return params;
}

/** Restores NUL in the rows of an engine, in place. */
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

/** Parses JSON. It never contains a bare NUL, so a NUL here stands for that code point in the original text. */
export function fromJson(text: unknown): unknown {
  return typeof text === "string" ? JSON.parse(text.replaceAll("\0", NUL)) : undefined;
}

/** Returns `undefined` for the NULL of a database. */
export function fromNull<T>(value: T | null | undefined): T | undefined {
  return value ?? undefined;
}

/** Returns the exclusive upper limit of all strings that begin with `prefix`. */
export function prefixEnd(prefix: string): string {
  return `${prefix}\u{10FFFF}`;
}

/** Joins the conditions that have a value into a WHERE clause, which is empty if none has. */
export function whereClause(list: [sql: string, value: Param | undefined][]): {
  where: string;
  params: Param[];
} {
  const present = list.filter((entry): entry is [string, Param] => entry[1] !== undefined);
  return {
    where: present.length > 0 ? `WHERE ${present.map(([sql]) => sql).join(" AND ")}` : "",
    params: present.map(([, value]) => value),
  };
}

/** Limits the size of a page to 1 through `max`. */
export function pageSize(limit: number | undefined, fallback = 50, max = 1000): number {
  return Math.min(Math.max(Math.trunc(limit ?? fallback), 1), max);
}

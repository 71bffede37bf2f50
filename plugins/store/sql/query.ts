/** Steps of operations, and what rows are made of. */
import type { Operation, Param } from "./operation.ts";

/** Of rows in one statement: few, since each size is prepared by itself. */
const SIZES = [64, 32, 16, 8, 4, 2, 1];

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
 * `tail` what to do with conflicts. Returns how many rows changed. The first `common` values of rows that come together are
 * mostly the same: then they are handed over once, for that costs more than to write them.
 */
export function insertion(
  head: string,
  values: string,
  tail: string,
  common = 0,
): (rows: readonly (readonly Param[])[]) => Operation<number> {
  const statementOf = (size: number, row: (at: number) => string) =>
    `${head} VALUES ${Array.from({ length: size }, (_, at) => row(at)).join(", ")} ${tail}`;
  const statements = SIZES.map((size) => ({
    size,
    sql: statementOf(size, () => values),
    shared: statementOf(size, (at) => numbered(values, common, at)),
  }));
  return function* insert(rows) {
    let done = 0;
    let changed = 0;
    for (const { size, sql, shared } of statements) {
      for (; rows.length - done >= size; done += size) {
        const some = rows.slice(done, done + size);
        const isShared = common > 0 && size > 1 && haveInCommon(some, common);
        const params = isShared ? ownBehind(common, some) : ([] as Param[]).concat(...some); // many times as fast as flat()
        changed += (yield { sql: isShared ? shared : sql, params }).changes;
      }
    }
    return changed;
  };
}

/** The placeholders of a row with their numbers: the first ones are those of every row. */
function numbered(values: string, common: number, row: number): string {
  const own = values.split("?").length - 1 - common;
  let n = 0;
  return values.replaceAll("?", () => `?${++n > common ? n + row * own : n}`);
}

/** The first `common` values of all, once, and then each row's own. */
function ownBehind(common: number, rows: readonly (readonly Param[])[]): Param[] {
  const params = rows[0]!.slice(0, common);
  for (const row of rows) for (let i = common; i < row.length; i++) params.push(row[i]!);
  return params;
}

function haveInCommon(rows: readonly (readonly Param[])[], common: number): boolean {
  const [first] = rows;
  return rows.every((row) => {
    for (let i = 0; i < common; i++) if (row[i] !== first![i]) return false;
    return true;
  });
}

/** Returns how many rows changed. */
export function* run(sql: string, ...params: Param[]): Operation<number> {
  const result = yield { sql, params };
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

/** All strings that begin with `prefix` lie from `prefix` to below this. */
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

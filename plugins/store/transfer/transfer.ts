/** Copies a whole store from one engine to another, page by page; an interrupted copy continues where it stopped. */
import { createHash } from "node:crypto";
import { errors } from "../errors.ts";
import type { Engine } from "../sql/engine.ts";
import type { Operation, Param, Write } from "../sql/operation.ts";
import { COPY_MARK, readCopyMark } from "../sql/incomplete-copy.ts";
import { first, run } from "../sql/query.ts";
import { getKey, readPages, type Row } from "./pages.ts";
import { FRACTIONS, type Table, tables } from "./tables.ts";

/** The number of rows in one statement. PostgreSQL accepts 65,535 parameters, SQLite 32,766. */
const ROWS_PER_INSERT = 100;

export type Source = Pick<Engine, "read">;
export type Target = Pick<Engine, "read" | "write" | "finishCopy">;
interface Progress {
  table: string;
  rows: number;
}

/** The number of rows of a table, and a checksum of their contents that does not depend on their order. */
export interface Sum {
  rows: number;
  checksum: string;
}

export interface TransferOptions {
  /** Names the source, so that only a copy of the same source continues. */
  from: string;
  onProgress?(progress: Progress): void;
  /** Called before the copy counts as complete. Rejects if another process may have written to the source. */
  confirm?(): Promise<void>;
}

/**
 * Copies all tables. Throws `conflict` if the target holds another store, or if source and target differ at the end, for
 * example because another process has written to the source.
 */
export async function transfer(
  source: Source,
  target: Target,
  { from, onProgress, confirm }: TransferOptions,
): Promise<Record<string, Sum>> {
  await markTarget(target, computeMark(from));
  const sums: Record<string, Sum> = {};
  for (const table of tables) {
    await copy(source, target, table, onProgress);
    const expected = await computeSum(source, table);
    const actual = await computeSum(target, table);
    if (expected.checksum !== actual.checksum)
      throw errors.copyDiffers({
        table: table.name,
        expected: expected.rows,
        copied: actual.rows,
      });
    sums[table.name] = actual;
  }
  await confirm?.();
  // This comes before the mark is removed, so that the next call repeats it if the process is killed in between.
  await target.finishCopy();
  await target.write(withoutLocks(() => run("DELETE FROM counters WHERE name = ?", COPY_MARK)));
  return sums;
}

/** Marks the target as incomplete. Throws `conflict` if it is neither empty nor an unfinished copy of this source. */
async function markTarget(target: Target, mark: number): Promise<void> {
  const currentMark = await target.read(readCopyMark);
  if (currentMark === mark) return;
  if (currentMark !== undefined || !(await isEmpty(target))) throw errors.targetNotEmpty();
  const insertMark = "INSERT INTO counters (name, value) VALUES (?, ?)";
  await target.write(withoutLocks(() => run(insertMark, COPY_MARK, mark)));
}

/** Makes a write without locks, since no other process uses the target. */
function withoutLocks<T>(operation: () => Operation<T>): Write<T> {
  return { locks: [], run: operation };
}

/** Returns whether the store has no rows. It ignores the counters, which the migrations create. */
export async function isEmpty(engine: Source): Promise<boolean> {
  for (const { name } of tables)
    if (
      name !== "counters" &&
      (await engine.read(() => first(`SELECT 1 AS yes FROM ${name} LIMIT 1`)))
    )
      return false;
  return true;
}

async function copy(
  source: Source,
  target: Target,
  table: Table,
  onProgress: TransferOptions["onProgress"],
): Promise<void> {
  const last = await target.read(() =>
    first<Row>(
      `SELECT ${table.key.join(", ")} FROM ${table.name} ORDER BY ${orderDescending(table)} LIMIT 1`,
    ),
  );
  // The table of counters has rows from the beginning, so it is always copied as a whole.
  const after = last && table.name !== "counters" ? getKey(table, last) : undefined;
  let rows = 0;
  for await (const page of readPages(source, table, after)) {
    await target.write(withoutLocks(() => insert(table, page)));
    rows += page.length;
    onProgress?.({ table: table.name, rows });
  }
  if (rows === 0) onProgress?.({ table: table.name, rows });
}

function* insert({ name, key, columns }: Table, rows: readonly Row[]): Operation<void> {
  const placeholders = `(${columns.map(() => "?").join(", ")})`;
  const set = columns
    .filter((column) => !key.includes(column))
    .map((column) => `${column} = excluded.${column}`);
  for (let at = 0; at < rows.length; at += ROWS_PER_INSERT) {
    const batch = rows.slice(at, at + ROWS_PER_INSERT);
    const values = `${`${placeholders}, `.repeat(batch.length - 1)}${placeholders}`;
    const sql = `INSERT INTO ${name} (${columns.join(", ")}) VALUES ${values}
      ON CONFLICT (${key.join(", ")}) DO UPDATE SET ${set.join(", ")}`;
    yield { sql, params: batch.flatMap((row) => toValues(columns, row)), hasFractions: true };
  }
}

/** Returns the values as both engines store them. SQLite also stores fractions of times, which have no meaning. */
function toValues(columns: readonly string[], row: Row): Param[] {
  return columns.map((column) => {
    const value = row[column] as Param;
    return typeof value === "number" && !FRACTIONS.has(column) ? Math.round(value) : value;
  });
}

async function computeSum(engine: Source, table: Table): Promise<Sum> {
  const sum = Buffer.alloc(32);
  let rows = 0;
  for await (const page of readPages(engine, table)) {
    for (const row of page) {
      const digest = createHash("sha256")
        .update(JSON.stringify(toValues(table.columns, row)))
        .digest();
      for (let i = 0; i < sum.length; i++) sum[i] = (sum[i] as number) ^ (digest[i] as number);
    }
    rows += page.length;
  }
  return { rows, checksum: `${rows}:${sum.toString("hex")}` };
}

function orderDescending({ key }: Table): string {
  return key.map((column) => `${column} DESC`).join(", ");
}

function computeMark(from: string): number {
  return createHash("sha256").update(from).digest().readUIntBE(0, 6);
}

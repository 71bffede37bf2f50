/** Copies a whole store from one engine to another, page by page; an interrupted copy continues where it stopped. */
import { createHash } from "node:crypto";
import { errors } from "../errors.ts";
import type { Engine } from "../sql/engine.ts";
import type { Operation, Param, Write } from "../sql/operation.ts";
import { PART_MARK, partMark } from "../sql/part.ts";
import { first, run } from "../sql/query.ts";
import { keyOf, pagesOf, type Row } from "./pages.ts";
import { FRACTIONS, type Table, tables } from "./tables.ts";

/** Rows of one statement: PostgreSQL takes 65,535 parameters, SQLite 32,766. */
const ROWS = 100;

export type Source = Pick<Engine, "read">;
export type Target = Pick<Engine, "read" | "write" | "copied">;
interface Progress {
  table: string;
  rows: number;
}

/** What was copied: how many rows, and a sum over their contents that does not depend on their order. */
export interface Sum {
  rows: number;
  checksum: string;
}

export interface TransferOptions {
  /** Names the source, so that only a copy of the same source continues. */
  from: string;
  onProgress?(progress: Progress): void;
  /** Asked before the copy counts as whole; rejects where the source may have been written to. */
  confirm?(): Promise<void>;
}

/**
 * Throws `conflict` where the target holds a store of its own, and where the two do not hold the same at the end, as
 * when the source was written to meanwhile.
 */
export async function transfer(
  source: Source,
  target: Target,
  { from, onProgress, confirm }: TransferOptions,
): Promise<Record<string, Sum>> {
  await begin(target, markOf(from));
  const sums: Record<string, Sum> = {};
  for (const table of tables) {
    await copy(source, target, table, onProgress);
    const expected = await sumOf(source, table);
    const actual = await sumOf(target, table);
    if (expected.checksum !== actual.checksum)
      throw errors.copyDiffers({
        table: table.name,
        expected: expected.rows,
        copied: actual.rows,
      });
    sums[table.name] = actual;
  }
  await confirm?.();
  // Before the mark goes: a process that is killed in between continues behind what is there.
  await target.copied();
  await target.write(alone(() => run("DELETE FROM counters WHERE name = ?", PART_MARK)));
  return sums;
}

/** A target is empty, or was begun with this source. */
async function begin(target: Target, mark: number): Promise<void> {
  const marked = await target.read(partMark);
  if (marked === mark) return;
  if (marked !== undefined || !(await isEmpty(target))) throw errors.targetNotEmpty();
  const insertMark = "INSERT INTO counters (name, value) VALUES (?, ?)";
  await target.write(alone(() => run(insertMark, PART_MARK, mark)));
}

/** No other process uses the target. */
function alone<T>(operation: () => Operation<T>): Write<T> {
  return { locks: [], run: operation };
}

/** Nobody has put anything into it: what is counted begins with the tables themselves. */
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
      `SELECT ${table.key.join(", ")} FROM ${table.name} ORDER BY ${descending(table)} LIMIT 1`,
    ),
  );
  // some rows are there from the beginning: it is copied as a whole
  const after = last && table.name !== "counters" ? keyOf(table, last) : undefined;
  let rows = 0;
  for await (const page of pagesOf(source, table, after)) {
    await target.write(alone(() => insert(table, page)));
    rows += page.length;
    onProgress?.({ table: table.name, rows });
  }
  if (rows === 0) onProgress?.({ table: table.name, rows });
}

function* insert({ name, key, columns }: Table, rows: readonly Row[]): Operation<void> {
  const marks = `(${columns.map(() => "?").join(", ")})`;
  const set = columns
    .filter((column) => !key.includes(column))
    .map((column) => `${column} = excluded.${column}`);
  for (let at = 0; at < rows.length; at += ROWS) {
    const some = rows.slice(at, at + ROWS);
    const values = `${`${marks}, `.repeat(some.length - 1)}${marks}`;
    const sql = `INSERT INTO ${name} (${columns.join(", ")}) VALUES ${values}
      ON CONFLICT (${key.join(", ")}) DO UPDATE SET ${set.join(", ")}`;
    yield { sql, params: some.flatMap((row) => valuesOf(columns, row)), fractions: true };
  }
}

/** As both engines hold them: SQLite also keeps fractions of times, which say nothing. */
function valuesOf(columns: readonly string[], row: Row): Param[] {
  return columns.map((column) => {
    const value = row[column] as Param;
    return typeof value === "number" && !FRACTIONS.has(column) ? Math.round(value) : value;
  });
}

async function sumOf(engine: Source, table: Table): Promise<Sum> {
  const sum = Buffer.alloc(32);
  let rows = 0;
  for await (const page of pagesOf(engine, table)) {
    for (const row of page) {
      const digest = createHash("sha256")
        .update(JSON.stringify(valuesOf(table.columns, row)))
        .digest();
      for (let i = 0; i < sum.length; i++) sum[i] = (sum[i] as number) ^ (digest[i] as number);
    }
    rows += page.length;
  }
  return { rows, checksum: `${rows}:${sum.toString("hex")}` };
}

function descending({ key }: Table): string {
  return key.map((column) => `${column} DESC`).join(", ");
}

function markOf(from: string): number {
  return createHash("sha256").update(from).digest().readUIntBE(0, 6);
}

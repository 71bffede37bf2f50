/**
 * A check for texts that are no UTF-8, as a disk that loses bits leaves them. SQLite stores any bytes as text, and libsql
 * 0.5 has a fault there: it ends the whole process (a Rust panic, `Utf8Error`) when a row with such a text is read, instead of
 * throwing an error. No code of ours can catch that. So what looks at a store before anybody uses it (`portico store check`, an
 * inspection, a move to another engine) reads all texts as bytes first, and names the table.
 */
import { isUtf8 } from "node:buffer";
import { howMany } from "../transfer/pages.ts";
import { type Table, tablesOf } from "../transfer/tables.ts";
import type { BackgroundConnection } from "./connection.ts";

const MOST_ROWS = 500;

export async function textProblems(
  connection: BackgroundConnection,
  schemaVersion: number,
): Promise<string[]> {
  const problems: string[] = [];
  for (const table of tablesOf(schemaVersion)) {
    if (table.texts.length === 0) continue;
    const damaged = await countDamaged(connection, table);
    if (damaged > 0) problems.push(describe(table.name, damaged));
  }
  return problems;
}

function describe(table: string, rows: number): string {
  const are = rows === 1 ? "1 row holds bytes that are" : `${rows} rows hold bytes that are`;
  return `the table ${table} is damaged: ${are} not text, and a gateway that reads them stops`;
}

/** Reads the table in pages of bounded size. */
async function countDamaged(connection: BackgroundConnection, table: Table): Promise<number> {
  let damaged = 0;
  let after = -1;
  for (;;) {
    const last = await endOfPage(connection, table, after);
    if (last === undefined) return damaged;
    damaged += await countInPage(connection, table, after, last);
    after = last;
  }
}

/** The last row id of the page behind `after`; `undefined` where there is none. */
async function endOfPage(
  connection: BackgroundConnection,
  { name, texts }: Table,
  after: number,
): Promise<number | undefined> {
  const bytes = texts.map((column) => `COALESCE(octet_length(${column}), 0)`).join(" + ");
  const rows = await connection.all(
    `SELECT rowid AS at, ${bytes} AS bytes FROM ${name} WHERE rowid > ? ORDER BY rowid LIMIT ?`,
    [after, MOST_ROWS],
  );
  const count = howMany(rows.map((row) => Number(row["bytes"])));
  return count === 0 ? undefined : Number(rows[count - 1]?.["at"]);
}

async function countInPage(
  connection: BackgroundConnection,
  { name, texts }: Table,
  after: number,
  last: number,
): Promise<number> {
  const bytes = texts.map((column) => `CAST(${column} AS BLOB) AS ${column}`).join(", ");
  const sql = `SELECT ${bytes} FROM ${name} WHERE rowid > ? AND rowid <= ?`;
  const rows = await connection.all(sql, [after, last]);
  const isDamaged = (value: unknown) => value instanceof ArrayBuffer && !isUtf8(value);
  return rows.filter((row) => Object.values(row).some(isDamaged)).length;
}

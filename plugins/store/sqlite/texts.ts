/**
 * Checks for texts that are not UTF-8, which a disk that loses bits can cause. SQLite stores any bytes as text, and libsql
 * 0.5 has a fault: when it reads a row with such a text, it ends the whole process (a Rust panic, `Utf8Error`) instead of
 * throwing an error, which JavaScript cannot catch. So `portico store check`, an inspection, and a move to another engine
 * read all texts as bytes first, and name the damaged table.
 */
import { isUtf8 } from "node:buffer";
import { countPageRows } from "../transfer/pages.ts";
import { type Table, readTablesAt } from "../transfer/tables.ts";
import type { BackgroundConnection } from "./connection.ts";

const MAX_ROWS = 500;

export async function findTextProblems(
  connection: BackgroundConnection,
  schemaVersion: number,
): Promise<string[]> {
  const problems: string[] = [];
  for (const table of readTablesAt(schemaVersion)) {
    if (table.texts.length === 0) continue;
    const damaged = await countDamaged(connection, table);
    if (damaged > 0) problems.push(describe(table.name, damaged));
  }
  return problems;
}

function describe(table: string, rows: number): string {
  const subject = rows === 1 ? "1 row holds bytes that are" : `${rows} rows hold bytes that are`;
  return `the table ${table} is damaged: ${subject} not text, and a gateway that reads them stops`;
}

/** Counts the rows with damaged texts. It reads the table in pages of limited size. */
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

/** Returns the last row id of the page after `after`, or `undefined` if there is none. */
async function endOfPage(
  connection: BackgroundConnection,
  { name, texts }: Table,
  after: number,
): Promise<number | undefined> {
  const bytes = texts.map((column) => `COALESCE(octet_length(${column}), 0)`).join(" + ");
  const rows = await connection.all(
    `SELECT rowid AS at, ${bytes} AS bytes FROM ${name} WHERE rowid > ? ORDER BY rowid LIMIT ?`,
    [after, MAX_ROWS],
  );
  const count = countPageRows(rows.map((row) => Number(row["bytes"])));
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

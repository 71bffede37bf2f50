/**
 * Bytes that are no text. SQLite does not look at what a text consists of, and libsql ends the process that reads such a
 * one: so all are looked at as bytes.
 */
import { isUtf8 } from "node:buffer";
import { howMany } from "../transfer/pages.ts";
import { tablesOf, type Table } from "../transfer/tables.ts";
import type { BackgroundConnection } from "./connection.ts";

const MOST_ROWS = 500;

export async function textProblems(
  connection: BackgroundConnection,
  schemaVersion: number,
): Promise<string[]> {
  const problems: string[] = [];
  for (const table of tablesOf(schemaVersion)) {
    const rows = await damagedRows(connection, table);
    const are = rows === 1 ? "1 row holds bytes that are" : `${rows} rows hold bytes that are`;
    if (rows > 0)
      problems.push(
        `the table ${table.name} is damaged: ${are} no text, and a gateway that reads them ends`,
      );
  }
  return problems;
}

async function damagedRows(
  connection: BackgroundConnection,
  { name, texts }: Table,
): Promise<number> {
  const size = ["0", ...texts.map((column) => `COALESCE(octet_length(${column}), 0)`)].join(" + ");
  const bytes = texts.map((column) => `CAST(${column} AS BLOB) AS ${column}`).join(", ");
  let damaged = 0;
  for (let after = -1; ; ) {
    const sizes = await connection.all(
      `SELECT rowid AS at, ${size} AS bytes FROM ${name} WHERE rowid > ? ORDER BY rowid LIMIT ?`,
      [after, MOST_ROWS],
    );
    const count = howMany(sizes.map((row) => Number(row["bytes"])));
    if (count === 0) return damaged;
    const last = Number(sizes[count - 1]?.["at"]);
    if (texts.length > 0)
      for (const row of await connection.all(
        `SELECT ${bytes} FROM ${name} WHERE rowid > ? AND rowid <= ?`,
        [after, last],
      ))
        if (Object.values(row).some((value) => value instanceof ArrayBuffer && !isUtf8(value)))
          damaged++;
    after = last;
  }
}

/** Reads the rows of a table in the order of its key, in pages that fit into memory. */
import type { Engine } from "../sql/engine.ts";
import type { Operation, Param } from "../sql/operation.ts";
import { COPY_MARK } from "../sql/incomplete-copy.ts";
import { all } from "../sql/query.ts";
import type { Table } from "./tables.ts";

const MAX_ROWS = 500;
/** A row that is larger than this is a page of its own. */
const MAX_BYTES = 8 * 1024 * 1024;

export type Row = Record<string, unknown>;
export type Key = readonly Param[];

/** Yields the pages after the key `after`. Each page has at least one row. */
export async function* readPages(
  engine: Pick<Engine, "read">,
  table: Table,
  after?: Key,
): AsyncGenerator<Row[], void> {
  for (let lastKey = after; ; ) {
    const from = lastKey;
    const page = await engine.read(() => readPage(table, from));
    const last = page.at(-1);
    if (!last) return;
    yield page;
    lastKey = getKey(table, last);
  }
}

export function getKey(table: Table, row: Row): Key {
  return table.key.map((column) => row[column] as Param);
}

function* readPage({ name, key, columns, texts }: Table, after: Key | undefined): Operation<Row[]> {
  const keys = key.join(", ");
  const conditions = [
    ...(after ? [`(${keys}) > (${after.map(() => "?").join(", ")})`] : []),
    ...(name === "counters" ? [`name <> '${COPY_MARK}'`] : []),
  ];
  const rest = `FROM ${name} ${conditions.length > 0 ? `WHERE ${conditions.join(" AND ")}` : ""} ORDER BY ${keys} LIMIT ?`;
  const size = ["0", ...texts.map((column) => `COALESCE(octet_length(${column}), 0)`)].join(" + ");
  const sizes = yield* all<{ bytes: number }>(
    `SELECT ${size} AS bytes ${rest}`,
    ...(after ?? []),
    MAX_ROWS,
  );
  const count = countPageRows(sizes.map(({ bytes }) => bytes));
  return count === 0
    ? []
    : yield* all<Row>(`SELECT ${columns.join(", ")} ${rest}`, ...(after ?? []), count);
}

/** Returns how many of the rows with these sizes in bytes make a page. */
export function countPageRows(sizes: readonly number[]): number {
  let sum = 0;
  for (const [i, bytes] of sizes.entries()) {
    sum += bytes;
    if (sum > MAX_BYTES && i > 0) return i;
  }
  return sizes.length;
}

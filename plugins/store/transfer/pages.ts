/** A table's rows in the order of its key, so many at a time as memory and one statement can hold. */
import type { Engine } from "../sql/engine.ts";
import type { Operation, Param } from "../sql/operation.ts";
import { PART_MARK } from "../sql/part.ts";
import { all } from "../sql/query.ts";
import type { Table } from "./tables.ts";

const MOST_ROWS = 500;
/** A row that alone has more comes alone. */
const MOST_BYTES = 8 * 1024 * 1024;

export type Row = Record<string, unknown>;
export type Key = readonly Param[];

/** Those behind `after`; each page has a row at least. */
export async function* pagesOf(
  engine: Pick<Engine, "read">,
  table: Table,
  after?: Key,
): AsyncGenerator<Row[], void> {
  for (let behind = after; ; ) {
    const from = behind;
    const page = await engine.read(() => pageOf(table, from));
    const last = page.at(-1);
    if (!last) return;
    yield page;
    behind = keyOf(table, last);
  }
}

export function keyOf(table: Table, row: Row): Key {
  return table.key.map((column) => row[column] as Param);
}

function* pageOf({ name, key, columns, texts }: Table, after: Key | undefined): Operation<Row[]> {
  const keys = key.join(", ");
  const conditions = [
    ...(after ? [`(${keys}) > (${after.map(() => "?").join(", ")})`] : []),
    ...(name === "counters" ? [`name <> '${PART_MARK}'`] : []),
  ];
  const rest = `FROM ${name} ${conditions.length > 0 ? `WHERE ${conditions.join(" AND ")}` : ""} ORDER BY ${keys} LIMIT ?`;
  const size = ["0", ...texts.map((column) => `COALESCE(octet_length(${column}), 0)`)].join(" + ");
  const sizes = yield* all<{ bytes: number }>(
    `SELECT ${size} AS bytes ${rest}`,
    ...(after ?? []),
    MOST_ROWS,
  );
  const count = howMany(sizes.map(({ bytes }) => bytes));
  return count === 0
    ? []
    : yield* all<Row>(`SELECT ${columns.join(", ")} ${rest}`, ...(after ?? []), count);
}

/** Of rows of these sizes, as many as make a page. */
export function howMany(sizes: readonly number[]): number {
  let sum = 0;
  for (const [i, bytes] of sizes.entries()) {
    sum += bytes;
    if (sum > MOST_BYTES && i > 0) return i;
  }
  return sizes.length;
}

/** An incomplete copy of another store. No gateway may use it before it is complete. */
import type { Operation } from "./operation.ts";
import { first } from "./query.ts";

/** The name of the row in `counters` that marks an incomplete copy. */
export const COPY_MARK = "transfer";
export const SELECT_COPY_MARK = `SELECT value FROM counters WHERE name = '${COPY_MARK}'`;

export const INCOMPLETE_PROBLEM = "it contains an incomplete copy of another store";
export const INCOMPLETE_REMEDY = "Run `portico store migrate` again, or use another store.";

/** Returns the mark of the source of an incomplete copy, or undefined for a complete store. */
export function* readCopyMark(): Operation<number | undefined> {
  return (yield* first<{ value: number }>(SELECT_COPY_MARK))?.value;
}

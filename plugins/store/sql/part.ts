/** An incomplete copy of another store. No gateway may use it before it is complete. */
import type { Operation } from "./operation.ts";
import { first } from "./query.ts";

/** The name of the row in `counters` that marks an incomplete copy. */
export const PART_MARK = "transfer";
export const FIND_PART = `SELECT value FROM counters WHERE name = '${PART_MARK}'`;

export const PART = "it contains an incomplete copy of another store";
export const COMPLETE_PART = "Run `portico store migrate` again, or use another store.";

/** Returns the mark of the source of an incomplete copy, or undefined for a complete store. */
export function* readPartMark(): Operation<number | undefined> {
  return (yield* first<{ value: number }>(FIND_PART))?.value;
}

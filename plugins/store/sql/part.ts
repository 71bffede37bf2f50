/** A store into which another one is being moved: it is not to be used before it holds everything. */
import type { Operation } from "./operation.ts";
import { first } from "./query.ts";

/** Stands in its `counters` until all is there. */
export const PART_MARK = "transfer";
export const FIND_PART = `SELECT value FROM counters WHERE name = '${PART_MARK}'`;

export const PART = "it contains an incomplete copy of another store";
export const COMPLETE_PART = "Run `portico store migrate` again, or use another store.";

/** Of the source that it was begun with; undefined for a whole store. */
export function* partMark(): Operation<number | undefined> {
  return (yield* first<{ value: number }>(FIND_PART))?.value;
}

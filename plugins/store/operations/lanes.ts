/** The rows of the queue, and the times at which lanes become ready. */
import { laneLock } from "../sql/locks.ts";
import type { Operation, Transaction } from "../sql/operation.ts";
import { first, fromJson, insertion, fromNull, run } from "../sql/query.ts";
import type { ItemError, ItemState, WorkItem } from "../types.ts";

export interface ItemRow {
  seq: number;
  id: string;
  kind: string;
  lane: string;
  state: ItemState;
  body: string;
  attempts: number;
  failures: number;
  max_attempts: number;
  created_at: number;
  run_at: number;
  started_at: number | null;
  finished_at: number | null;
  retry_at: number | null;
  result: string | null;
  error: string | null;
  drained_by: string | null;
}

export interface LaneRow {
  kind: string;
  lane: string;
  head: string | null;
}

/** Converts a row into the item that callers see. */
export function toItem(row: ItemRow): WorkItem {
  return {
    id: row.id,
    seq: row.seq,
    lane: row.lane,
    kind: row.kind,
    state: row.state,
    body: fromJson(row.body),
    attempts: row.attempts,
    failures: row.failures,
    maxAttempts: row.max_attempts,
    createdAt: row.created_at,
    runAt: row.run_at > 0 ? row.run_at : undefined,
    startedAt: fromNull(row.started_at),
    finishedAt: fromNull(row.finished_at),
    retryAt: fromNull(row.retry_at),
    result: fromJson(row.result),
    error: fromJson(row.error) as ItemError | undefined,
    drainedBy: fromNull(row.drained_by),
  };
}

export interface LaneOpening {
  /** The id of the first item that was added. */
  id: string;
  kind: string;
  lane: string;
  /** The earliest time of the added items; 0 means at once. */
  readyAt: number;
  since: number;
}

const insertLanes = insertion(
  "INSERT INTO lanes (kind, lane, ready_at, ord, since)",
  "(?, ?, ?, (SELECT seq FROM items WHERE id = ?), ?)",
  `ON CONFLICT (kind, lane) DO UPDATE SET ready_at = excluded.ready_at
   WHERE lanes.head IS NULL AND lanes.ready_at > excluded.ready_at`,
);

/** Makes lanes ready with their earliest item. A lane with an item in progress keeps its time. Pass each lane only once. */
export function* openLanes(tx: Transaction, lanes: readonly LaneOpening[]): Operation<void> {
  yield* insertLanes(
    lanes.map(({ id, kind, lane, readyAt, since }) => [kind, lane, readyAt, id, since]),
  );
  for (const { kind } of lanes) tx.markClaimable(kind);
}

/** Makes the lane of an item that waits again ready at `readyAt`. */
export function reopenLane(
  tx: Transaction,
  { id, kind, lane }: ItemRow,
  readyAt: number,
): Operation<void> {
  tx.require(laneLock({ kind, lane }));
  return openLanes(tx, [{ id, kind, lane, readyAt, since: tx.now }]);
}

/** Delays the lane of a new item until no item was added for a while (`NewItem.settle`). */
export function* delayLane(
  tx: Transaction,
  { id, kind, lane }: { id: string; kind: string; lane: string },
  settle: { windowMs: number; maxWaitMs: number },
  now: number,
): Operation<void> {
  const quietAt = now + settle.windowMs;
  yield* run(
    `INSERT INTO lanes (kind, lane, ready_at, ord, since) VALUES (?, ?, ?, (SELECT seq FROM items WHERE id = ?), ?)
     ON CONFLICT (kind, lane) DO UPDATE
     SET ready_at = CASE WHEN lanes.since + ? < ? THEN lanes.since + ? ELSE ? END
     WHERE lanes.head IS NULL`,
    kind,
    lane,
    now + Math.min(settle.windowMs, settle.maxWaitMs),
    id,
    now,
    settle.maxWaitMs,
    quietAt,
    settle.maxWaitMs,
    quietAt,
  );
  tx.markClaimable(kind);
}

/** Gives a lane without an item in progress the time of its next item, or removes the lane if it is empty. */
export function* updateLane(tx: Transaction, kind: string, lane: string): Operation<void> {
  tx.require(laneLock({ kind, lane }));
  const next = yield* first<{ run_at: number; seq: number }>(
    `SELECT run_at, seq FROM items WHERE kind = ? AND lane = ? AND {waiting} ORDER BY run_at, seq LIMIT 1`,
    kind,
    lane,
  );
  if (!next) {
    yield* run("DELETE FROM lanes WHERE kind = ? AND lane = ? AND head IS NULL", kind, lane);
    return;
  }
  yield* run(
    "UPDATE lanes SET ready_at = ?, ord = ?, since = ? WHERE kind = ? AND lane = ? AND head IS NULL",
    next.run_at,
    next.seq,
    tx.now,
    kind,
    lane,
  );
  tx.markClaimable(kind);
}

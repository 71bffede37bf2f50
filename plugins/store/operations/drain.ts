/** Drains events: a turn takes several of them together, and they end with it. */
import { laneLock, type Lock } from "../sql/locks.ts";
import type { Operation, Transaction, Write } from "../sql/operation.ts";
import { all, first, run } from "../sql/query.ts";
import type { WorkItem } from "../types.ts";
import { type ItemRow, reopenLane, updateLane, toItem } from "./lanes.ts";

/** Returns the locks of the lanes to which the items that `by` has drained return unless it is done. */
export function* findDrainedLaneLocks(by: string): Operation<Lock[]> {
  const rows = yield* all<{ kind: string; lane: string }>(
    "SELECT DISTINCT kind, lane FROM items WHERE drained_by = ? AND state = 'held'",
    by,
  );
  return rows.map(laneLock);
}

/** Ends the items that another item has drained: they are done with it, or return to their lane if it is dead or cancelled. */
export function* endDrained(
  tx: Transaction,
  by: string,
  state: "done" | "dead" | "cancelled",
  error: string | null,
): Operation<void> {
  if (state === "done") {
    yield* run(
      "UPDATE items SET state = 'done', finished_at = ?, attempts = attempts + 1 WHERE drained_by = ? AND state = 'held'",
      tx.now,
      by,
    );
    return;
  }
  const extraAttempts = state === "dead" ? 1 : 0;
  yield* run(
    `UPDATE items SET state = 'dead', finished_at = ?, attempts = attempts + 1, error = ?
     WHERE drained_by = ? AND state = 'held' AND attempts + ? >= max_attempts AND ? = 1`,
    tx.now,
    error,
    by,
    extraAttempts,
    extraAttempts,
  );
  const returnedRows = yield* all<ItemRow>(
    `UPDATE items SET state = 'queued', attempts = attempts + ?, drained_by = NULL, error = ?
     WHERE drained_by = ? AND state = 'held' RETURNING *`,
    extraAttempts,
    error,
    by,
  );
  for (const row of returnedRows) yield* reopenLane(tx, row, row.run_at);
}

export interface DrainOptions {
  lane: string;
  kind: string;
  max: number;
  /** The id of the item that takes them. */
  by: string;
  maxChars?: number | undefined;
}

export function drain(options: DrainOptions): Write<WorkItem[]> {
  return { locks: [laneLock(options)], run: (tx) => bindItems(tx, options) };
}

function* bindItems(tx: Transaction, options: DrainOptions): Operation<WorkItem[]> {
  const { lane, kind, max, by, maxChars = Number.POSITIVE_INFINITY } = options;
  const drained = yield* all<ItemRow>(
    "SELECT * FROM items WHERE drained_by = ? AND kind = ? ORDER BY seq",
    by,
    kind,
  );
  const room = max - drained.length;
  if (room <= 0) return drained.map(toItem);
  const chars = maxChars - drained.reduce((sum, { body }) => sum + body.length, 0);
  const newRows: ItemRow[] = [];
  for (const id of yield* selectFitting(tx, options, room, chars)) {
    const row = yield* first<ItemRow>(
      "UPDATE items SET state = 'held', drained_by = ?, started_at = ? WHERE id = ? AND state = 'queued' RETURNING *",
      by,
      tx.now,
      id,
    );
    if (row) newRows.push(row);
  }
  if (newRows.length > 0) yield* updateLane(tx, kind, lane);
  return [...drained, ...newRows].sort((a, b) => a.seq - b.seq).map(toItem);
}

interface WaitingItem {
  seq: number;
  id: string;
  chars: number;
}

/** Returns the ids of due items in order, as far as there is room. A single item longer than that is returned alone. */
function* selectFitting(
  tx: Transaction,
  { lane, kind, by }: DrainOptions,
  room: number,
  chars: number,
): Operation<string[]> {
  const due = yield* findDueItems(tx, kind, lane, room);
  const ids: string[] = [];
  let remainingChars = chars;
  for (const item of due) {
    remainingChars -= item.chars;
    if (remainingChars < 0) break;
    ids.push(item.id);
  }
  const [next] = due;
  if (ids.length > 0 || !next) return ids;
  const bound = yield* first("SELECT 1 AS yes FROM items WHERE drained_by = ? LIMIT 1", by);
  return bound ? [] : [next.id];
}

/** Returns due items in order. Each of the two queries reads the index in order and stops at its limit. */
function* findDueItems(
  tx: Transaction,
  kind: string,
  lane: string,
  limit: number,
): Operation<WaitingItem[]> {
  const select = `SELECT seq, id, LENGTH(body) AS chars FROM items WHERE kind = ? AND lane = ? AND {waiting}`;
  const order = "ORDER BY run_at, seq LIMIT ?";
  const atOnce = yield* all<WaitingItem>(`${select} AND run_at <= 0 ${order}`, kind, lane, limit);
  const due = `${select} AND run_at > 0 AND run_at <= ? ${order}`;
  const later = yield* all<WaitingItem>(due, kind, lane, tx.now, limit);
  return [...atOnce, ...later].sort((a, b) => a.seq - b.seq).slice(0, limit);
}

export function* countPending(tx: Transaction, lane: string, kind: string): Operation<number> {
  const row = yield* first<{ n: number }>(
    `SELECT COUNT(*) AS n FROM items WHERE kind = ? AND lane = ? AND {waiting} AND run_at <= ?`,
    kind,
    lane,
    tx.now,
  );
  return row?.n ?? 0;
}

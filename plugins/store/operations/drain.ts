/** Events that one turn takes together, and that end with it. */
import type { Operation, Transaction } from "../sql/operation.ts";
import { all, first, run } from "../sql/query.ts";
import type { WorkItem } from "../types.ts";
import { type ItemRow, reopenLane, settleLane, toItem } from "./lanes.ts";

/** What an item had drained is done with it, or goes back to its lane where the item came to nothing. */
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
  const counted = state === "dead" ? 1 : 0;
  yield* run(
    `UPDATE items SET state = 'dead', finished_at = ?, attempts = attempts + 1, error = ?
     WHERE drained_by = ? AND state = 'held' AND attempts + ? >= max_attempts AND ? = 1`,
    tx.now,
    error,
    by,
    counted,
    counted,
  );
  const back = yield* all<ItemRow>(
    `UPDATE items SET state = 'queued', attempts = attempts + ?, drained_by = NULL, error = ?
     WHERE drained_by = ? AND state = 'held' RETURNING *`,
    counted,
    error,
    by,
  );
  for (const row of back) yield* reopenLane(tx, row, row.run_at);
}

export function* drain(
  tx: Transaction,
  lane: string,
  kind: string,
  max: number,
  by: string,
  maxChars = Number.POSITIVE_INFINITY,
): Operation<WorkItem[]> {
  const held = yield* all<ItemRow>(
    "SELECT * FROM items WHERE drained_by = ? AND kind = ? ORDER BY seq",
    by,
    kind,
  );
  const room = max - held.length;
  if (room <= 0) return held.map(toItem);
  const chars = maxChars - held.reduce((sum, { body }) => sum + body.length, 0);
  const taken: ItemRow[] = [];
  for (const id of yield* fitting(tx, lane, kind, room, chars, by)) {
    const row = yield* first<ItemRow>(
      "UPDATE items SET state = 'held', drained_by = ?, started_at = ? WHERE id = ? AND state = 'queued' RETURNING *",
      by,
      tx.now,
      id,
    );
    if (row) taken.push(row);
  }
  if (taken.length > 0) yield* settleLane(tx, kind, lane);
  return [...held, ...taken].sort((a, b) => a.seq - b.seq).map(toItem);
}

interface Waiting {
  seq: number;
  id: string;
  chars: number;
}

/** The ids of what is due, in order, as far as there is room; one that is longer than all room only by itself. */
function* fitting(
  tx: Transaction,
  lane: string,
  kind: string,
  room: number,
  chars: number,
  by: string,
): Operation<string[]> {
  const select = `SELECT seq, id, LENGTH(body) AS chars FROM items WHERE kind = ? AND lane = ? AND {waiting} AND`;
  const waiting = [
    ...(yield* all<Waiting>(
      `${select} run_at <= 0 ORDER BY run_at, seq LIMIT ?`,
      kind,
      lane,
      room,
    )),
    ...(yield* all<Waiting>(
      `${select} run_at > 0 AND run_at <= ? ORDER BY run_at, seq LIMIT ?`,
      kind,
      lane,
      tx.now,
      room,
    )),
  ].sort((a, b) => a.seq - b.seq);
  let left = chars;
  const next = waiting.slice(0, room);
  const end = next.findIndex((item) => (left -= item.chars) < 0);
  if (end !== 0) return (end < 0 ? next : next.slice(0, end)).map(({ id }) => id);
  const bound = yield* first("SELECT 1 AS yes FROM items WHERE drained_by = ? LIMIT 1", by);
  return bound ? [] : next.slice(0, 1).map(({ id }) => id);
}

export function* pending(tx: Transaction, lane: string, kind: string): Operation<number> {
  const row = yield* first<{ n: number }>(
    `SELECT COUNT(*) AS n FROM items WHERE kind = ? AND lane = ? AND {waiting} AND run_at <= ?`,
    kind,
    lane,
    tx.now,
  );
  return row?.n ?? 0;
}

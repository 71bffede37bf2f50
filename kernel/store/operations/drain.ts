/** Events that one turn takes together, and that end with it. */
import { all, first, type Operation, run, type Transaction } from "../operation.ts";
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

export function* drain(tx: Transaction, lane: string, kind: string, max: number, by: string): Operation<WorkItem[]> {
  const held = yield* all<ItemRow>("SELECT * FROM items WHERE drained_by = ? AND kind = ? ORDER BY seq", by, kind);
  const room = max - held.length;
  if (room <= 0) return held.map(toItem);
  const where = "FROM items WHERE kind = ? AND lane = ? AND state = 'queued'";
  const waiting = [
    ...(yield* all<ItemRow>(`SELECT * ${where} AND run_at = 0 ORDER BY seq LIMIT ?`, kind, lane, room)),
    ...(yield* all<ItemRow>(
      `SELECT * ${where} AND run_at > 0 AND run_at <= ? ORDER BY run_at, seq LIMIT ?`,
      kind,
      lane,
      tx.now,
      room,
    )),
  ];
  waiting.sort((a, b) => a.seq - b.seq);
  const taken = waiting.slice(0, room);
  for (const row of taken) {
    yield* run(
      "UPDATE items SET state = 'held', drained_by = ?, started_at = ? WHERE id = ? AND state = 'queued'",
      by,
      tx.now,
      row.id,
    );
    Object.assign(row, { state: "held", drained_by: by, started_at: tx.now });
  }
  if (taken.length > 0) yield* settleLane(tx, kind, lane);
  return [...held, ...taken].sort((a, b) => a.seq - b.seq).map(toItem);
}

export function* pending(tx: Transaction, lane: string, kind: string): Operation<number> {
  const row = yield* first<{ n: number }>(
    "SELECT COUNT(*) AS n FROM items WHERE kind = ? AND lane = ? AND state = 'queued' AND run_at <= ?",
    kind,
    lane,
    tx.now,
  );
  return row?.n ?? 0;
}

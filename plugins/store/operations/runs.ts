/** Histories of runs: when they ran and how they ended. */
import type { Run } from "../types.ts";
import { type Lock, rowLock } from "../sql/locks.ts";
import type { Operation, Transaction, Write } from "../sql/operation.ts";
import {
  all,
  whereClause,
  first,
  fromJson,
  fromNull,
  pageSize,
  run,
  toJson,
} from "../sql/query.ts";

interface RunRow {
  id: string;
  owner: string;
  at: number;
  status: string;
  ended_at: number | null;
  item_id: string | null;
  data: string | null;
}

function toRun(row: RunRow): Run {
  return {
    id: row.id,
    owner: row.owner,
    at: row.at,
    status: row.status,
    endedAt: fromNull(row.ended_at),
    itemId: fromNull(row.item_id),
    data: fromJson(row.data),
  };
}

/** Returns the lock of all runs of an owner. */
export function runsLock(owner: string): Lock {
  return rowLock("runs", owner);
}

export function writeRun(entry: Run): Write<void> {
  return { locks: [runsLock(entry.owner)], run: (tx) => putRun(tx, entry) };
}

export function* putRun(tx: Transaction, entry: Run): Operation<void> {
  tx.require(runsLock(entry.owner));
  yield* run(
    `INSERT INTO runs (id, owner, at, status, ended_at, item_id, data) VALUES (?, ?, ?, ?, ?, ?, ?)
     ON CONFLICT (id) DO UPDATE SET owner = excluded.owner, at = excluded.at, status = excluded.status,
       ended_at = excluded.ended_at, item_id = excluded.item_id, data = excluded.data`,
    entry.id,
    entry.owner,
    entry.at,
    entry.status,
    entry.endedAt ?? null,
    entry.itemId ?? null,
    toJson(entry.data),
  );
}

export function* getRun(id: string): Operation<Run | undefined> {
  const row = yield* first<RunRow>("SELECT * FROM runs WHERE id = ?", id);
  return row && toRun(row);
}

export function* listRuns(filter: {
  owner?: string;
  status?: string;
  limit?: number;
  before?: number;
}): Operation<Run[]> {
  const { where, params } = whereClause([
    ["owner = ?", filter.owner],
    ["status = ?", filter.status],
    ["at < ?", filter.before],
  ]);
  const rows = yield* all<RunRow>(
    `SELECT * FROM runs ${where} ORDER BY at DESC, id DESC LIMIT ?`,
    ...params,
    pageSize(filter.limit),
  );
  return rows.map(toRun);
}

export function pruneRuns(owner: string, keep: number): Write<number> {
  const ended = keep === 0 ? "" : "AND status <> 'running'";
  return {
    locks: [runsLock(owner)],
    run: () =>
      run(
        `DELETE FROM runs WHERE owner = ? ${ended} AND id NOT IN
           (SELECT id FROM runs WHERE owner = ? ORDER BY at DESC, id DESC LIMIT ?)`,
        owner,
        owner,
        keep,
      ),
  };
}

/** Reads the queue, and removes ended items. */
import type { Operation, Write } from "../sql/operation.ts";
import { all, whereClause, first, fromNull, pageSize, remove } from "../sql/query.ts";
import type {
  EndedState,
  ItemFilter,
  ItemState,
  LaneStatus,
  QueueStats,
  WorkItem,
} from "../types.ts";
import { type ItemRow, toItem } from "./lanes.ts";

export function* getItem(id: string): Operation<WorkItem | undefined> {
  const row = yield* first<ItemRow>("SELECT * FROM items WHERE id = ?", id);
  return row && toItem(row);
}

export function* listItems(filter: ItemFilter): Operation<WorkItem[]> {
  const { where, params } = whereClause([
    ["kind = ?", filter.kind],
    ["lane = ?", filter.lane],
    ["state = ?", filter.state],
    ["seq < ?", filter.before],
  ]);
  const rows = yield* all<ItemRow>(
    `SELECT * FROM items ${where} ORDER BY seq DESC LIMIT ?`,
    ...params,
    pageSize(filter.limit),
  );
  return rows.map(toItem);
}

export function* countItems(kind: string, state: ItemState): Operation<number> {
  const row = yield* first<{ n: number }>(
    "SELECT COUNT(*) AS n FROM items WHERE kind = ? AND state = ?",
    kind,
    state,
  );
  return row?.n ?? 0;
}

/** Removes ended items. It skips those that another transaction is changing, such as an item that returns to its lane. */
export function pruneItems(before: number, states: readonly EndedState[]): Write<number> {
  const placeholders = states.map(() => "?").join(", ");
  const selection = `SELECT seq FROM items WHERE finished_at < ? AND state IN (${placeholders}) {skip}`;
  return {
    locks: [],
    run: () => remove(`DELETE FROM items WHERE seq IN (${selection})`, before, ...states),
  };
}

export function* readQueueStats(): Operation<QueueStats> {
  const kinds: QueueStats["kinds"] = {};
  const rows = yield* all<{ kind: string; state: ItemState; n: number }>(
    "SELECT kind, state, COUNT(*) AS n FROM items GROUP BY kind, state",
  );
  for (const row of rows) {
    kinds[row.kind] ??= {};
    Object.assign(kinds[row.kind] ?? {}, { [row.state]: row.n });
  }
  let oldestAt: number | undefined;
  for (const kind of Object.keys(kinds)) {
    for (const state of ["queued", "running", "held"]) {
      const row = yield* first<{ at: number }>(
        "SELECT created_at AS at FROM items WHERE kind = ? AND state = ? ORDER BY seq LIMIT 1",
        kind,
        state,
      );
      if (row && (oldestAt === undefined || row.at < oldestAt)) oldestAt = row.at;
    }
  }
  return { kinds, oldestAt };
}

export function* listLanes(limit: number | undefined): Operation<LaneStatus[]> {
  const rows = yield* all<{
    kind: string;
    lane: string;
    ready_at: number;
    head: string | null;
    worker: string | null;
    lease_until: number | null;
    queued: number;
  }>(
    `SELECT l.kind, l.lane, l.ready_at, l.head, l.worker, l.lease_until, COUNT(i.seq) AS queued
     FROM lanes l LEFT JOIN (SELECT kind, lane, seq FROM items WHERE {waiting}) i ON i.kind = l.kind AND i.lane = l.lane
     GROUP BY l.kind, l.lane, l.ready_at, l.head, l.worker, l.lease_until
     ORDER BY CASE WHEN l.worker IS NULL THEN 1 ELSE 0 END, queued DESC, l.kind, l.lane LIMIT ?`,
    pageSize(limit, 100),
  );
  return rows.map((row) => ({
    lane: row.lane,
    kind: row.kind,
    queued: row.queued,
    worker: fromNull(row.worker),
    leaseUntil: fromNull(row.lease_until),
    head: fromNull(row.head),
    readyAt: row.ready_at,
  }));
}

/** Lists contradictions between lanes and items, in plain words. */
export function* findQueueProblems(): Operation<string[]> {
  const problems: string[] = [];
  const withoutLane = yield* first<{ n: number }>(
    `SELECT COUNT(*) AS n FROM items i WHERE i.state IN ('queued', 'running')
     AND NOT EXISTS (SELECT 1 FROM lanes l WHERE l.kind = i.kind AND l.lane = i.lane)`,
  );
  if (withoutLane && withoutLane.n > 0)
    problems.push(`${withoutLane.n} queued or running items belong to no queue (lane)`);
  const orphans = yield* first<{ n: number }>(
    `SELECT COUNT(*) AS n FROM items i WHERE i.state = 'held'
     AND NOT EXISTS (SELECT 1 FROM items d WHERE d.id = i.drained_by AND d.state IN ('queued', 'running'))`,
  );
  if (orphans && orphans.n > 0) problems.push(`${orphans.n} items wait for a turn that has ended`);
  return problems;
}

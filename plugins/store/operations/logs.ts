/** What happened: deliveries that came in, runs that were made. */
import {
  all,
  type Deferred,
  first,
  fromJson,
  insertion,
  type Operation,
  optional,
  type Param,
  conditions,
  pageSize,
  run,
  toJson,
  type Transaction,
} from "../operation.ts";
import { mergeMeta } from "./sessions.ts";
import type { Delivery, NewDelivery, Run } from "../types.ts";

interface DeliveryRow {
  id: string;
  at: number;
  source: string;
  outcome: string;
  item_id: string | null;
  meta: string;
  payload?: string | null;
}

function toDelivery(row: DeliveryRow): Delivery {
  const delivery: Delivery = {
    id: row.id,
    at: row.at,
    source: row.source,
    outcome: row.outcome,
    meta: fromJson(row.meta) as Record<string, unknown>,
  };
  const itemId = optional(row.item_id);
  if (itemId !== undefined) delivery.itemId = itemId;
  return delivery;
}

const insertDeliveries = insertion(
  "INSERT INTO deliveries (id, at, source, outcome, item_id, meta, payload)",
  "(?, ?, ?, ?, ?, ?, ?)",
  "ON CONFLICT (id) DO NOTHING",
);

class NewDeliveries implements Deferred {
  readonly rows: Param[][] = [];

  *write(): Operation<void> {
    yield* insertDeliveries(this.rows);
  }
}

export function addDelivery(tx: Transaction, delivery: NewDelivery): void {
  tx.deferred(NewDeliveries).rows.push([
    delivery.id,
    delivery.at ?? tx.now,
    delivery.source,
    delivery.outcome,
    delivery.itemId ?? null,
    toJson(delivery.meta ?? {}),
    delivery.payload ?? null,
  ]);
}

export function* getDelivery(id: string): Operation<(Delivery & { payload: string | undefined }) | undefined> {
  const row = yield* first<DeliveryRow>("SELECT * FROM deliveries WHERE id = ?", id);
  return row && { ...toDelivery(row), payload: optional(row.payload) };
}

export function* listDeliveries(filter: {
  source?: string;
  outcome?: string;
  limit?: number;
  before?: number;
}): Operation<Delivery[]> {
  const { where, params } = conditions([
    ["source = ?", filter.source],
    ["outcome = ?", filter.outcome],
    ["at < ?", filter.before],
  ]);
  const rows = yield* all<DeliveryRow>(
    `SELECT id, at, source, outcome, item_id, meta FROM deliveries ${where} ORDER BY at DESC, id DESC LIMIT ?`,
    ...params,
    pageSize(filter.limit),
  );
  return rows.map(toDelivery);
}

export function* updateDelivery(
  id: string,
  change: { outcome?: string; meta?: Record<string, unknown> },
): Operation<boolean> {
  const row = yield* first<DeliveryRow>("SELECT * FROM deliveries WHERE id = ?", id);
  if (!row) return false;
  const meta = change.meta ? mergeMeta(fromJson(row.meta) as Record<string, unknown>, change.meta) : undefined;
  yield* run(
    "UPDATE deliveries SET outcome = ?, meta = ? WHERE id = ?",
    change.outcome ?? row.outcome,
    meta ? toJson(meta) : row.meta,
    id,
  );
  return true;
}

export function* pruneDeliveries(options: { before?: number; keep?: number }): Operation<number> {
  let removed = 0;
  if (options.before !== undefined) removed += yield* run("DELETE FROM deliveries WHERE at < ?", options.before);
  if (options.keep !== undefined) {
    const oldest = yield* first<{ at: number }>(
      "SELECT at FROM deliveries ORDER BY at DESC LIMIT 1 OFFSET ?",
      Math.max(0, options.keep - 1),
    );
    if (oldest) removed += yield* run("DELETE FROM deliveries WHERE at < ?", oldest.at);
  }
  return removed;
}

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
  const entry: Run = { id: row.id, owner: row.owner, at: row.at, status: row.status };
  const endedAt = optional(row.ended_at);
  const itemId = optional(row.item_id);
  if (endedAt !== undefined) entry.endedAt = endedAt;
  if (itemId !== undefined) entry.itemId = itemId;
  if (row.data !== null) entry.data = fromJson(row.data);
  return entry;
}

export function* putRun(entry: Run): Operation<void> {
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
  const { where, params } = conditions([
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

export function* pruneRuns(owner: string, keep: number): Operation<number> {
  return yield* run(
    `DELETE FROM runs WHERE owner = ? AND id NOT IN
       (SELECT id FROM runs WHERE owner = ? ORDER BY at DESC, id DESC LIMIT ?)`,
    owner,
    owner,
    keep,
  );
}

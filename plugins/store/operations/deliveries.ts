/** The log of what came in from outside. */
import type { Deferred, Operation, Param, Transaction } from "../sql/operation.ts";
import { all, conditions, first, fromJson, insertion, optional, pageSize, run, toJson } from "../sql/query.ts";
import { mergeMeta } from "./sessions.ts";
import type { Delivery, NewDelivery } from "../types.ts";

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
  return {
    id: row.id,
    at: row.at,
    source: row.source,
    outcome: row.outcome,
    itemId: optional(row.item_id),
    meta: fromJson(row.meta) as Record<string, unknown>,
  };
}

const insertDeliveries = insertion(
  "INSERT INTO deliveries (source, outcome, at, id, item_id, meta, payload)",
  "(?, ?, ?, ?, ?, ?, ?)",
  "ON CONFLICT (id) DO NOTHING",
  3,
);

class NewDeliveries implements Deferred {
  readonly rows: Param[][] = [];

  *write(): Operation<void> {
    yield* insertDeliveries(this.rows);
  }
}

export function addDelivery(tx: Transaction, delivery: NewDelivery): void {
  tx.deferred(NewDeliveries).rows.push([
    delivery.source,
    delivery.outcome,
    delivery.at ?? tx.now,
    delivery.id,
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
  const row = yield* first<DeliveryRow>("SELECT * FROM deliveries WHERE id = ? {hold}", id);
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

export function* pruneDeliveries(options: {
  before?: number;
  keep?: number;
  outcomes?: readonly string[];
}): Operation<number> {
  const { before, keep, outcomes = [] } = options;
  const among = outcomes.length === 0 ? "" : `AND outcome IN (${outcomes.map(() => "?").join(", ")})`;
  let removed = 0;
  if (before !== undefined) removed += yield* run(`DELETE FROM deliveries WHERE at < ? ${among}`, before, ...outcomes);
  if (keep !== undefined) {
    const oldest = yield* first<{ at: number }>(
      `SELECT at FROM deliveries WHERE at >= ? ${among} ORDER BY at DESC LIMIT 1 OFFSET ?`,
      0,
      ...outcomes,
      Math.max(0, keep - 1),
    );
    if (oldest) removed += yield* run(`DELETE FROM deliveries WHERE at < ? ${among}`, oldest.at, ...outcomes);
  }
  return removed;
}

/** The delivery log of webhooks. */
import type { Deferred, Operation, Param, Transaction, Write } from "../sql/operation.ts";
import {
  all,
  whereClause,
  first,
  fromJson,
  insertion,
  fromNull,
  pageSize,
  remove,
  toJson,
} from "../sql/query.ts";
import type { Delivery, NewDelivery } from "../types.ts";

interface DeliveryRow {
  id: string;
  at: number;
  source: string;
  outcome: string;
  item_id: string | null;
  meta: string;
  payload: string | null;
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
  const { id, at = tx.now, source, outcome, itemId = null, meta = {}, payload = null } = delivery;
  tx.deferred(NewDeliveries).rows.push([id, at, source, outcome, itemId, toJson(meta), payload]);
}

export function* getDelivery(
  id: string,
): Operation<(Delivery & { payload: string | undefined }) | undefined> {
  const row = yield* first<DeliveryRow>("SELECT * FROM deliveries WHERE id = ?", id);
  return row && { ...toDelivery(row), payload: fromNull(row.payload) };
}

export function* listDeliveries(filter: {
  source?: string;
  outcome?: string;
  limit?: number;
  before?: number;
}): Operation<Delivery[]> {
  const { where, params } = whereClause([
    ["source = ?", filter.source],
    ["outcome = ?", filter.outcome],
    ["at < ?", filter.before],
  ]);
  const rows = yield* all<Omit<DeliveryRow, "payload">>(
    `SELECT id, at, source, outcome, item_id, meta FROM deliveries ${where}
     ORDER BY at DESC, id DESC LIMIT ?`,
    ...params,
    pageSize(filter.limit),
  );
  return rows.map(toDelivery);
}

function toDelivery(row: Omit<DeliveryRow, "payload">): Delivery {
  return {
    id: row.id,
    at: row.at,
    source: row.source,
    outcome: row.outcome,
    itemId: fromNull(row.item_id),
    meta: fromJson(row.meta) as Record<string, unknown>,
  };
}

interface PruneOptions {
  before?: number;
  keep?: number;
  outcomes?: readonly string[];
}

/** Resolves to the number of removed deliveries. */
export function pruneDeliveries({ before, keep, outcomes = [] }: PruneOptions): Write<number> {
  const ofOutcomes =
    outcomes.length === 0 ? "" : `AND outcome IN (${outcomes.map(() => "?").join(", ")})`;
  return {
    locks: [],
    *run() {
      let removed = 0;
      if (before !== undefined)
        removed += yield* removeWhere(`at < ? ${ofOutcomes}`, [before, ...outcomes]);
      if (keep === undefined) return removed;
      const oldest = yield* first<{ at: number; id: string }>(
        `SELECT at, id FROM deliveries WHERE at >= 0 ${ofOutcomes} ORDER BY at DESC, id DESC LIMIT 1 OFFSET ?`,
        ...outcomes,
        Math.max(1, keep) - 1,
      );
      if (!oldest) return removed;
      const older = `(at, id) < (?, ?) ${ofOutcomes}`;
      return removed + (yield* removeWhere(older, [oldest.at, oldest.id, ...outcomes]));
    },
  };
}

/** Removes rows, and skips those that another gateway is removing at the same time. */
function removeWhere(where: string, params: readonly Param[]): Operation<number> {
  const selection = `SELECT id FROM deliveries WHERE ${where} {skip}`;
  return remove(`DELETE FROM deliveries WHERE id IN (${selection})`, ...params);
}

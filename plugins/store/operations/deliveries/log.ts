/** The log of what came in from outside. */
import type { Operation, Param, Transaction } from "../../sql/operation.ts";
import { all, conditions, first, pageSize, run, toJson } from "../../sql/query.ts";
import { type DeliveryRow, deliveriesIn, NewDeliveries, payloadIn } from "./rows.ts";
import type { Delivery, NewDelivery } from "../../types.ts";

export function addDelivery(tx: Transaction, delivery: NewDelivery): void {
  const { id, at = tx.now, source, outcome, itemId = null, meta = {}, payload = null } = delivery;
  tx.deferred(NewDeliveries).all.push({
    id,
    at,
    source,
    outcome,
    itemId,
    meta: toJson(meta)!,
    payload,
  });
}

export function* getDelivery(
  id: string,
): Operation<(Delivery & { payload: string | undefined }) | undefined> {
  const own = yield* first<DeliveryRow>("SELECT * FROM deliveries WHERE id = ?", id);
  const rows = own
    ? [own]
    : yield* all<DeliveryRow>("SELECT * FROM deliveries WHERE id >= ? AND first_id <= ?", id, id);
  for (const row of rows) {
    const deliveries = deliveriesIn(row);
    const place = deliveries.findIndex((one) => one.id === id);
    if (place >= 0) return { ...deliveries[place]!, payload: payloadIn(row, place) };
  }
  return undefined;
}

export function* listDeliveries(filter: {
  source?: string;
  outcome?: string;
  limit?: number;
  before?: number;
}): Operation<Delivery[]> {
  const wanted = pageSize(filter.limit);
  const { where, params } = conditions([
    ["source = ?", filter.source],
    ["outcome = ?", filter.outcome],
    ["at < ?", filter.before],
  ]);
  const rows = <R>(columns: string, limit: number) =>
    all<R>(
      `SELECT ${columns} FROM deliveries ${where} ORDER BY at DESC, id DESC LIMIT ?`,
      ...params,
      limit,
    );
  let held = 0;
  let count = 0;
  let last = 0;
  for (const { at, size } of yield* rows<{ at: number; size: number }>("at, size", wanted)) {
    if (held >= wanted && at !== last) break; // of one moment, any row may hold the next in order
    held += size;
    count++;
    last = at;
  }
  const found = yield* rows<DeliveryRow>("id, first_id, at, source, outcome, item_id, meta", count);
  return found.flatMap(deliveriesIn).sort(newestFirst).slice(0, wanted);
}

function newestFirst(a: Delivery, b: Delivery): number {
  return b.at - a.at || (a.id < b.id ? 1 : -1);
}

export function* pruneDeliveries(options: {
  before?: number;
  keep?: number;
  outcomes?: readonly string[];
}): Operation<number> {
  const { before, keep, outcomes = [] } = options;
  const among =
    outcomes.length === 0 ? "" : `AND outcome IN (${outcomes.map(() => "?").join(", ")})`;
  let removed = 0;
  if (before !== undefined) removed += yield* removeBefore(before, among, outcomes);
  if (keep !== undefined) {
    const most = Math.max(1, keep);
    const oldest = yield* first<{ at: number }>(
      `SELECT MAX(at) AS at FROM (
         SELECT at, SUM(size) OVER (ORDER BY at DESC) AS newer
         FROM (SELECT at, size FROM deliveries WHERE at >= ? ${among} ORDER BY at DESC LIMIT ?) AS newest
       ) AS counted WHERE newer >= ?`,
      0,
      ...outcomes,
      most,
      most,
    );
    if (oldest?.at != null) removed += yield* removeBefore(oldest.at, among, outcomes);
  }
  return removed;
}

/** Returns how many deliveries went. */
function* removeBefore(at: number, among: string, outcomes: readonly Param[]): Operation<number> {
  const old = `FROM deliveries WHERE at < ? ${among}`;
  const sum = yield* first<{ size: number | null }>(
    `SELECT SUM(size) AS size ${old}`,
    at,
    ...outcomes,
  );
  if (sum?.size == null) return 0;
  yield* run(`DELETE ${old}`, at, ...outcomes);
  return Number(sum.size);
}

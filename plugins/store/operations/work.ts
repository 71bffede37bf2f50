/** Work in lanes: leasing it, ending it. */
import { endDrained } from "./drain.ts";
import { type ItemRow, type LaneRow, reopenLane, settleLane, toItem } from "./lanes.ts";
import type { Operation, Transaction } from "../sql/operation.ts";
import { all, first, optional, run, toJson } from "../sql/query.ts";
import type { Claim, ClaimOutcome, Shares } from "../types.ts";

/** True where `claim` has something to do: spares an empty queue the write. */
export function* anythingReady(tx: Transaction, kinds: readonly string[]): Operation<boolean> {
  for (const kind of kinds) {
    const row = yield* first(
      "SELECT 1 AS yes FROM lanes WHERE kind = ? AND ready_at <= ? LIMIT 1",
      kind,
      tx.now,
    );
    if (row) return true;
  }
  return false;
}

export function* claim(
  tx: Transaction,
  { worker, max, leaseMs, kinds, shares }: ClaimOptions,
): Operation<Claim[]> {
  const lanes: LaneRow[] = [];
  for (const kind of kinds) {
    if (lanes.length >= max) break;
    const room = max - lanes.length;
    lanes.push(
      ...(shares === undefined
        ? yield* readyLanes(tx, kind, room)
        : yield* readyLanesByShares(tx, kind, room, shares)),
    );
  }
  if (lanes.length === 0) return [];
  const counter = yield* first<{ value: number }>(
    "UPDATE counters SET value = value + ? WHERE name = 'token' RETURNING value",
    lanes.length,
  );
  let token = (counter?.value ?? 0) - lanes.length;
  const claims: Claim[] = [];
  for (const lane of lanes) {
    const id = lane.head ?? (yield* nextOf(tx, lane.kind, lane.lane));
    const row = id === undefined ? undefined : yield* begin(tx, id);
    if (!row) {
      yield* run("UPDATE lanes SET head = NULL WHERE kind = ? AND lane = ?", lane.kind, lane.lane);
      yield* settleLane(tx, lane.kind, lane.lane);
      continue;
    }
    token++;
    const leaseUntil = tx.now + leaseMs;
    yield* run(
      `UPDATE lanes SET head = ?, token = ?, worker = ?, lease_until = ?, ready_at = ? WHERE kind = ? AND lane = ?`,
      row.id,
      token,
      worker,
      leaseUntil,
      leaseUntil,
      lane.kind,
      lane.lane,
    );
    claims.push({ worker, token, leaseUntil, item: toItem(row) });
  }
  return claims;
}

interface ClaimOptions {
  worker: string;
  /** Of lanes. */
  max: number;
  leaseMs: number;
  kinds: readonly string[];
  shares?: Shares | undefined;
}

/** What is due (a retry, a dead worker's lane) goes first, so that a steady stream of new work never starves it. */
const READY = ["ready_at > 0 AND ready_at <= ?", "ready_at = 0 AND ready_at <= ?"];

function* readyLanes(tx: Transaction, kind: string, max: number): Operation<LaneRow[]> {
  const lanes: LaneRow[] = [];
  for (const range of READY) {
    if (lanes.length >= max) break;
    const found = yield* all<LaneRow>(
      `SELECT kind, lane, ready_at, head, token FROM lanes WHERE kind = ? AND ${range}
       ORDER BY ready_at, ord LIMIT ? {lock}`,
      kind,
      tx.now,
      max - lanes.length,
    );
    lanes.push(...found);
  }
  return lanes;
}

/** Whoever the lane's next item counts for; empty for nobody. */
const HOLDER = `COALESCE(
  (SELECT holder FROM items WHERE items.id = lanes.head),
  (SELECT holder FROM items
   WHERE lanes.head IS NULL AND items.kind = lanes.kind AND items.lane = lanes.lane AND {waiting}
   ORDER BY run_at, seq LIMIT 1),
  '')`;

/** One lane at a time, since each changes what is left for the next. */
function* readyLanesByShares(
  tx: Transaction,
  kind: string,
  max: number,
  { used, each, together }: Shares,
): Operation<LaneRow[]> {
  const counts = new Map(Object.entries(used));
  const lanes: LaneRow[] = [];
  for (const range of READY) {
    while (lanes.length < max) {
      const all = [...counts.values()].reduce((sum, count) => sum + count, 0);
      const full = [...counts].filter(([, count]) => count >= each).map(([holder]) => holder);
      const passed = all >= together ? `AND ${HOLDER} = ''` : without(HOLDER, full);
      const taken = without("lane", lanes);
      const found = yield* first<LaneRow & { holder: string }>(
        `SELECT kind, lane, ready_at, head, token, ${HOLDER} AS holder FROM lanes
         WHERE kind = ? AND ${range} ${taken} ${passed} ORDER BY ready_at, ord LIMIT 1 {lock}`,
        kind,
        tx.now,
        ...lanes.map(({ lane }) => lane),
        ...(all >= together ? [] : full),
      );
      if (found === undefined) break;
      lanes.push(found);
      if (found.holder !== "") counts.set(found.holder, (counts.get(found.holder) ?? 0) + 1);
    }
  }
  return lanes;
}

function without(sql: string, values: readonly unknown[]): string {
  return values.length === 0 ? "" : `AND ${sql} NOT IN (${values.map(() => "?").join(", ")})`;
}

function* nextOf(tx: Transaction, kind: string, lane: string): Operation<string | undefined> {
  const where = `FROM items WHERE kind = ? AND lane = ? AND {waiting}`;
  const due = yield* first<{ id: string }>(
    `SELECT id ${where} AND run_at > 0 AND run_at <= ? ORDER BY run_at, seq LIMIT 1`,
    kind,
    lane,
    tx.now,
  );
  // not `= 0`: then the order would be that of the items' key too, by which all that has ever ended comes first
  const next =
    due ??
    (yield* first<{ id: string }>(
      `SELECT id ${where} AND run_at <= 0 ORDER BY run_at, seq LIMIT 1`,
      kind,
      lane,
    ));
  return next?.id;
}

function* begin(tx: Transaction, id: string): Operation<ItemRow | undefined> {
  return yield* first<ItemRow>(
    `UPDATE items SET state = 'running', attempts = attempts + 1, started_at = ?, retry_at = NULL
     WHERE id = ? AND state IN ('queued', 'running') RETURNING *`,
    tx.now,
    id,
  );
}

export function* extend(tx: Transaction, held: Claim, leaseMs: number): Operation<boolean> {
  const until = tx.now + leaseMs;
  const changes = yield* run(
    "UPDATE lanes SET lease_until = ?, ready_at = ? WHERE kind = ? AND lane = ? AND head = ? AND token = ?",
    until,
    until,
    held.item.kind,
    held.item.lane,
    held.item.id,
    held.token,
  );
  return changes > 0;
}

export function* workers(): Operation<string[]> {
  const rows = yield* all<{ worker: string }>(
    "SELECT DISTINCT worker FROM lanes WHERE worker IS NOT NULL",
  );
  return rows.map(({ worker }) => worker);
}

export function* abandon(tx: Transaction, worker: string): Operation<number> {
  const lanes = yield* all<LaneRow>(
    "SELECT kind, lane, ready_at, head, token FROM lanes WHERE worker = ? {lock}",
    worker,
  );
  for (const { kind, lane } of lanes) {
    // the token goes too: should the worker live after all, it cannot finish
    yield* run(
      "UPDATE lanes SET ready_at = ?, lease_until = NULL, worker = NULL, token = 0 WHERE kind = ? AND lane = ? AND worker = ?",
      tx.now,
      kind,
      lane,
      worker,
    );
    tx.touch(kind);
  }
  return lanes.length;
}

/** False where the lease was lost; then nothing has changed. */
export function* finish(tx: Transaction, held: Claim, outcome: ClaimOutcome): Operation<boolean> {
  const { id, kind, lane } = held.item;
  const retry = outcome.state === "retry";
  const owned = yield* run(
    `UPDATE lanes SET worker = NULL, lease_until = NULL, token = 0, ready_at = ?, head = ?
     WHERE kind = ? AND lane = ? AND head = ? AND token = ?`,
    retry ? outcome.at : 0,
    retry ? id : null,
    kind,
    lane,
    id,
    held.token,
  );
  if (owned === 0) return false;
  const error = outcome.state === "done" ? null : toJson(outcome.error);
  if (retry) {
    yield* run(
      "UPDATE items SET state = 'queued', retry_at = ?, error = ?, failures = failures + ? WHERE id = ?",
      outcome.at,
      error,
      outcome.interrupted === true ? 0 : 1,
      id,
    );
    tx.touch(kind);
    return true;
  }
  yield* run(
    "UPDATE items SET state = ?, finished_at = ?, result = ?, error = ?, body = COALESCE(?, body) WHERE id = ?",
    outcome.state,
    tx.now,
    outcome.state === "done" ? toJson(outcome.result) : null,
    error,
    outcome.state === "done" ? toJson(outcome.body) : null,
    id,
  );
  yield* endDrained(tx, id, outcome.state, error);
  yield* settleLane(tx, kind, lane);
  return true;
}

export function* nextWorkAt(kinds: readonly string[]): Operation<number | undefined> {
  let next: number | undefined;
  for (const kind of kinds) {
    const row = yield* first<{ at: number | null }>(
      "SELECT MIN(ready_at) AS at FROM lanes WHERE kind = ?",
      kind,
    );
    const at = optional(row?.at);
    if (at !== undefined && (next === undefined || at < next)) next = at;
  }
  return next;
}

export function* cancel(tx: Transaction, id: string): Operation<boolean> {
  const row = yield* first<ItemRow>(
    `UPDATE items SET state = 'cancelled', finished_at = ?, retry_at = NULL
     WHERE id = ? AND state IN ('queued', 'running') RETURNING *`,
    tx.now,
    id,
  );
  if (!row) return false;
  yield* endDrained(tx, id, "cancelled", null);
  yield* run(
    "UPDATE lanes SET head = NULL, worker = NULL, lease_until = NULL WHERE kind = ? AND lane = ? AND head = ?",
    row.kind,
    row.lane,
    id,
  );
  yield* settleLane(tx, row.kind, row.lane);
  return true;
}

export function* replay(tx: Transaction, id: string): Operation<boolean> {
  const row = yield* first<ItemRow>(
    `UPDATE items SET state = 'queued', attempts = 0, failures = 0, run_at = 0, finished_at = NULL, error = NULL, drained_by = NULL
     WHERE id = ? AND state IN ('dead', 'cancelled') RETURNING *`,
    id,
  );
  if (!row) return false;
  yield* reopenLane(tx, row, 0);
  return true;
}

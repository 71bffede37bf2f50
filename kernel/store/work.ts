/** Work in lanes: adding it, leasing it, ending it. */
import { all, first, fromJson, type Operation, optional, run, toJson, type Transaction } from "./operation.ts";
import type { Claim, ClaimOutcome, Dedup, ItemError, ItemState, KnownKey, NewItem, WorkItem } from "./types.ts";

export interface ItemRow {
  seq: number;
  id: string;
  kind: string;
  lane: string;
  state: ItemState;
  body: string;
  attempts: number;
  failures: number;
  max_attempts: number;
  created_at: number;
  run_at: number;
  started_at: number | null;
  finished_at: number | null;
  retry_at: number | null;
  result: string | null;
  error: string | null;
  drained_by: string | null;
}

interface LaneRow {
  kind: string;
  lane: string;
  ready_at: number;
  head: string | null;
  token: number;
}

/** A row as its owner knows it; absent fields are left out. */
export function toItem(row: ItemRow): WorkItem {
  const item: WorkItem = {
    id: row.id,
    seq: row.seq,
    lane: row.lane,
    kind: row.kind,
    state: row.state,
    body: fromJson(row.body),
    attempts: row.attempts,
    failures: row.failures,
    maxAttempts: row.max_attempts,
    createdAt: row.created_at,
  };
  if (row.run_at > 0) item.runAt = row.run_at;
  if (row.started_at !== null) item.startedAt = row.started_at;
  if (row.finished_at !== null) item.finishedAt = row.finished_at;
  if (row.retry_at !== null) item.retryAt = row.retry_at;
  if (row.result !== null) item.result = fromJson(row.result);
  if (row.error !== null) item.error = fromJson(row.error) as ItemError;
  if (row.drained_by !== null) item.drainedBy = row.drained_by;
  return item;
}

export function* knownKey(tx: Transaction, key: string): Operation<KnownKey | undefined> {
  const row = yield* first<{ answer: string | null; at: number }>(
    "SELECT answer, at FROM known WHERE key = ? AND expires_at > ?",
    key,
    tx.now,
  );
  return row && { answer: fromJson(row.answer), at: row.at };
}

/** Answers false where the key is known already. */
export function* firstUse(tx: Transaction, dedup: Dedup): Operation<boolean> {
  const changes = yield* run(
    `INSERT INTO known (key, answer, at, expires_at) VALUES (?, ?, ?, ?)
     ON CONFLICT (key) DO UPDATE SET answer = excluded.answer, at = excluded.at, expires_at = excluded.expires_at
     WHERE known.expires_at <= ?`,
    dedup.key,
    toJson(dedup.answer),
    tx.now,
    tx.now + dedup.ttlMs,
    tx.now,
  );
  return changes > 0;
}

export function* remember(tx: Transaction, dedup: Dedup): Operation<void> {
  yield* run(
    `INSERT INTO known (key, answer, at, expires_at) VALUES (?, ?, ?, ?)
     ON CONFLICT (key) DO UPDATE SET answer = excluded.answer, expires_at = excluded.expires_at`,
    dedup.key,
    toJson(dedup.answer),
    tx.now,
    tx.now + dedup.ttlMs,
  );
}

export function* addItems(tx: Transaction, items: readonly NewItem[]): Operation<void> {
  // sorted, so that two transactions that add to the same lanes never wait for each other crosswise
  const sorted =
    items.length > 1 ? [...items].sort((a, b) => compare(a.kind, b.kind) || compare(a.lane, b.lane)) : items;
  for (const item of sorted) {
    const runAt = item.runAt !== undefined && item.runAt > tx.now ? item.runAt : 0;
    const row = yield* first<{ seq: number }>(
      `INSERT INTO items (id, kind, lane, state, body, max_attempts, created_at, run_at)
       VALUES (?, ?, ?, 'queued', ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING RETURNING seq`,
      item.id,
      item.kind,
      item.lane,
      toJson(item.body) ?? "null",
      item.maxAttempts ?? 5,
      tx.now,
      runAt,
    );
    if (!row) continue;
    if (item.settle) yield* holdLane(tx, item, row.seq, item.settle);
    else yield* openLane(tx, item.kind, item.lane, runAt, row.seq);
  }
}

/** A lane with an item in progress keeps its time; else it comes ready with its earliest item. */
function* openLane(tx: Transaction, kind: string, lane: string, readyAt: number, seq: number): Operation<void> {
  yield* run(
    `INSERT INTO lanes (kind, lane, ready_at, ord, since) VALUES (?, ?, ?, ?, ?)
     ON CONFLICT (kind, lane) DO UPDATE SET ready_at = excluded.ready_at
     WHERE lanes.head IS NULL AND lanes.ready_at > excluded.ready_at`,
    kind,
    lane,
    readyAt,
    seq,
    tx.now,
  );
  tx.touch(kind);
}

function* holdLane(
  tx: Transaction,
  item: NewItem,
  seq: number,
  settle: { windowMs: number; maxWaitMs: number },
): Operation<void> {
  const quietAt = tx.now + settle.windowMs;
  yield* run(
    `INSERT INTO lanes (kind, lane, ready_at, ord, since) VALUES (?, ?, ?, ?, ?)
     ON CONFLICT (kind, lane) DO UPDATE
     SET ready_at = CASE WHEN lanes.since + ? < ? THEN lanes.since + ? ELSE ? END
     WHERE lanes.head IS NULL`,
    item.kind,
    item.lane,
    tx.now + Math.min(settle.windowMs, settle.maxWaitMs),
    seq,
    tx.now,
    settle.maxWaitMs,
    quietAt,
    settle.maxWaitMs,
    quietAt,
  );
  tx.touch(item.kind);
}

/** Gives a lane that has nothing in progress the time of its next item, or removes it. */
function* settleLane(tx: Transaction, kind: string, lane: string): Operation<void> {
  const next = yield* first<{ run_at: number; seq: number }>(
    "SELECT run_at, seq FROM items WHERE kind = ? AND lane = ? AND state = 'queued' ORDER BY run_at, seq LIMIT 1",
    kind,
    lane,
  );
  if (!next) {
    yield* run("DELETE FROM lanes WHERE kind = ? AND lane = ? AND head IS NULL", kind, lane);
    return;
  }
  yield* run(
    "UPDATE lanes SET ready_at = ?, ord = ?, since = ? WHERE kind = ? AND lane = ? AND head IS NULL",
    next.run_at,
    next.seq,
    tx.now,
    kind,
    lane,
  );
  tx.touch(kind);
}

/** True where `claim` has something to do: spares an empty queue the write. */
export function* anythingReady(tx: Transaction, kinds: readonly string[]): Operation<boolean> {
  for (const kind of kinds) {
    const row = yield* first("SELECT 1 AS yes FROM lanes WHERE kind = ? AND ready_at <= ? LIMIT 1", kind, tx.now);
    if (row) return true;
  }
  return false;
}

export function* claim(
  tx: Transaction,
  worker: string,
  max: number,
  leaseMs: number,
  kinds: readonly string[],
): Operation<Claim[]> {
  const lanes: LaneRow[] = [];
  for (const kind of kinds) {
    // what is due (a retry, a dead worker's lane) goes first, so that a steady stream of new work never starves it
    for (const range of ["ready_at > 0 AND ready_at <= ?", "ready_at = 0 AND ready_at <= ?"]) {
      if (lanes.length >= max) break;
      lanes.push(
        ...(yield* all<LaneRow>(
          `SELECT kind, lane, ready_at, head, token FROM lanes WHERE kind = ? AND ${range}
           ORDER BY ready_at, ord LIMIT ? {lock}`,
          kind,
          tx.now,
          max - lanes.length,
        )),
      );
    }
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

function* nextOf(tx: Transaction, kind: string, lane: string): Operation<string | undefined> {
  const where = "FROM items WHERE kind = ? AND lane = ? AND state = 'queued'";
  const due = yield* first<{ id: string }>(
    `SELECT id ${where} AND run_at > 0 AND run_at <= ? ORDER BY run_at, seq LIMIT 1`,
    kind,
    lane,
    tx.now,
  );
  const next =
    due ?? (yield* first<{ id: string }>(`SELECT id ${where} AND run_at = 0 ORDER BY seq LIMIT 1`, kind, lane));
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
    "UPDATE items SET state = ?, finished_at = ?, result = ?, error = ? WHERE id = ?",
    outcome.state,
    tx.now,
    outcome.state === "done" ? toJson(outcome.result) : null,
    error,
    id,
  );
  yield* endDrained(tx, id, outcome.state, error);
  yield* settleLane(tx, kind, lane);
  return true;
}

/** What an item had drained is done with it, or goes back to its lane where the item came to nothing. */
function* endDrained(
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
  for (const row of back) yield* openLane(tx, row.kind, row.lane, row.run_at, row.seq);
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

export function* nextWorkAt(kinds: readonly string[]): Operation<number | undefined> {
  let next: number | undefined;
  for (const kind of kinds) {
    const row = yield* first<{ at: number | null }>("SELECT MIN(ready_at) AS at FROM lanes WHERE kind = ?", kind);
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
  yield* openLane(tx, row.kind, row.lane, 0, row.seq);
  return true;
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

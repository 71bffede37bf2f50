/** Work in lanes: claims, leases and their ends. */
import { laneLock, type Lock } from "../sql/locks.ts";
import type { Operation, Transaction, Write } from "../sql/operation.ts";
import { all, first, fromNull, run, toJson } from "../sql/query.ts";
import type { Batch, Claim, ClaimOutcome, Shares } from "../types.ts";
import { findDrainedLaneLocks, endDrained } from "./drain.ts";
import { addBatch, collectLocks } from "./enqueue.ts";
import { type ItemRow, type LaneRow, reopenLane, updateLane, toItem } from "./lanes.ts";
import { abandonSchedules, scheduleLock, findLeasedSchedules } from "./schedules.ts";

interface LaneName {
  kind: string;
  lane: string;
}

/** Returns whether `claim` may find a lane, so that it need not write while the queue is empty. */
export function* hasReadyLane(tx: Transaction, kinds: readonly string[]): Operation<boolean> {
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

interface ClaimOptions {
  worker: string;
  /** The largest number of lanes to claim. */
  max: number;
  leaseMs: number;
  kinds: readonly string[];
  shares?: Shares | undefined;
}

export function claim(options: ClaimOptions): Write<Claim[]> {
  return {
    // It waits for no lane: it tries the locks of ready lanes and takes those that are free.
    locks: [],
    isSoft: true,
    *run(tx) {
      const claims: Claim[] = [];
      for (const lane of yield* takeReadyLanes(tx, options)) {
        const laneClaim = yield* claimHead(tx, lane, options);
        if (laneClaim) claims.push(laneClaim);
      }
      return claims;
    },
  };
}

/** Lanes that were due at a time (a retry, a dead worker's lane) come first, so that a stream of new work never starves them. */
const READY_RANGES = ["ready_at > 0 AND ready_at <= ?", "ready_at = 0 AND ready_at <= ?"];
/** The number of additional lanes to try, since other gateways may claim the same lanes at this moment. */
const SPARE_LANES = 32;

function* takeReadyLanes(
  tx: Transaction,
  { kinds, max, shares }: ClaimOptions,
): Operation<LaneRow[]> {
  const lanes: LaneRow[] = [];
  for (const kind of kinds) {
    const room = max - lanes.length;
    if (room <= 0) break;
    const operation = shares ? takeByShares(tx, kind, room, shares) : takeFirst(tx, kind, room);
    lanes.push(...(yield* operation));
  }
  return lanes;
}

function* takeFirst(tx: Transaction, kind: string, max: number): Operation<LaneRow[]> {
  const ready: LaneName[] = [];
  for (const range of READY_RANGES) {
    const room = max + SPARE_LANES - ready.length;
    if (room <= 0) break;
    const rows = yield* all<LaneName>(
      `SELECT kind, lane FROM lanes WHERE kind = ? AND ${range} ORDER BY ready_at, ord LIMIT ?`,
      kind,
      tx.now,
      room,
    );
    ready.push(...rows);
  }
  return yield* lockFreeLanes(tx, ready, max);
}

/** Locks up to `max` of these lanes, and skips those that others have locked or claimed in the meantime. */
function* lockFreeLanes(
  tx: Transaction,
  ready: readonly LaneName[],
  max: number,
): Operation<LaneRow[]> {
  if (ready.length === 0) return [];
  const byLock = new Map(ready.map((lane) => [laneLock(lane), lane]));
  const { rows } = yield { tryLocks: [...byLock.keys()], max };
  const lanes: LaneRow[] = [];
  for (const { name } of rows) {
    const { kind, lane } = byLock.get(String(name))!;
    // This reads the lane again, because another gateway may have claimed it before it was locked.
    const row = yield* first<LaneRow>(
      "SELECT kind, lane, head FROM lanes WHERE kind = ? AND lane = ? AND ready_at <= ?",
      kind,
      lane,
      tx.now,
    );
    if (row) lanes.push(row);
  }
  return lanes;
}

/** The holder of the lane's next item; empty if it has none. */
const HOLDER = `COALESCE(
  (SELECT holder FROM items WHERE items.id = lanes.head),
  (SELECT holder FROM items
   WHERE lanes.head IS NULL AND items.kind = lanes.kind AND items.lane = lanes.lane AND {waiting}
   ORDER BY run_at, seq LIMIT 1),
  '')`;

/** Takes one lane at a time, since each changes the shares that are left for the next. */
function* takeByShares(
  tx: Transaction,
  kind: string,
  max: number,
  { used, each, together }: Shares,
): Operation<LaneRow[]> {
  const counts = new Map(Object.entries(used));
  const triedLanes: string[] = [];
  const lanes: LaneRow[] = [];
  while (lanes.length < max && triedLanes.length < max + SPARE_LANES) {
    const sum = [...counts.values()].reduce((total, count) => total + count, 0);
    const fullHolders = [...counts].filter(([, count]) => count >= each).map(([holder]) => holder);
    const holderCondition = sum >= together ? NO_HOLDER : notIn(HOLDER, fullHolders);
    const next = yield* findReadyLane(tx, kind, triedLanes, holderCondition);
    if (!next) break;
    triedLanes.push(next.lane);
    const locked = yield* lockFreeLanes(tx, [next], 1);
    lanes.push(...locked);
    if (locked.length > 0 && next.holder !== "")
      counts.set(next.holder, (counts.get(next.holder) ?? 0) + 1);
  }
  return lanes;
}

interface Condition {
  sql: string;
  params: readonly string[];
}

const NO_HOLDER: Condition = { sql: `AND ${HOLDER} = ''`, params: [] };

function notIn(sql: string, values: readonly string[]): Condition {
  if (values.length === 0) return { sql: "", params: [] };
  return { sql: `AND ${sql} NOT IN (${values.map(() => "?").join(", ")})`, params: values };
}

function* findReadyLane(
  tx: Transaction,
  kind: string,
  triedLanes: readonly string[],
  holderCondition: Condition,
): Operation<(LaneName & { holder: string }) | undefined> {
  const otherLanes = notIn("lane", triedLanes);
  for (const range of READY_RANGES) {
    const lane = yield* first<LaneName & { holder: string }>(
      `SELECT kind, lane, ${HOLDER} AS holder FROM lanes
       WHERE kind = ? AND ${range} ${otherLanes.sql} ${holderCondition.sql} ORDER BY ready_at, ord LIMIT 1`,
      kind,
      tx.now,
      ...otherLanes.params,
      ...holderCondition.params,
    );
    if (lane) return lane;
  }
  return undefined;
}

function* claimHead(
  tx: Transaction,
  { kind, lane, head }: LaneRow,
  { worker, leaseMs }: ClaimOptions,
): Operation<Claim | undefined> {
  const id = head ?? (yield* findNextItemId(tx, kind, lane));
  const row = id === undefined ? undefined : yield* startItem(tx, id);
  if (!row) {
    yield* run("UPDATE lanes SET head = NULL WHERE kind = ? AND lane = ?", kind, lane);
    yield* updateLane(tx, kind, lane);
    return undefined;
  }
  const token = Number((yield { nextToken: true }).rows[0]?.["token"]);
  const leaseUntil = tx.now + leaseMs;
  yield* run(
    `UPDATE lanes SET head = ?, token = ?, worker = ?, lease_until = ?, ready_at = ? WHERE kind = ? AND lane = ?`,
    row.id,
    token,
    worker,
    leaseUntil,
    leaseUntil,
    kind,
    lane,
  );
  return { worker, token, leaseUntil, item: toItem(row) };
}

function* findNextItemId(
  tx: Transaction,
  kind: string,
  lane: string,
): Operation<string | undefined> {
  const where = `FROM items WHERE kind = ? AND lane = ? AND {waiting}`;
  const due = yield* first<{ id: string }>(
    `SELECT id ${where} AND run_at > 0 AND run_at <= ? ORDER BY run_at, seq LIMIT 1`,
    kind,
    lane,
    tx.now,
  );
  if (due) return due.id;
  // This is not `= 0`, because then the planner might read the items in the order of `seq`, with all ended items first.
  const next = yield* first<{ id: string }>(
    `SELECT id ${where} AND run_at <= 0 ORDER BY run_at, seq LIMIT 1`,
    kind,
    lane,
  );
  return next?.id;
}

function startItem(tx: Transaction, id: string): Operation<ItemRow | undefined> {
  return first<ItemRow>(
    `UPDATE items SET state = 'running', attempts = attempts + 1, started_at = ?, retry_at = NULL
     WHERE id = ? AND state IN ('queued', 'running') RETURNING *`,
    tx.now,
    id,
  );
}

export function extend({ item, token }: Claim, leaseMs: number): Write<boolean> {
  return {
    locks: [laneLock(item)],
    isSoft: true,
    *run(tx) {
      const until = tx.now + leaseMs;
      const changes = yield* run(
        "UPDATE lanes SET lease_until = ?, ready_at = ? WHERE kind = ? AND lane = ? AND head = ? AND token = ?",
        until,
        until,
        item.kind,
        item.lane,
        item.id,
        token,
      );
      return changes > 0;
    },
  };
}

export function* listWorkers(): Operation<string[]> {
  const rows = yield* all<{ worker: string }>(
    `SELECT worker FROM lanes WHERE worker IS NOT NULL
     UNION SELECT worker FROM schedules WHERE worker IS NOT NULL`,
  );
  return rows.map(({ worker }) => worker);
}

export function abandon(worker: string): Write<number> {
  return {
    locks: function* leaseLocks() {
      const schedules = yield* findLeasedSchedules(worker);
      return [...(yield* findLeasedLanes(worker)).map(laneLock), ...schedules.map(scheduleLock)];
    },
    *run(tx) {
      const lanes = yield* findLeasedLanes(worker);
      for (const { kind, lane } of lanes) {
        tx.require(laneLock({ kind, lane }));
        // Without its token, the worker cannot finish the claim if it lives after all.
        yield* run(
          "UPDATE lanes SET ready_at = ?, lease_until = NULL, worker = NULL, token = 0 WHERE kind = ? AND lane = ?",
          tx.now,
          kind,
          lane,
        );
        tx.markClaimable(kind);
      }
      return lanes.length + (yield* abandonSchedules(tx, worker));
    },
  };
}

function findLeasedLanes(worker: string): Operation<LaneName[]> {
  return all<LaneName>("SELECT kind, lane FROM lanes WHERE worker = ?", worker);
}

/** Resolves to false if the lease was lost; then nothing has changed. */
export function finish(
  ownClaim: Claim,
  outcome: ClaimOutcome,
  emits: Batch | undefined,
): Write<boolean> {
  const { item } = ownClaim;
  const ownLocks: Lock[] = [laneLock(item), ...collectLocks(emits)];
  const returnsDrained = outcome.state === "dead" || outcome.state === "cancelled";
  return {
    locks: returnsDrained ? () => withDrainedLanes(ownLocks, item.id) : ownLocks,
    *run(tx) {
      const isOurs = yield* endClaim(tx, ownClaim, outcome);
      if (isOurs) yield* addBatch(tx, emits);
      return isOurs;
    },
  };
}

function* withDrainedLanes(locks: readonly Lock[], by: string): Operation<Lock[]> {
  return [...locks, ...(yield* findDrainedLaneLocks(by))];
}

function* endClaim(tx: Transaction, ownClaim: Claim, outcome: ClaimOutcome): Operation<boolean> {
  const { id, kind, lane } = ownClaim.item;
  const isUnfinished = outcome.state === "retry" || outcome.state === "paused";
  const changes = yield* run(
    `UPDATE lanes SET worker = NULL, lease_until = NULL, token = 0, ready_at = ?, head = ?
     WHERE kind = ? AND lane = ? AND head = ? AND token = ?`,
    isUnfinished ? outcome.at : 0,
    isUnfinished ? id : null,
    kind,
    lane,
    id,
    ownClaim.token,
  );
  if (changes === 0) return false;
  if (outcome.state === "retry") yield* retryItem(tx, ownClaim, outcome);
  else if (outcome.state === "paused") yield* pauseItem(tx, ownClaim, outcome);
  else yield* endItem(tx, ownClaim, outcome);
  return true;
}

function* retryItem(
  tx: Transaction,
  { item }: Claim,
  { at, error, interrupted }: Extract<ClaimOutcome, { state: "retry" }>,
): Operation<void> {
  yield* run(
    "UPDATE items SET state = 'queued', retry_at = ?, error = ?, failures = failures + ? WHERE id = ?",
    at,
    toJson(error),
    interrupted === true ? 0 : 1,
    item.id,
  );
  tx.markClaimable(item.kind);
}

/** Clears `error`, which belongs to an earlier attempt, since the item is not failing. */
function* pauseItem(
  tx: Transaction,
  { item }: Claim,
  { at, body }: Extract<ClaimOutcome, { state: "paused" }>,
): Operation<void> {
  yield* run(
    "UPDATE items SET state = 'queued', retry_at = ?, error = NULL, attempts = attempts - 1, body = ? WHERE id = ?",
    at,
    toJson(body),
    item.id,
  );
  tx.markClaimable(item.kind);
}

function* endItem(
  tx: Transaction,
  { item }: Claim,
  outcome: Exclude<ClaimOutcome, { state: "retry" | "paused" }>,
): Operation<void> {
  const isDone = outcome.state === "done";
  const error = isDone ? null : toJson(outcome.error);
  yield* run(
    "UPDATE items SET state = ?, finished_at = ?, result = ?, error = ?, body = COALESCE(?, body) WHERE id = ?",
    outcome.state,
    tx.now,
    outcome.result === undefined ? null : toJson(outcome.result),
    error,
    isDone ? toJson(outcome.body) : null,
    item.id,
  );
  yield* endDrained(tx, item.id, outcome.state, error);
  yield* updateLane(tx, item.kind, item.lane);
}

export function* findNextWorkTime(kinds: readonly string[]): Operation<number | undefined> {
  let next: number | undefined;
  for (const kind of kinds) {
    const row = yield* first<{ at: number | null }>(
      "SELECT MIN(ready_at) AS at FROM lanes WHERE kind = ?",
      kind,
    );
    const at = fromNull(row?.at);
    if (at !== undefined && (next === undefined || at < next)) next = at;
  }
  return next;
}

/** Returns the lock of an item's lane, which never changes. */
function* findItemLock(id: string): Operation<Lock[]> {
  const row = yield* first<LaneName>("SELECT kind, lane FROM items WHERE id = ?", id);
  return row ? [laneLock(row)] : [];
}

export function cancel(id: string): Write<boolean> {
  return {
    locks: function* drainedLocks() {
      return yield* withDrainedLanes(yield* findItemLock(id), id);
    },
    *run(tx) {
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
      yield* updateLane(tx, row.kind, row.lane);
      return true;
    },
  };
}

export function wake(id: string): Write<boolean> {
  return {
    locks: () => findItemLock(id),
    *run(tx) {
      const row = yield* first<ItemRow>(
        "SELECT * FROM items WHERE id = ? AND state = 'queued'",
        id,
      );
      if (!row) return false;
      const changes = yield* run(
        `UPDATE lanes SET ready_at = ?
         WHERE kind = ? AND lane = ? AND head = ? AND worker IS NULL AND ready_at > ?`,
        tx.now,
        row.kind,
        row.lane,
        id,
        tx.now,
      );
      if (changes === 0) return false;
      yield* run("UPDATE items SET retry_at = ? WHERE id = ?", tx.now, id);
      tx.markClaimable(row.kind);
      return true;
    },
  };
}

export function replay(id: string): Write<boolean> {
  return {
    locks: () => findItemLock(id),
    *run(tx) {
      const row = yield* first<ItemRow>(
        `UPDATE items SET state = 'queued', attempts = 0, failures = 0, run_at = 0, finished_at = NULL, error = NULL, drained_by = NULL
         WHERE id = ? AND state IN ('dead', 'cancelled') RETURNING *`,
        id,
      );
      if (!row) return false;
      yield* reopenLane(tx, row, 0);
      return true;
    },
  };
}

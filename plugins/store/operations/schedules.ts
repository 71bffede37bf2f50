/** Schedules: rows that move forward by compare-and-swap. */
import { type Lock, rowLock } from "../sql/locks.ts";
import type { Operation, Transaction, Write } from "../sql/operation.ts";
import { all, first, fromJson, fromNull, run, toJson } from "../sql/query.ts";
import type { Batch, NewSchedule, ScheduleCommit, Schedule, ScheduleSlot } from "../types.ts";
import { addBatch, collectLocks } from "./enqueue.ts";

interface ScheduleRow {
  kind: string;
  id: string;
  name: string | null;
  enabled: number;
  next_at: number | null;
  body: string;
  state: string | null;
  rev: number;
  created_at: number;
  updated_at: number;
}
const COLUMNS = "kind, id, name, enabled, next_at, body, state, rev, created_at, updated_at";

function toSchedule(row: ScheduleRow): Schedule {
  return {
    kind: row.kind,
    id: row.id,
    name: fromNull(row.name),
    enabled: row.enabled === 1,
    nextAt: row.next_at,
    body: fromJson(row.body),
    state: fromJson(row.state),
    rev: row.rev,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  };
}

export function scheduleLock({ kind, id }: { kind: string; id: string }): Lock {
  return rowLock("schedules", kind, id);
}

export function writeSchedule(
  schedule: NewSchedule,
  expectedRev: number | undefined,
): Write<Schedule | undefined> {
  return {
    locks: [scheduleLock(schedule)],
    run: (tx) => putSchedule(tx, schedule, expectedRev),
  };
}

function* putSchedule(
  tx: Transaction,
  schedule: NewSchedule,
  expectedRev: number | undefined,
): Operation<Schedule | undefined> {
  const fields = [
    schedule.name ?? null,
    schedule.enabled ? 1 : 0,
    schedule.nextAt,
    toJson(schedule.body) ?? "null",
  ];
  if (expectedRev === undefined) {
    yield* run(
      `INSERT INTO schedules (kind, id, name, enabled, next_at, body, rev, created_at, updated_at)
       VALUES (?, ?, ?, ?, ?, ?, 1, ?, ?)
       ON CONFLICT (kind, id) DO UPDATE SET name = excluded.name, enabled = excluded.enabled, next_at = excluded.next_at,
         body = excluded.body, worker = NULL, due_at = NULL, rev = schedules.rev + 1, updated_at = excluded.updated_at`,
      schedule.kind,
      schedule.id,
      ...fields,
      tx.now,
      tx.now,
    );
  } else {
    const changes = yield* run(
      `UPDATE schedules SET name = ?, enabled = ?, next_at = ?, body = ?, worker = NULL, due_at = NULL,
         rev = rev + 1, updated_at = ?
       WHERE kind = ? AND id = ? AND rev = ?`,
      ...fields,
      tx.now,
      schedule.kind,
      schedule.id,
      expectedRev,
    );
    if (changes === 0) return undefined;
  }
  yield* putLarge(schedule.kind, schedule.id, "state", schedule.state);
  yield* putLarge(schedule.kind, schedule.id, "poll_cursor", schedule.cursor);
  tx.markClaimable(`schedule:${schedule.kind}`);
  return yield* getSchedule(schedule.kind, schedule.id);
}

function* putLarge(
  kind: string,
  id: string,
  column: "state" | "poll_cursor",
  value: unknown,
): Operation<void> {
  if (value === undefined) return;
  yield* run(
    `UPDATE schedules SET ${column} = ? WHERE kind = ? AND id = ?`,
    value === null ? null : toJson(value),
    kind,
    id,
  );
}

export function* getSchedule(kind: string, id: string): Operation<Schedule | undefined> {
  const row = yield* first<ScheduleRow>(
    `SELECT ${COLUMNS} FROM schedules WHERE kind = ? AND id = ?`,
    kind,
    id,
  );
  return row && toSchedule(row);
}

export function* listSchedules(kind: string): Operation<Schedule[]> {
  const rows = yield* all<ScheduleRow>(
    `SELECT ${COLUMNS} FROM schedules WHERE kind = ? ORDER BY created_at, id`,
    kind,
  );
  return rows.map(toSchedule);
}

/** Searches the text of the states, because parsing ten thousand states for the few that fail would block other work. */
export function* listFailingSchedules(kind: string): Operation<Schedule[]> {
  const rows = yield* all<ScheduleRow>(
    `SELECT ${COLUMNS} FROM schedules WHERE kind = ? AND state LIKE ? AND state NOT LIKE ? ORDER BY created_at, id`,
    kind,
    '%"consecutiveErrors":%',
    '%"consecutiveErrors":0%',
  );
  return rows.map(toSchedule);
}

export function deleteSchedule(kind: string, id: string): Write<boolean> {
  return {
    locks: [scheduleLock({ kind, id })],
    *run(tx) {
      tx.markClaimable(`schedule:${kind}`);
      return (yield* run("DELETE FROM schedules WHERE kind = ? AND id = ?", kind, id)) > 0;
    },
  };
}

export function* listDueSchedules(kind: string, now: number, limit: number): Operation<Schedule[]> {
  const rows = yield* all<ScheduleRow>(
    `SELECT ${COLUMNS} FROM schedules WHERE kind = ? AND enabled = 1 AND next_at IS NOT NULL AND next_at <= ?
     ORDER BY next_at, id LIMIT ?`,
    kind,
    now,
    limit,
  );
  return rows.map(toSchedule);
}

export function* findNextDueTime(kind: string): Operation<number | undefined> {
  const row = yield* first<{ at: number | null }>(
    "SELECT MIN(next_at) AS at FROM schedules WHERE kind = ? AND enabled = 1 AND next_at IS NOT NULL",
    kind,
  );
  return fromNull(row?.at);
}

export function* getCursor(kind: string, id: string): Operation<unknown> {
  const row = yield* first<{ poll_cursor: string | null }>(
    "SELECT poll_cursor FROM schedules WHERE kind = ? AND id = ?",
    kind,
    id,
  );
  return fromJson(row?.poll_cursor);
}

export function tick(slot: ScheduleSlot, batch: Batch | undefined): Write<number | undefined> {
  return withBatch(slot, (tx) => takeSlot(tx, slot), batch);
}

export function commitSchedule(
  commit: ScheduleCommit,
  batch: Batch | undefined,
): Write<number | undefined> {
  return withBatch(commit, (tx) => commitRevision(tx, commit), batch);
}

/** Adds the batch if `move` has changed the schedule. */
function withBatch(
  schedule: { kind: string; id: string },
  move: (tx: Transaction) => Operation<number | undefined>,
  batch: Batch | undefined,
): Write<number | undefined> {
  return {
    locks: [scheduleLock(schedule), ...collectLocks(batch)],
    *run(tx) {
      const rev = yield* move(tx);
      if (rev !== undefined) yield* addBatch(tx, batch);
      return rev;
    },
  };
}

function* takeSlot(tx: Transaction, slot: ScheduleSlot): Operation<number | undefined> {
  const nextCondition = slot.expectedNext === null ? "next_at IS NULL" : "next_at = ?";
  const row = yield* first<{ rev: number }>(
    `UPDATE schedules SET next_at = ?, worker = ?, due_at = ?, rev = rev + 1, updated_at = ?
     WHERE kind = ? AND id = ? AND ${nextCondition} RETURNING rev`,
    slot.next,
    slot.lease?.worker ?? null,
    slot.lease?.dueAt ?? null,
    tx.now,
    slot.kind,
    slot.id,
    ...(slot.expectedNext === null ? [] : [slot.expectedNext]),
  );
  if (!row) return undefined;
  yield* putLarge(slot.kind, slot.id, "state", slot.state);
  yield* putEnabled(slot.kind, slot.id, slot.enabled);
  tx.markClaimable(`schedule:${slot.kind}`);
  return row.rev;
}

function* commitRevision(tx: Transaction, commit: ScheduleCommit): Operation<number | undefined> {
  const row = yield* first<{ rev: number }>(
    `UPDATE schedules SET next_at = ?, worker = ?, due_at = ?, rev = rev + 1, updated_at = ?
     WHERE kind = ? AND id = ? AND rev = ? RETURNING rev`,
    commit.next,
    commit.lease?.worker ?? null,
    commit.lease?.dueAt ?? null,
    tx.now,
    commit.kind,
    commit.id,
    commit.expectedRev,
  );
  if (!row) return undefined;
  yield* putLarge(commit.kind, commit.id, "state", commit.state);
  yield* putLarge(commit.kind, commit.id, "poll_cursor", commit.cursor);
  yield* putEnabled(commit.kind, commit.id, commit.enabled);
  tx.markClaimable(`schedule:${commit.kind}`);
  return row.rev;
}

function* putEnabled(kind: string, id: string, enabled: boolean | undefined): Operation<void> {
  if (enabled === undefined) return;
  yield* run(
    "UPDATE schedules SET enabled = ? WHERE kind = ? AND id = ?",
    enabled ? 1 : 0,
    kind,
    id,
  );
}

/** Makes the schedules that a worker has leased due again. Returns their number. */
export function* abandonSchedules(tx: Transaction, worker: string): Operation<number> {
  const schedules = yield* findLeasedSchedules(worker);
  for (const schedule of schedules) {
    tx.require(scheduleLock(schedule));
    yield* run(
      `UPDATE schedules SET next_at = due_at, worker = NULL, due_at = NULL, rev = rev + 1
       WHERE kind = ? AND id = ?`,
      schedule.kind,
      schedule.id,
    );
    tx.markClaimable(`schedule:${schedule.kind}`);
  }
  return schedules.length;
}

export function findLeasedSchedules(worker: string): Operation<{ kind: string; id: string }[]> {
  return all<{ kind: string; id: string }>(
    "SELECT kind, id FROM schedules WHERE worker = ?",
    worker,
  );
}

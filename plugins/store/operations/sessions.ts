/** Sessions and their transcripts. */
import { type Lock, rowLock } from "../sql/locks.ts";
import type { Operation, Transaction, Write } from "../sql/operation.ts";
import {
  all,
  whereClause,
  first,
  fromJson,
  fromNull,
  pageSize,
  prefixEnd,
  remove,
  run,
  toJson,
} from "../sql/query.ts";
import type { NewMessage, Session, StoredMessage } from "../types.ts";

interface SessionRow {
  id: string;
  created_at: number;
  updated_at: number;
  messages: number;
  meta: string;
}

function toSession(row: SessionRow): Session {
  return {
    id: row.id,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
    messages: row.messages,
    meta: fromJson(row.meta) as Record<string, unknown>,
  };
}

export function* getSession(id: string): Operation<Session | undefined> {
  const row = yield* first<SessionRow>("SELECT * FROM sessions WHERE id = ?", id);
  return row && toSession(row);
}

/** Returns the lock of a session and its messages. */
export function sessionLock(id: string): Lock {
  return rowLock("sessions", id);
}

export function writeSession(id: string, meta: Record<string, unknown>): Write<Session> {
  return { locks: [sessionLock(id)], run: (tx) => putSession(tx, id, meta) };
}

export function* putSession(
  tx: Transaction,
  id: string,
  meta: Record<string, unknown>,
): Operation<Session> {
  tx.require(sessionLock(id));
  const existing = yield* getSession(id);
  const merged = mergeMeta(existing?.meta, meta);
  yield* run(
    `INSERT INTO sessions (id, created_at, updated_at, meta, principal) VALUES (?, ?, ?, ?, ?)
     ON CONFLICT (id) DO UPDATE SET updated_at = excluded.updated_at, meta = excluded.meta,
       principal = excluded.principal`,
    id,
    tx.now,
    tx.now,
    toJson(merged),
    typeof merged["principal"] === "string" ? merged["principal"] : null,
  );
  return {
    id,
    createdAt: existing?.createdAt ?? tx.now,
    updatedAt: tx.now,
    messages: existing?.messages ?? 0,
    meta: merged,
  };
}

/** Merges the changes, and removes keys that are set to `null`. */
function mergeMeta(
  current: Record<string, unknown> | undefined,
  change: Record<string, unknown>,
): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries({ ...current, ...change }).filter(
      ([, value]) => value !== null && value !== undefined,
    ),
  );
}

export function* listSessions(filter: {
  limit?: number;
  before?: number;
  prefix?: string;
}): Operation<Session[]> {
  const { where, params } = whereClause([
    ["updated_at < ?", filter.before],
    ["id >= ?", filter.prefix || undefined],
    ["id < ?", filter.prefix ? prefixEnd(filter.prefix) : undefined],
  ]);
  const rows = yield* all<SessionRow>(
    `SELECT * FROM sessions ${where} ORDER BY updated_at DESC, id LIMIT ?`,
    ...params,
    pageSize(filter.limit, 100),
  );
  return rows.map(toSession);
}

/**
 * Returns the size of a principal's transcripts in characters. Sessions from before sessions recorded their principal count
 * by their id, which begins with the principal.
 */
export function* sumBytes(principal: string): Operation<number> {
  const prefix = `${principal}:`;
  const row = yield* first<{ bytes: number }>(
    `SELECT COALESCE(SUM(bytes), 0) AS bytes FROM sessions
     WHERE principal = ? OR (principal IS NULL AND id >= ? AND id < ?)`,
    principal,
    prefix,
    prefixEnd(prefix),
  );
  return Number(row?.bytes ?? 0);
}

export function writeMessages(id: string, messages: readonly NewMessage[]): Write<void> {
  return { locks: [sessionLock(id)], run: (tx) => appendMessages(tx, id, messages) };
}

export function* appendMessages(
  tx: Transaction,
  id: string,
  messages: readonly NewMessage[],
): Operation<void> {
  const bodies = messages.map(({ body }) => toJson(body) ?? "null");
  tx.require(sessionLock(id));
  const row = yield* first<{ last_seq: number }>(
    `INSERT INTO sessions (id, created_at, updated_at, messages, last_seq, bytes, meta) VALUES (?, ?, ?, ?, ?, ?, '{}')
     ON CONFLICT (id) DO UPDATE SET updated_at = excluded.updated_at,
       messages = sessions.messages + excluded.messages, last_seq = sessions.last_seq + excluded.last_seq,
       bytes = sessions.bytes + excluded.bytes
     RETURNING last_seq`,
    id,
    tx.now,
    tx.now,
    messages.length,
    messages.length,
    bodies.reduce((sum, body) => sum + body.length, 0),
  );
  let seq = (row?.last_seq ?? messages.length) - messages.length;
  for (const [i, message] of messages.entries()) {
    seq++;
    yield* run(
      "INSERT INTO messages (session, seq, role, body, turn_id, at) VALUES (?, ?, ?, ?, ?, ?)",
      id,
      seq,
      message.role,
      bodies[i]!,
      message.turnId ?? null,
      message.at ?? tx.now,
    );
  }
}

export function* listMessages(
  id: string,
  range: { after?: number; limit?: number; last?: number },
): Operation<StoredMessage[]> {
  const newestFirst = range.last !== undefined;
  const rows = yield* all<{
    seq: number;
    role: string;
    body: string;
    turn_id: string | null;
    at: number;
  }>(
    `SELECT seq, role, body, turn_id, at FROM messages WHERE session = ? AND seq > ?
     ORDER BY seq ${newestFirst ? "DESC" : "ASC"} LIMIT ?`,
    id,
    range.after ?? 0,
    pageSize(range.last ?? range.limit, 100_000, 100_000),
  );
  if (newestFirst) rows.reverse();
  return rows.map(({ seq, role, body, turn_id, at }) => ({
    seq,
    role,
    body: fromJson(body),
    turnId: fromNull(turn_id),
    at,
  }));
}

export function clearSession(id: string): Write<number> {
  return {
    locks: [sessionLock(id)],
    *run(tx) {
      yield* run(
        "UPDATE sessions SET messages = 0, bytes = 0, updated_at = ? WHERE id = ?",
        tx.now,
        id,
      );
      return yield* remove("DELETE FROM messages WHERE session = ?", id);
    },
  };
}

export function deleteSession(id: string): Write<boolean> {
  return {
    locks: [sessionLock(id)],
    *run() {
      yield* remove("DELETE FROM messages WHERE session = ?", id);
      return (yield* remove("DELETE FROM sessions WHERE id = ?", id)) > 0;
    },
  };
}

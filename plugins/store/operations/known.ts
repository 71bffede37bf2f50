/** Keys that were used already, and what their first user was told. */
import type { Operation, Transaction } from "../sql/operation.ts";
import { fromJson, toJson } from "../sql/query.ts";
import type { Dedup, KnownKey } from "../types.ts";

export function* knownKey(tx: Transaction, key: string): Operation<KnownKey | undefined> {
  const { rows } = yield {
    sql: "SELECT answer, at FROM known WHERE key = ? AND expires_at > ?",
    params: [key, tx.now],
    one: true,
    apart: true,
  };
  const row = rows[0] as { answer: string | null; at: number } | undefined;
  return row && { answer: fromJson(row.answer), at: row.at };
}

/** Returns false where the key is known already. */
export function* firstUse(tx: Transaction, dedup: Dedup): Operation<boolean> {
  const { changes } = yield {
    sql: `INSERT INTO known (key, answer, at, expires_at) VALUES (?, ?, ?, ?)
     ON CONFLICT (key) DO UPDATE SET answer = excluded.answer, at = excluded.at, expires_at = excluded.expires_at
     WHERE known.expires_at <= ?`,
    params: [dedup.key, toJson(dedup.answer), tx.now, tx.now + dedup.ttlMs, tx.now],
    apart: true,
  };
  return changes > 0;
}

/** Keys that were used already, and what their first user was told. */
import type { Deferred, Operation, Transaction } from "../sql/operation.ts";
import { shortKey } from "../records/long-keys.ts";
import { fromJson, insertion, toJson } from "../sql/query.ts";
import type { Dedup, KnownKey } from "../types.ts";

const INSERT = "INSERT INTO known (key, answer, at, expires_at)";
const UNLESS_KNOWN = `ON CONFLICT (key) DO UPDATE
  SET answer = excluded.answer, at = excluded.at, expires_at = excluded.expires_at
  WHERE known.expires_at <= excluded.at`;
const insertKeys = insertion(INSERT, "(?, ?, ?, ?)", UNLESS_KNOWN);

type Row = [key: string, answer: string | null, at: number, expiresAt: number];

class NewKeys implements Deferred {
  readonly byKey = new Map<string, Row>();

  *write(): Operation<void> {
    yield* insertKeys([...this.byKey.values()]);
  }
}

export function* knownKey(tx: Transaction, longKey: string): Operation<KnownKey | undefined> {
  const key = shortKey(longKey);
  const [, newAnswer, at = 0, expiresAt = 0] = tx.deferred(NewKeys).byKey.get(key) ?? [];
  if (expiresAt > tx.now) return { answer: fromJson(newAnswer), at };
  const { rows } = yield {
    sql: "SELECT answer, at FROM known WHERE key = ? AND expires_at > ?",
    params: [key, tx.now],
    one: true,
    apart: true,
  };
  const row = rows[0] as { answer: string | null; at: number } | undefined;
  return row && { answer: fromJson(row.answer), at: row.at };
}

/** For a key that was not known a moment ago. Returns false where somebody else was faster. */
export function* firstUse(tx: Transaction, dedup: Dedup): Operation<boolean> {
  const key = shortKey(dedup.key);
  const row: Row = [key, toJson(dedup.answer), tx.now, tx.now + dedup.ttlMs];
  if (tx.isAlone) {
    tx.deferred(NewKeys).byKey.set(key, row);
    return true;
  }
  const { changes } = yield {
    sql: `${INSERT} VALUES (?, ?, ?, ?) ${UNLESS_KNOWN}`,
    params: row,
    apart: true,
  };
  return changes > 0;
}

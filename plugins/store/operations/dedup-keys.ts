/** Keys that were used already, and the responses that their first users got. */
import { shortenKey } from "../records/long-keys.ts";
import { type Lock, rowLock } from "../sql/locks.ts";
import type { Deferred, Operation, Transaction } from "../sql/operation.ts";
import { fromJson, insertion, toJson } from "../sql/query.ts";
import type { Dedup, KnownKey } from "../types.ts";

const insertKeys = insertion(
  "INSERT INTO known (key, answer, at, expires_at)",
  "(?, ?, ?, ?)",
  `ON CONFLICT (key) DO UPDATE
   SET answer = excluded.answer, at = excluded.at, expires_at = excluded.expires_at`,
);

type Row = [key: string, answer: string | null, at: number, expiresAt: number];

/** The keys that this transaction adds. */
class NewKeys implements Deferred {
  readonly byKey = new Map<string, Row>();

  *write(): Operation<void> {
    yield* insertKeys([...this.byKey.values()]);
  }
}

export function dedupLock(key: string): Lock {
  return rowLock("known", shortenKey(key));
}

export function* findKey(tx: Transaction, longKey: string): Operation<KnownKey | undefined> {
  const key = shortenKey(longKey);
  const [, newAnswer, newAt = 0, expiresAt = 0] = tx.deferred(NewKeys).byKey.get(key) ?? [];
  if (expiresAt > tx.now) return { answer: fromJson(newAnswer), at: newAt };
  const { rows } = yield {
    sql: "SELECT answer, at FROM known WHERE key = ? AND expires_at > ?",
    params: [key, tx.now],
    isSingle: true,
    isIndependent: true,
  };
  const row = rows[0] as { answer: string | null; at: number } | undefined;
  return row && { answer: fromJson(row.answer), at: row.at };
}

/** Remembers a key that `findKey` has not found. */
export function rememberKey(tx: Transaction, { key: longKey, answer, ttlMs }: Dedup): void {
  tx.require(dedupLock(longKey));
  const key = shortenKey(longKey);
  tx.deferred(NewKeys).byKey.set(key, [key, toJson(answer), tx.now, tx.now + ttlMs]);
}

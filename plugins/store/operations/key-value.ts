/** Small values by namespace and key. */
import { refuseLong } from "../records/long-keys.ts";
import type { Operation, Param, Transaction } from "../sql/operation.ts";
import { all, first, fromJson, prefixEnd, run, toJson } from "../sql/query.ts";

const ALIVE = "(expires_at IS NULL OR expires_at > ?)";

export function* getValue(tx: Transaction, namespace: string, key: string): Operation<unknown> {
  const row = yield* first<{ value: string }>(
    `SELECT value FROM kv WHERE namespace = ? AND key = ? AND ${ALIVE}`,
    namespace,
    key,
    tx.now,
  );
  return fromJson(row?.value);
}

const SET = `INSERT INTO kv (namespace, key, value, expires_at) VALUES (?, ?, ?, ?)
  ON CONFLICT (namespace, key) DO UPDATE SET value = excluded.value, expires_at = excluded.expires_at`;

interface Entry {
  namespace: string;
  key: string;
  value: unknown;
  ttlMs?: number;
}

function paramsOf(tx: Transaction, { namespace, key, value, ttlMs }: Entry): Param[] {
  refuseLong(namespace, key);
  return [namespace, key, toJson(value) ?? "null", ttlMs === undefined ? null : tx.now + ttlMs];
}

export function* setValue(tx: Transaction, entry: Entry): Operation<void> {
  yield* run(SET, ...paramsOf(tx, entry));
}

/** Returns false where the key has a value already. */
export function* addValue(tx: Transaction, entry: Entry): Operation<boolean> {
  return (yield* run(`${SET} WHERE kv.expires_at <= ?`, ...paramsOf(tx, entry), tx.now)) > 0;
}

export function* deleteValue(tx: Transaction, namespace: string, key: string): Operation<boolean> {
  return (
    (yield* run(
      `DELETE FROM kv WHERE namespace = ? AND key = ? AND ${ALIVE}`,
      namespace,
      key,
      tx.now,
    )) > 0
  );
}

export function* listKeys(tx: Transaction, namespace: string, prefix: string): Operation<string[]> {
  const range: Param[] = prefix === "" ? [] : [prefix, prefixEnd(prefix)];
  const rows = yield* all<{ key: string }>(
    `SELECT key FROM kv WHERE namespace = ? AND ${ALIVE} ${prefix === "" ? "" : "AND key >= ? AND key < ?"}
     ORDER BY key`,
    namespace,
    tx.now,
    ...range,
  );
  return rows.map((row) => row.key);
}

/** Forgets what has expired, in every table that has a time of expiry. */
export function* sweep(tx: Transaction): Operation<void> {
  for (const table of ["kv", "known", "limits", "reservations"])
    yield* run(`DELETE FROM ${table} WHERE expires_at <= ?`, tx.now);
}

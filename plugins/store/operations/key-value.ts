/** Small values by namespace and key. */
import { refuseLong } from "../records/long-keys.ts";
import { type Lock, rowLock } from "../sql/locks.ts";
import type { Operation, Param, Transaction, Write } from "../sql/operation.ts";
import { all, first, fromJson, prefixEnd, remove, run, toJson } from "../sql/query.ts";

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

function toParams(tx: Transaction, { namespace, key, value, ttlMs }: Entry): Param[] {
  refuseLong(namespace, key);
  return [namespace, key, toJson(value) ?? "null", ttlMs === undefined ? null : tx.now + ttlMs];
}

export function keyLock(namespace: string, key: string): Lock {
  return rowLock("kv", namespace, key);
}

export function* setValue(tx: Transaction, entry: Entry): Operation<void> {
  tx.require(keyLock(entry.namespace, entry.key));
  yield* run(SET, ...toParams(tx, entry));
}

export function writeValue(entry: Entry): Write<void> {
  return { locks: [keyLock(entry.namespace, entry.key)], run: (tx) => setValue(tx, entry) };
}

/** Resolves to false if the key already has a value. */
export function addValue(entry: Entry): Write<boolean> {
  return {
    locks: [keyLock(entry.namespace, entry.key)],
    *run(tx) {
      const sql = `${SET} WHERE kv.expires_at <= ?`;
      return (yield* run(sql, ...toParams(tx, entry), tx.now)) > 0;
    },
  };
}

export function deleteValue(namespace: string, key: string): Write<boolean> {
  return {
    locks: [keyLock(namespace, key)],
    *run(tx) {
      const sql = `DELETE FROM kv WHERE namespace = ? AND key = ? AND ${ALIVE}`;
      return (yield* run(sql, namespace, key, tx.now)) > 0;
    },
  };
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

const EXPIRING = { kv: "namespace, key", known: "key", limits: "key", reservations: "id, key" };

/** Removes expired rows from every table with a time of expiry. Rows that are in use stay until the next sweep. */
export function sweep(): Write<void> {
  return {
    locks: [],
    *run(tx) {
      for (const [table, key] of Object.entries(EXPIRING)) {
        const expired = `SELECT ${key} FROM ${table} WHERE expires_at <= ? {skip}`;
        yield* remove(`DELETE FROM ${table} WHERE (${key}) IN (${expired})`, tx.now);
      }
    },
  };
}

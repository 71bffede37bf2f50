/**
 * Locks of writes. If several gateways share a database, two transactions that wait for each other end in a deadlock. So no
 * write locks rows while it runs: it declares its locks, and its transaction takes all of them in the order of their names
 * before it executes anything. From then on it waits for no other transaction, since it has locked all rows that it changes.
 *
 * The first character of a name is its place in that order: limits, then lanes, then rows.
 */
import { shortenKey } from "../records/long-keys.ts";

export type Lock = string;

/** Returns the lock of the count of a rate limit or budget. */
export function limitLock(key: string): Lock {
  return `1 limit ${shortenKey(key)}`;
}

export function isLimitLock(lock: Lock): boolean {
  return lock.startsWith("1 ");
}

/** Returns the lock of a lane with its waiting and running items. A transaction that changes one of them holds this lock. */
export function laneLock({ kind, lane }: { kind: string; lane: string }): Lock {
  return `2 lane ${JSON.stringify([kind, lane])}`;
}

/** Returns the lock of one row, or of all rows that share a part of their key, such as the messages of a session. */
export function rowLock(table: string, ...key: string[]): Lock {
  return `3 ${table} ${JSON.stringify(key)}`;
}

/** The error of a write that changes unlocked rows: its declaration is wrong, or rows that it has looked up have changed. */
export class MissingLock extends Error {
  constructor(lock: Lock) {
    super(`The write has not declared the lock ${lock}.`);
  }
}

/**
 * Locks of writes. Where several gateways share a database, two transactions that wait for each other end in a deadlock.
 * So no write locks rows as it goes along: it declares its locks, and its transaction takes all of them in one order, that
 * of their names, before it executes anything. From then on it waits for nobody: whatever it changes, it has locked.
 *
 * The first character of a name is its place in that order: limits, then lanes, then rows.
 */
import { shortKey } from "../records/long-keys.ts";

export type Lock = string;

/** The count of a rate limit or budget. */
export function limitLock(key: string): Lock {
  return `1 limit ${shortKey(key)}`;
}

export function isLimitLock(lock: Lock): boolean {
  return lock.startsWith("1 ");
}

/** A lane, and with it the items that wait in it or run: a transaction that changes one of them holds the lane. */
export function laneLock({ kind, lane }: { kind: string; lane: string }): Lock {
  return `2 lane ${JSON.stringify([kind, lane])}`;
}

/** One row, or the rows that share a part of their key, such as the messages of a session. */
export function rowLock(table: string, ...key: string[]): Lock {
  return `3 ${table} ${JSON.stringify(key)}`;
}

/** A write changes what it has not locked: its declaration is wrong, or what it looked up has changed since. */
export class MissingLock extends Error {
  constructor(lock: Lock) {
    super(`The write has not declared the lock ${lock}.`);
  }
}

/** A batch of writes as one transaction. SQLite has one writer at a time, so locks need not be taken. */
import type { Operation, Write } from "../sql/operation.ts";
import { SharedTransaction } from "../sql/transaction.ts";
import type { Connection } from "./connection.ts";
import { isDiskError } from "./failures.ts";

export interface PendingWrite {
  write: Write<unknown>;
  resolve(value: unknown): void;
  reject(error: unknown): void;
}

/** The result of a batch, which takes effect once the transaction is durable. */
export interface BatchResult {
  /** Resolves or rejects each of the writes. */
  settle(): void;
  /** The kinds of work that may have become claimable. */
  claimableKinds: ReadonlySet<string>;
}

export function perform<T>(connection: Connection, operation: Operation<T>): T {
  let step = operation.next();
  while (!step.done) step = operation.next(connection.execute(step.value));
  return step.value;
}

/**
 * Performs a batch up to its commit. If one of the writes fails, it rolls all of them back and repeats them one by one, so
 * that only that one is omitted. Throws if the whole batch has failed; the transaction may still be open then.
 */
export function performBatch(
  connection: Connection,
  batch: readonly PendingWrite[],
  clock: () => number,
): BatchResult {
  connection.exec("BEGIN IMMEDIATE");
  try {
    return performAll(connection, batch, clock);
  } catch (error) {
    // A full or failing disk ends the whole transaction, so no write of this batch has happened.
    if (isDiskError(error) || !connection.inTransaction) throw error;
    connection.exec("ROLLBACK");
    connection.exec("BEGIN IMMEDIATE");
    return performEach(connection, batch, clock);
  }
}

function performAll(
  connection: Connection,
  batch: readonly PendingWrite[],
  clock: () => number,
): BatchResult {
  const transaction = new SharedTransaction();
  const values = batch.map(({ write }) => performWrite(connection, transaction, write, clock()));
  perform(connection, transaction.end());
  return {
    claimableKinds: transaction.claimableKinds,
    settle() {
      for (const [i, { resolve }] of batch.entries()) resolve(values[i]);
    },
  };
}

/** Performs each write in a savepoint of its own. */
export function performEach(
  connection: Connection,
  batch: readonly PendingWrite[],
  clock: () => number,
): BatchResult {
  const claimableKinds = new Set<string>();
  const settlements: (() => void)[] = [];
  for (const { write, resolve, reject } of batch) {
    const transaction = new SharedTransaction();
    connection.exec("SAVEPOINT single");
    try {
      const value = performWrite(connection, transaction, write, clock());
      perform(connection, transaction.end());
      for (const kind of transaction.claimableKinds) claimableKinds.add(kind);
      settlements.push(() => resolve(value));
    } catch (error) {
      if (isDiskError(error) || !connection.inTransaction) throw error;
      connection.exec("ROLLBACK TO single");
      settlements.push(() => reject(error));
    }
    connection.exec("RELEASE single");
  }
  return {
    claimableKinds,
    settle() {
      for (const settle of settlements) settle();
    },
  };
}

export function performWrite<T>(
  connection: Connection,
  transaction: SharedTransaction,
  write: Write<T>,
  now: number,
): T {
  const locks = perform(connection, transaction.findLocks(write, now));
  return perform(connection, transaction.perform(write, locks, now));
}

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

/** What is left to do once the transaction is durable. */
export interface Performed {
  settle(): void;
  /** The kinds of work that may have become claimable. */
  touched: ReadonlySet<string>;
}

export function perform<T>(connection: Connection, operation: Operation<T>): T {
  let step = operation.next();
  while (!step.done) step = operation.next(connection.execute(step.value));
  return step.value;
}

/**
 * Everything but the commit. Where one of the writes fails, all of them are undone and repeated one by one, so that only
 * that one is left out. Throws where the whole batch has failed; the transaction may still be open then.
 */
export function performBatch(
  connection: Connection,
  batch: readonly PendingWrite[],
  clock: () => number,
): Performed {
  connection.exec("BEGIN IMMEDIATE");
  try {
    return performAll(connection, batch, clock);
  } catch (error) {
    // a full or failing disk ends the whole transaction: nothing of this batch will be there
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
): Performed {
  const transaction = new SharedTransaction();
  const values = batch.map(({ write }) => performWrite(connection, transaction, write, clock()));
  perform(connection, transaction.end());
  return {
    touched: transaction.touched,
    settle() {
      for (const [i, { resolve }] of batch.entries()) resolve(values[i]);
    },
  };
}

/** Each write in a savepoint of its own. */
export function performEach(
  connection: Connection,
  batch: readonly PendingWrite[],
  clock: () => number,
): Performed {
  const touched = new Set<string>();
  const settlements: (() => void)[] = [];
  for (const { write, resolve, reject } of batch) {
    const transaction = new SharedTransaction();
    connection.exec("SAVEPOINT single");
    try {
      const value = performWrite(connection, transaction, write, clock());
      perform(connection, transaction.end());
      for (const kind of transaction.touched) touched.add(kind);
      settlements.push(() => resolve(value));
    } catch (error) {
      if (isDiskError(error) || !connection.inTransaction) throw error;
      connection.exec("ROLLBACK TO single");
      settlements.push(() => reject(error));
    }
    connection.exec("RELEASE single");
  }
  return {
    touched,
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
  const locks = perform(connection, transaction.locksOf(write, now));
  return perform(connection, transaction.perform(write, locks, now));
}

/** A batch of writes as one transaction. */
import type { Operation, Transaction } from "../sql/operation.ts";
import { SharedTransaction } from "../sql/transaction.ts";
import type { Connection } from "./connection.ts";
import { isDiskError } from "./failures.ts";

export interface Write {
  operation: (tx: Transaction) => Operation<unknown>;
  resolve(value: unknown): void;
  reject(error: unknown): void;
}

/** What is to be told once the transaction is durable. */
interface Done {
  settle: () => void;
  touched: ReadonlySet<string>;
}

/** What goes into the transaction before the batch; `singly` where something has failed, and it may have been that. */
type Before = (connection: Connection, singly: boolean) => ReadonlySet<string>;

export function perform<T>(connection: Connection, operation: Operation<T>): T {
  let step = operation.next();
  while (!step.done) step = operation.next(connection.execute(step.value));
  return step.value;
}

/**
 * Everything but the commit. Savepoints are only paid for where one of the batch has failed: then all of it is undone,
 * and done again with them. Throws where the whole batch has failed; the transaction may still be open then.
 */
export function performBatch(
  connection: Connection,
  batch: readonly Write[],
  clock: () => number,
  before: Before,
): Done {
  connection.exec("BEGIN IMMEDIATE");
  try {
    const earlier = before(connection, false);
    const { settle, touched } = performAll(connection, batch, clock);
    return { settle, touched: new Set([...earlier, ...touched]) };
  } catch (error) {
    // a full or failing disk ends the whole transaction: nothing of this batch will be there
    if (isDiskError(error) || !connection.inTransaction) throw error;
    connection.exec("ROLLBACK");
    connection.exec("BEGIN IMMEDIATE");
    const earlier = before(connection, true);
    const { settle, touched } = performEach(connection, batch, clock);
    return { settle, touched: new Set([...earlier, ...touched]) };
  }
}

function performAll(connection: Connection, batch: readonly Write[], clock: () => number): Done {
  const shared = new SharedTransaction(true);
  const now = clock(); // one for all of them: what rows have in common is handed over once
  const values = batch.map(({ operation }) => perform(connection, shared.perform(operation, now)));
  perform(connection, shared.end());
  const settle = () => {
    for (let i = 0; i < batch.length; i++) batch[i]!.resolve(values[i]); // entries() makes an array for each
  };
  return { settle, touched: shared.touched };
}

function performEach(connection: Connection, batch: readonly Write[], clock: () => number): Done {
  const touched = new Set<string>();
  const tell = batch.map(({ operation, resolve, reject }) => {
    const shared = new SharedTransaction(true);
    let told: () => void;
    connection.exec("SAVEPOINT one");
    try {
      const value = perform(connection, shared.perform(operation, clock()));
      perform(connection, shared.end());
      for (const kind of shared.touched) touched.add(kind);
      told = () => resolve(value);
    } catch (error) {
      if (isDiskError(error) || !connection.inTransaction) throw error;
      connection.exec("ROLLBACK TO one");
      told = () => reject(error);
    }
    connection.exec("RELEASE one");
    return told;
  });
  const settle = () => {
    for (const one of tell) one();
  };
  return { settle, touched };
}

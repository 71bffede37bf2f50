/** The journal's way into the tables. */
import type { Logger } from "portico";
import type { Replay } from "../../sql/engine.ts";
import type { Operation } from "../../sql/operation.ts";
import { SharedTransaction } from "../../sql/transaction.ts";
import { perform } from "../batch.ts";
import type { Connection } from "../connection.ts";
import { isDiskError } from "../failures.ts";

export interface Accepted {
  number: number;
  /** The store's clock when it was accepted. */
  now: number;
  entry: unknown;
}

/** Among the counters: the newest entry that is in the tables. */
const DONE = "journal";

export function doneIn(connection: Connection): number {
  return Number(
    connection.once("SELECT value FROM counters WHERE name = ?", DONE)[0]?.["value"] ?? 0,
  );
}

export function noteDone(connection: Connection, number: number): void {
  const sql =
    "INSERT INTO counters (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value";
  connection.execute({ sql, params: [DONE, number] });
}

/** One by one: what the tables refuse is left out, so that it is not in the way of all that comes after it. */
export function writeEach(
  connection: Connection,
  accepted: readonly Accepted[],
  replay: Replay,
  log: Logger,
): ReadonlySet<string> {
  const touched = new Set<string>();
  for (const { number, now, entry } of accepted) {
    const shared = new SharedTransaction(true);
    connection.exec("SAVEPOINT entry");
    try {
      perform(
        connection,
        shared.perform((tx) => replay(tx, entry), now),
      );
      perform(connection, shared.end());
      for (const kind of shared.touched) touched.add(kind);
    } catch (error) {
      if (isDiskError(error) || !connection.inTransaction) throw error;
      connection.exec("ROLLBACK TO entry");
      log.error({ err: error, number }, "store: what was accepted cannot be written");
    }
    connection.exec("RELEASE entry");
  }
  return touched;
}

/** `perform` for what the journal takes, which only gathers rows: whatever it writes by itself would be in no transaction. */
export function performReads<T>(connection: Connection, operation: Operation<T>): T {
  let step = operation.next();
  while (!step.done) {
    if (!step.value.apart) throw new Error(`not for the journal: ${step.value.sql}`);
    step = operation.next(connection.execute(step.value));
  }
  return step.value;
}

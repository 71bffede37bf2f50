/** Migrates the tables of a file. */
import type { Operation, Result, Step } from "../sql/operation.ts";
import { type MigrationPart, migrations } from "../sql/migrations.ts";
import { INCOMPLETE_REMEDY, SELECT_COPY_MARK, INCOMPLETE_PROBLEM } from "../sql/incomplete-copy.ts";
import { storeUnavailable } from "./failures.ts";

export const WAITING = "state = 'queued'";

/** The part of a connection that a migration needs. */
export interface MigratedConnection {
  readonly inTransaction: boolean;
  exec(sql: string): void;
  once(sql: string): readonly Record<string, unknown>[];
  execute(step: Step): Result;
}

export function readSchemaVersion(connection: Pick<MigratedConnection, "once">): number {
  return Number(connection.once("PRAGMA user_version")[0]?.["user_version"] ?? 0);
}

/** Applies the missing migrations. Each one and its number are one transaction, so that a crash leaves no partial migration. */
export function migrate(connection: MigratedConnection): void {
  const newest = migrations.length;
  const version = readSchemaVersion(connection);
  if (version > newest) {
    throw storeUnavailable(
      `The store was written by a newer version of Portico (its schema is ${version}, but this version knows only schemas up to ${newest}). Update Portico.`,
    );
  }
  while (readSchemaVersion(connection) < newest) {
    connection.exec("BEGIN IMMEDIATE");
    try {
      // This reads the version again, because another process may have migrated while this one waited for the lock.
      const version = readSchemaVersion(connection);
      for (const part of migrations[version] ?? []) applyPart(connection, part);
      connection.exec(`PRAGMA user_version = ${Math.min(version + 1, newest)}`);
      connection.exec("COMMIT");
    } catch (error) {
      if (connection.inTransaction) connection.exec("ROLLBACK");
      throw error;
    }
  }
}

function applyPart(connection: MigratedConnection, part: MigrationPart): void {
  if (typeof part === "function") perform(connection, part());
  // SQLite counts tokens in the table of counters: with a single writer, no transaction waits for another one there.
  else if (part !== "{token sequence}") connection.exec(toSqlite(part));
}

function toSqlite(part: string): string {
  return part
    .replace("{serial}", "INTEGER PRIMARY KEY AUTOINCREMENT")
    .replace("{waiting}", WAITING);
}

function perform(connection: MigratedConnection, operation: Operation<void>): void {
  let step = operation.next();
  while (!step.done) step = operation.next(connection.execute(step.value));
}

export function refuseIncomplete(connection: Pick<MigratedConnection, "once">): void {
  if (connection.once(SELECT_COPY_MARK).length > 0)
    throw storeUnavailable(`The store cannot be used: ${INCOMPLETE_PROBLEM}. ${INCOMPLETE_REMEDY}`);
}

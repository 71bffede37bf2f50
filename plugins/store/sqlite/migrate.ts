import { migrations } from "../sql/migrations.ts";
import { COMPLETE_PART, FIND_PART, PART } from "../sql/part.ts";
import { storeUnavailable } from "./failures.ts";

export const WAITING = "state = 'queued'";

/** What a migration needs of a connection. */
export interface MigratedConnection {
  readonly inTransaction: boolean;
  exec(sql: string): void;
  once(sql: string): readonly Record<string, unknown>[];
}

export function schemaVersion(connection: Pick<MigratedConnection, "once">): number {
  return Number(connection.once("PRAGMA user_version")[0]?.["user_version"] ?? 0);
}

/** Brings the tables up to date. Each step and its number go in together, so that a crash leaves no half of one. */
export function migrate(connection: MigratedConnection): void {
  const newest = migrations.length;
  const found = schemaVersion(connection);
  if (found > newest) {
    throw storeUnavailable(
      `the store was written by a newer portico (schema ${found}, known here: ${newest}): update portico`,
    );
  }
  while (schemaVersion(connection) < newest) {
    connection.exec("BEGIN IMMEDIATE");
    try {
      // read again inside: another process may have migrated while this one waited for the lock
      const version = schemaVersion(connection);
      for (const sql of migrations[version] ?? []) {
        connection.exec(
          sql
            .replace("{serial}", "INTEGER PRIMARY KEY AUTOINCREMENT")
            .replace("{waiting}", WAITING),
        );
      }
      connection.exec(`PRAGMA user_version = ${Math.min(version + 1, newest)}`);
      connection.exec("COMMIT");
    } catch (error) {
      if (connection.inTransaction) connection.exec("ROLLBACK");
      throw error;
    }
  }
}

export function refusePart(connection: Pick<MigratedConnection, "once">): void {
  if (connection.once(FIND_PART).length > 0)
    throw storeUnavailable(`the store cannot be used: ${PART}: ${COMPLETE_PART}`);
}

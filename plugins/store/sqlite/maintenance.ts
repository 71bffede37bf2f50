/**
 * Work on the whole file, which on a large store takes minutes: on connections of its own, in another thread, one job
 * after the other. Only the caller gets the errors of this work, since they say nothing about the store's health.
 */
import { existsSync, renameSync, rmSync, statSync } from "node:fs";
import type { PorticoError } from "portico";
import { errors } from "../errors.ts";
import { type BackgroundConnection, connectInBackground } from "./connection.ts";
import { codeOf } from "./failures.ts";
import { makePrivateFile } from "../private-files.ts";
import { migrations } from "../sql/migrations.ts";
import { textProblems } from "./texts.ts";

export interface Maintenance {
  /** What `integrity_check` finds; nothing: empty. */
  check(): Promise<string[]>;
  /** The log cannot start again meanwhile, and grows with what is written. */
  copy(target: string): Promise<{ bytes: number }>;
  compact(): Promise<{ before: number; after: number }>;
  /** Where it is there, writes wait: SQLite rewrites the file under its write lock. Never rejects. */
  readonly held: Promise<void> | undefined;
  /** Resolves when nothing is running any more. */
  ended(): Promise<void>;
}

export function createMaintenance(file: string): Maintenance {
  let last: Promise<void> = Promise.resolve();
  let pause: Promise<void> | undefined;

  function inTurn<T>(
    what: string,
    job: (connection: BackgroundConnection) => Promise<T>,
  ): Promise<T> {
    const result = last.then(async () => {
      let connection: BackgroundConnection | undefined;
      try {
        connection = await connectInBackground(file);
        return await job(connection);
      } catch (error) {
        throw failure(what, error);
      } finally {
        connection?.close();
      }
    });
    last = settled(result);
    return result;
  }

  return {
    check: () =>
      inTurn("The store could not be checked", async (connection) => {
        const problems = await integrityProblems(connection);
        return problems.length > 0 ? problems : textProblems(connection, migrations.length);
      }),
    async copy(target) {
      if (existsSync(target)) throw errors.copyExists();
      // under its name there is never half a copy, also where the process ends
      const part = `${target}.part`;
      await inTurn("The store could not be copied", async (connection) => {
        rmSync(part, { force: true });
        try {
          makePrivateFile(part); // an empty one may be written into
          await connection.exec(`VACUUM INTO '${part.replaceAll("'", "''")}'`);
          renameSync(part, target);
        } catch (error) {
          rmSync(part, { force: true });
          throw error;
        }
      });
      return { bytes: sizeOf(target) };
    },
    compact: () =>
      inTurn("The store could not be compacted", async (connection) => {
        // a write that waits keeps its place; one that ran into the lock would be refused after a few seconds
        const rewriting = connection
          .exec("VACUUM")
          .then(() => connection.all("PRAGMA wal_checkpoint(TRUNCATE)"));
        pause = settled(rewriting);
        const before = sizeWithLog(file);
        try {
          await rewriting;
          return { before, after: sizeWithLog(file) };
        } finally {
          pause = undefined;
        }
      }),
    get held() {
      return pause;
    },
    ended: () => last,
  };
}

export async function integrityProblems(connection: BackgroundConnection): Promise<string[]> {
  const rows = await connection.all("PRAGMA integrity_check");
  return rows.map((row) => String(row.integrity_check)).filter((line) => line !== "ok");
}

function settled(work: Promise<unknown>): Promise<void> {
  return work.then(
    () => {},
    () => {},
  );
}

const reasons: Record<string, string> = {
  SQLITE_FULL: "the disk has no space for it",
  SQLITE_CANTOPEN: "its file cannot be opened",
  SQLITE_READONLY: "its file is read-only",
  SQLITE_CORRUPT: "the store's file is damaged",
  SQLITE_NOTADB: "the store's file is not a database",
  SQLITE_BUSY: "another process is writing to it",
};

function failure(what: string, error: unknown): PorticoError {
  const reason = reasons[codeOf(error).replace(/^(SQLITE_[A-Z]+)_.*$/, "$1")] ?? "the disk failed";
  return errors.maintenanceFailed({ task: what, reason }, { cause: error });
}

function sizeOf(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.size ?? 0;
}

export function sizeWithLog(file: string): number {
  return sizeOf(file) + sizeOf(`${file}-wal`);
}

/**
 * Work on the whole file, which takes minutes on a large store. It runs on connections of its own in another thread, one
 * task after the other. Only the caller gets the errors of this work, since they say nothing about the store's health.
 */
import { existsSync, renameSync, rmSync, statSync } from "node:fs";
import type { PorticoError } from "portico";
import { errors } from "../errors.ts";
import { type BackgroundConnection, connectInBackground } from "./connection.ts";
import { getCode } from "./failures.ts";
import { makePrivateFile } from "../private-files.ts";
import { migrations } from "../sql/migrations.ts";
import { findTextProblems } from "./texts.ts";

export interface Maintenance {
  /** Lists the problems that `integrity_check` and a check of all texts find. */
  check(): Promise<string[]>;
  /** Copies the store. Until it ends, the log cannot restart and grows with each write. */
  copy(target: string): Promise<{ bytes: number }>;
  compact(): Promise<{ before: number; after: number }>;
  /** If defined, writes wait for it, since SQLite rewrites the file under its write lock. Never rejects. */
  readonly pause: Promise<void> | undefined;
  /** Resolves when no task is running. */
  idle(): Promise<void>;
}

export function createMaintenance(file: string): Maintenance {
  let lastTask: Promise<void> = Promise.resolve();
  let pause: Promise<void> | undefined;

  function runInTurn<T>(
    task: string,
    work: (connection: BackgroundConnection) => Promise<T>,
  ): Promise<T> {
    const result = lastTask.then(async () => {
      let connection: BackgroundConnection | undefined;
      try {
        connection = await connectInBackground(file);
        return await work(connection);
      } catch (error) {
        throw createFailure(task, error);
      } finally {
        connection?.close();
      }
    });
    lastTask = ignoreResult(result);
    return result;
  }

  return {
    check: () =>
      runInTurn("The store could not be checked", async (connection) => {
        const problems = await findIntegrityProblems(connection);
        return problems.length > 0 ? problems : findTextProblems(connection, migrations.length);
      }),
    async copy(target) {
      if (existsSync(target)) throw errors.copyExists();
      // The final name never holds an incomplete copy, even if the process is killed.
      const part = `${target}.part`;
      await runInTurn("The store could not be copied", async (connection) => {
        rmSync(part, { force: true });
        try {
          makePrivateFile(part); // VACUUM INTO accepts an empty file
          await connection.exec(`VACUUM INTO '${part.replaceAll("'", "''")}'`);
          renameSync(part, target);
        } catch (error) {
          rmSync(part, { force: true });
          throw error;
        }
      });
      return { bytes: getSize(target) };
    },
    compact: () =>
      runInTurn("The store could not be compacted", async (connection) => {
        // Writes wait here in order. One that waited for SQLite's lock would fail after a few seconds.
        const rewriting = connection
          .exec("VACUUM")
          .then(() => connection.all("PRAGMA wal_checkpoint(TRUNCATE)"));
        pause = ignoreResult(rewriting);
        const before = getSizeWithLog(file);
        try {
          await rewriting;
          return { before, after: getSizeWithLog(file) };
        } finally {
          pause = undefined;
        }
      }),
    get pause() {
      return pause;
    },
    idle: () => lastTask,
  };
}

export async function findIntegrityProblems(connection: BackgroundConnection): Promise<string[]> {
  const rows = await connection.all("PRAGMA integrity_check");
  return rows.map((row) => String(row.integrity_check)).filter((line) => line !== "ok");
}

function ignoreResult(work: Promise<unknown>): Promise<void> {
  return work.then(
    () => {},
    () => {},
  );
}

const reasons: Record<string, string> = {
  SQLITE_FULL: "the disk has too little free space",
  SQLITE_CANTOPEN: "its file cannot be opened",
  SQLITE_READONLY: "its file is read-only",
  SQLITE_CORRUPT: "the store's file is damaged",
  SQLITE_NOTADB: "the store's file is not a database",
  SQLITE_BUSY: "another process is writing to it",
};

function createFailure(task: string, error: unknown): PorticoError {
  const reason = reasons[getCode(error).replace(/^(SQLITE_[A-Z]+)_.*$/, "$1")] ?? "the disk failed";
  return errors.maintenanceFailed({ task, reason }, { cause: error });
}

function getSize(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.size ?? 0;
}

export function getSizeWithLog(file: string): number {
  return getSize(file) + getSize(`${file}-wal`);
}

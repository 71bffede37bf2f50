/** Connections to the file. This is the only importer of `libsql`. */
import { existsSync } from "node:fs";
import { availableParallelism } from "node:os";
import type { Param, Query, Result, Step } from "../sql/operation.ts";
import { withNul, withoutNul } from "../sql/query.ts";
import { isBusy } from "./failures.ts";
import { migrate, WAITING } from "./migrate.ts";
import { makePrivateFile } from "../private-files.ts";

type Row = Record<string, unknown>;

/** The part of libsql's interface that the store uses. libsql aborts the process on a boolean parameter: `Param` has none. */
interface Statement {
  readonly reader: boolean;
  run(params: readonly Param[]): { changes: number };
  get(params: readonly Param[]): Row | undefined;
  all(params: readonly Param[]): Row[];
}
interface Database {
  readonly inTransaction: boolean;
  prepare(sql: string): Statement;
  exec(sql: string): void;
  close(): void;
}

/** The asynchronous interface of libsql, which runs statements in another thread. */
interface BackgroundDatabase {
  prepare(sql: string): Promise<{ all(params: readonly Param[]): Promise<Row[]> }>;
  exec(sql: string): Promise<void>;
  close(): void;
}
type Open<D> = new (path: string, options: { timeout: number }) => D;

export interface Connection {
  readonly inTransaction: boolean;
  exec(sql: string): void;
  /** Commits in another thread, so that the event loop does not wait for the disk. Call nothing else in the meantime. */
  commit(): Promise<void>;
  /** Sets `PRAGMA synchronous`. A NORMAL commit survives a crash of this process, and is on disk with the next FULL commit. */
  setSynchronous(mode: "FULL" | "NORMAL"): void;
  execute(step: Step): Result;
  /** Runs a statement without caching it. */
  once(sql: string, ...params: Param[]): Row[];
  close(): void;
  /** Moves the log into the file before it closes, so that the file alone is the store if no other process uses it. */
  checkpointAndClose(): void;
}

/** Opening waits this long for another process's transaction. */
const OPEN_BUSY_MS = 5000;
/** libsql waits for a lock within the call and blocks the event loop, so this wait is short and callers try again. */
const CALL_BUSY_MS = 5;
/** The size of the log in pages (64 MB) at which a commit moves it into the file, if no checkpoint has done so. */
const MAX_LOG_PAGES = 16_000;
/** SQLite truncates the log to this size when it restarts: large rows make it long, and nothing else would shorten it. */
const KEPT_LOG_BYTES = 16 * 1024 * 1024;

const NO_ROWS: Row[] = [];
const NEXT_TOKEN =
  "UPDATE counters SET value = value + 1 WHERE name = 'token' RETURNING value AS token";

/**
 * libsql makes as many threads as there are cores when it opens its first database. With a single one every commit would
 * wait for a copy or a check of the whole file, so libsql gets at least two. Other libraries and child processes must not
 * see the variable that sets this.
 */
function withThreads<D>(open: () => D): D {
  const name = "TOKIO_WORKER_THREADS";
  if (process.env[name] !== undefined) return open();
  process.env[name] = String(Math.max(2, availableParallelism()));
  try {
    return open();
  } finally {
    delete process.env[name];
  }
}

/** Opens the file and migrates its tables. */
export async function connect(file: string): Promise<Connection> {
  const { default: Libsql } = (await import("libsql")) as unknown as { default: Open<Database> };
  makePrivateFile(file);
  // Opening is the one place that may wait longer: two gateways that start at once migrate one after the other.
  const connection = createConnection(
    withThreads(() => new Libsql(file, { timeout: OPEN_BUSY_MS })),
  );
  try {
    connection.exec("PRAGMA journal_mode = WAL");
    connection.setSynchronous("FULL");
    // The pages of frequently used indexes stay in memory: at most 8 MB, allocated as they are used.
    connection.exec("PRAGMA cache_size = -8000");
    connection.exec(`PRAGMA wal_autocheckpoint = ${MAX_LOG_PAGES}`);
    connection.exec(`PRAGMA journal_size_limit = ${KEPT_LOG_BYTES}`);
    migrate(connection);
    connection.exec(`PRAGMA busy_timeout = ${CALL_BUSY_MS}`);
  } catch (error) {
    connection.close();
    throw error;
  }
  return connection;
}

/** Imported at the first use: libsql takes time to detect the system, separately for each of its two interfaces. */
let background: Promise<Open<BackgroundDatabase>> | undefined;
function importBackground(): Promise<Open<BackgroundDatabase>> {
  background ??= import("libsql/promise").then(
    (module) => (module as unknown as { default: Open<BackgroundDatabase> }).default,
  );
  return background;
}

function createConnection(db: Database): Connection {
  const statements = new Map<string, { statement: Statement; reader: boolean }>();
  let synchronous: "FULL" | "NORMAL" | undefined;

  function prepareStatement(sql: string): { statement: Statement; reader: boolean } {
    const cached = statements.get(sql);
    if (cached) return cached;
    const statement = db.prepare(sql.replaceAll("{skip}", "").replaceAll("{waiting}", WAITING));
    const prepared = { statement, reader: statement.reader };
    statements.set(sql, prepared);
    return prepared;
  }

  function executeQuery({ sql, params, isSingle }: Query): Result {
    const { statement, reader } = prepareStatement(sql);
    const values = withoutNul(params);
    if (!reader) return { rows: NO_ROWS, changes: statement.run(values).changes };
    if (!isSingle) return { rows: withNul(statement.all(values)), changes: 0 };
    const row = statement.get(values);
    return { rows: row ? withNul([row]) : NO_ROWS, changes: 0 };
  }

  return {
    get inTransaction() {
      return db.inTransaction;
    },
    exec: (sql) => db.exec(sql),
    async commit() {
      // This calls the method of another class, since both classes wrap the same handle.
      const { prototype } = await importBackground();
      await prototype.exec.call(db, "COMMIT");
    },
    setSynchronous(mode) {
      if (mode !== synchronous) db.exec(`PRAGMA synchronous = ${mode}`);
      synchronous = mode;
    },
    execute(step) {
      if ("sql" in step) return executeQuery(step);
      if ("nextToken" in step) return executeQuery({ sql: NEXT_TOKEN, params: [], isSingle: true });
      // The transaction is the only writer, so all locks are free.
      return { rows: step.tryLocks.slice(0, step.max).map((name) => ({ name })), changes: 0 };
    },
    once(sql, ...params) {
      const statement = db.prepare(sql);
      if (statement.reader) return statement.all(params);
      statement.run(params);
      return NO_ROWS;
    },
    close: () => db.close(),
    checkpointAndClose() {
      try {
        db.exec("PRAGMA wal_checkpoint(TRUNCATE)");
      } catch {
        // The data stays in the log, where the next start finds it.
      }
      db.close();
    },
  };
}

/** A lock on an empty file, which the system releases when the process ends. */
export interface FileLock {
  /** Returns false if another process has the lock; for a shared lock, only if that process has it exclusively. */
  take(mode: "exclusive" | "shared"): boolean;
  release(): void;
  close(): void;
}

export async function openLock(file: string): Promise<FileLock> {
  const { default: Libsql } = (await import("libsql")) as unknown as { default: Open<Database> };
  // Closing a file releases the locks that this process has on it, so the file is created only if it is missing.
  if (!existsSync(file)) makePrivateFile(file);
  const db = withThreads(() => new Libsql(file, { timeout: CALL_BUSY_MS }));
  const release = () => {
    if (db.inTransaction) db.exec("ROLLBACK");
  };
  return {
    take(mode) {
      try {
        db.exec(mode === "exclusive" ? "BEGIN EXCLUSIVE" : "BEGIN");
        if (mode === "shared") db.prepare("SELECT count(*) FROM sqlite_master").all([]); // only a read takes the lock
        return true;
      } catch (error) {
        release();
        if (isBusy(error)) return false;
        throw error;
      }
    },
    release,
    close() {
      release(); // otherwise a statement that is not garbage-collected yet keeps the lock after the connection is closed
      db.close();
    },
  };
}

/** A connection whose every statement runs in another thread, so that long ones do not block this thread. */
export interface BackgroundConnection {
  exec(sql: string): Promise<void>;
  all(sql: string, params?: readonly Param[]): Promise<Row[]>;
  close(): void;
}

/** Opens `file`, a path or a `file:` address with SQLite's parameters. Its thread waits `busyMs` for a lock. */
export async function connectInBackground(
  file: string,
  busyMs = OPEN_BUSY_MS,
): Promise<BackgroundConnection> {
  const Libsql = await importBackground();
  const db = withThreads(() => new Libsql(file, { timeout: busyMs }));
  return {
    exec: (sql) => db.exec(sql),
    all: async (sql, params = []) => (await db.prepare(sql)).all(params),
    close: () => db.close(),
  };
}

/** Moves the log into the file, as far as that is possible without blocking readers and writers. */
export interface Checkpointer {
  run(): Promise<void>;
  close(): void;
}

export async function openCheckpointer(file: string): Promise<Checkpointer> {
  const connection = await connectInBackground(file, CALL_BUSY_MS);
  return {
    async run() {
      await connection.all("PRAGMA wal_checkpoint(PASSIVE)");
    },
    close: () => connection.close(),
  };
}

/** Connections to the file. The only importer of `libsql`. */
import { existsSync } from "node:fs";
import { availableParallelism } from "node:os";
import type { Param, Query, Result, Step } from "../sql/operation.ts";
import { withNul, withoutNul } from "../sql/query.ts";
import { isBusy } from "./failures.ts";
import { migrate, WAITING } from "./migrate.ts";
import { makePrivateFile } from "../private-files.ts";

type Row = Record<string, unknown>;

/** The part of libsql's interface that is used. It aborts the process on a boolean parameter: `Param` has none. */
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

/** libsql's other face: what is awaited runs in another thread. */
interface BackgroundDatabase {
  prepare(sql: string): Promise<{ all(params: readonly Param[]): Promise<Row[]> }>;
  exec(sql: string): Promise<void>;
  close(): void;
}
type Open<D> = new (path: string, options: { timeout: number }) => D;

export interface Connection {
  readonly inTransaction: boolean;
  exec(sql: string): void;
  /** Commits in another thread: the event loop does not wait for the disk. Nothing else may be called meanwhile. */
  commit(): Promise<void>;
  /** NORMAL does not wait for the disk: safe from a crash of this process, and the next FULL commit carries it. */
  synchronize(how: "FULL" | "NORMAL"): void;
  execute(step: Step): Result;
  /** For a statement that is not worth keeping. */
  once(sql: string, ...params: Param[]): Row[];
  close(): void;
  /** The log goes into the file before, so that the file alone is the store: as far as nobody else uses it. */
  closeWhole(): void;
}

/** How long opening waits for another process's transaction. */
const BUSY_MS = 5000;
/** libsql waits for a lock inside the call, with the event loop standing still: keep that short and wait outside. */
const BUSY_INSIDE_MS = 5;
/** Pages of the log (64 MB) after which a commit moves it into the file itself: where nothing else has done so. */
const LONGEST_LOG = 16_000;
/** So much of its file stays when the log starts again: large rows make it long, and nothing else would shorten it. */
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

/** Opens the file and brings its tables up to date. */
export async function connect(file: string): Promise<Connection> {
  const { default: Libsql } = (await import("libsql")) as unknown as { default: Open<Database> };
  makePrivateFile(file);
  // Opening is the one place that may wait longer: two gateways that start at once migrate one after the other.
  const connection = connectionOf(withThreads(() => new Libsql(file, { timeout: BUSY_MS })));
  try {
    connection.exec("PRAGMA journal_mode = WAL");
    connection.synchronize("FULL");
    // pages of the hot indexes stay in memory: 8 MB at most, taken only as they are used
    connection.exec("PRAGMA cache_size = -8000");
    connection.exec(`PRAGMA wal_autocheckpoint = ${LONGEST_LOG}`);
    connection.exec(`PRAGMA journal_size_limit = ${KEPT_LOG_BYTES}`);
    migrate(connection);
    connection.exec(`PRAGMA busy_timeout = ${BUSY_INSIDE_MS}`);
  } catch (error) {
    connection.close();
    throw error;
  }
  return connection;
}

/** Not before it is used: libsql takes its time to find out what system this is, for each of its two faces again. */
let background: Promise<Open<BackgroundDatabase>> | undefined;
function importBackground(): Promise<Open<BackgroundDatabase>> {
  background ??= import("libsql/promise").then(
    (loaded) => (loaded as unknown as { default: Open<BackgroundDatabase> }).default,
  );
  return background;
}

function connectionOf(db: Database): Connection {
  const statements = new Map<string, { statement: Statement; reader: boolean }>();
  let synchronous: "FULL" | "NORMAL" | undefined;

  function statementOf(sql: string): { statement: Statement; reader: boolean } {
    let known = statements.get(sql);
    if (!known) {
      const statement = db.prepare(sql.replaceAll("{skip}", "").replaceAll("{waiting}", WAITING));
      known = { statement, reader: statement.reader };
      statements.set(sql, known);
    }
    return known;
  }

  function executeQuery({ sql, params, isSingle }: Query): Result {
    const { statement, reader } = statementOf(sql);
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
      // another class's method; both classes only hand on to the same handle
      const { prototype } = await importBackground();
      await prototype.exec.call(db, "COMMIT");
    },
    synchronize(how) {
      if (how !== synchronous) db.exec(`PRAGMA synchronous = ${how}`);
      synchronous = how;
    },
    execute(step) {
      if ("sql" in step) return executeQuery(step);
      if ("nextToken" in step) return executeQuery({ sql: NEXT_TOKEN, params: [], isSingle: true });
      // No other connection writes in the meantime.
      return { rows: step.tryLocks.slice(0, step.most).map((name) => ({ name })), changes: 0 };
    },
    once(sql, ...params) {
      const statement = db.prepare(sql);
      if (statement.reader) return statement.all(params);
      statement.run(params);
      return NO_ROWS;
    },
    close: () => db.close(),
    closeWhole() {
      try {
        db.exec("PRAGMA wal_checkpoint(TRUNCATE)");
      } catch {
        // it stays in the log, where the next start finds it
      }
      db.close();
    },
  };
}

/** A lock on an empty file, which ends with its process. */
export interface FileLock {
  /** False where somebody else has it: to share it, only where that one has it alone. */
  take(how: "alone" | "shared"): boolean;
  leave(): void;
  close(): void;
}

export async function openLock(file: string): Promise<FileLock> {
  const { default: Libsql } = (await import("libsql")) as unknown as { default: Open<Database> };
  // closing a file ends the locks that this process has on it: it is made once
  if (!existsSync(file)) makePrivateFile(file);
  const db = withThreads(() => new Libsql(file, { timeout: BUSY_INSIDE_MS }));
  const leave = () => {
    if (db.inTransaction) db.exec("ROLLBACK");
  };
  return {
    take(how) {
      try {
        db.exec(how === "alone" ? "BEGIN EXCLUSIVE" : "BEGIN");
        if (how === "shared") db.prepare("SELECT count(*) FROM sqlite_master").all([]); // a read takes it
        return true;
      } catch (error) {
        leave();
        if (isBusy(error)) return false;
        throw error;
      }
    },
    leave,
    close() {
      leave(); // a statement that is not collected yet would keep the lock beyond the end of its connection
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

/** `file`: a path, or a `file:` address with SQLite's own parameters. `busyMs`: how long its thread waits for a lock. */
export async function connectInBackground(
  file: string,
  busyMs = BUSY_MS,
): Promise<BackgroundConnection> {
  const Libsql = await importBackground();
  const db = withThreads(() => new Libsql(file, { timeout: busyMs }));
  return {
    exec: (sql) => db.exec(sql),
    all: async (sql, params = []) => (await db.prepare(sql)).all(params),
    close: () => db.close(),
  };
}

/** What moves the log into the file, as far as it goes without disturbing anybody. */
export interface Checkpointer {
  run(): Promise<void>;
  close(): void;
}

export async function openCheckpointer(file: string): Promise<Checkpointer> {
  const connection = await connectInBackground(file, BUSY_INSIDE_MS);
  return {
    async run() {
      await connection.all("PRAGMA wal_checkpoint(PASSIVE)");
    },
    close: () => connection.close(),
  };
}

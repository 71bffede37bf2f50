/**
 * The embedded engine: one SQLite file, write-ahead log, synchronous commits. The only importer of `libsql`.
 *
 * All writes that are waiting when the event loop comes round go into one transaction and share its one fsync; one that
 * fails takes nobody with it.
 */
import { statSync } from "node:fs";
import type { Logger } from "../types.ts";
import { PorticoError } from "../errors.ts";
import { migrations } from "./migrations.ts";
import type { Engine, Operation, Param, Query, Result, Transaction } from "./operation.ts";
import type { StoreHealth } from "./types.ts";

/** The part of libsql's interface that is used. It aborts the process on a boolean parameter: `Param` has none. */
interface Statement {
  readonly reader: boolean;
  run(...params: Param[]): { changes: number };
  get(...params: Param[]): Record<string, unknown> | undefined;
  all(...params: Param[]): Record<string, unknown>[];
}
interface Database {
  readonly inTransaction: boolean;
  prepare(sql: string): Statement;
  exec(sql: string): void;
  close(): void;
}

interface Waiting {
  operation: (tx: Transaction) => Operation<unknown>;
  soft: boolean;
  since: number;
  resolve(value: unknown): void;
  reject(error: unknown): void;
}

/** What is to be told once the transaction is durable. */
interface Settled {
  settle: (() => void)[];
  touched: Set<string>;
}

/** So that a flood of writes never holds the event loop for long. */
const BATCH = 256;
/** How long a write waits for another process's transaction. */
const BUSY_MS = 5000;
/** libsql waits for a lock inside the call, with the event loop standing still: keep that short and wait outside. */
const BUSY_INSIDE_MS = 5;

const NO_ROWS: Record<string, unknown>[] = [];

export interface SqliteOptions {
  file: string;
  log: Logger;
  clock: () => number;
}

/** Opens at the first use; `open()` does it at once. */
export function sqliteEngine(options: SqliteOptions): Engine {
  const { file, log, clock } = options;
  const listeners = new Map<string, Set<() => void>>();
  let db: Database | undefined;
  let opening: Promise<Database> | undefined;
  let statements = new Map<string, { statement: Statement; reader: boolean }>();
  let waiting: Waiting[] = [];
  let scheduled = false;
  let closed = false;
  let softMode = false;
  let problem: string | undefined;

  async function connect(): Promise<Database> {
    const { default: Libsql } = (await import("libsql")) as unknown as {
      default: new (path: string, options: { timeout: number }) => Database;
    };
    // Opening is the one place that may wait longer: two gateways that start at once migrate one after the other.
    const fresh = new Libsql(file, { timeout: BUSY_MS });
    try {
      fresh.exec("PRAGMA journal_mode = WAL");
      fresh.exec("PRAGMA synchronous = FULL");
      // pages of the hot indexes stay in memory: 8 MB at most, taken only as they are used
      fresh.exec("PRAGMA cache_size = -8000");
      // the log is moved into the file after 16 MB: seldom enough for a page that changes all the time to be moved once
      fresh.exec("PRAGMA wal_autocheckpoint = 4000");
      migrate(fresh);
      fresh.exec(`PRAGMA busy_timeout = ${BUSY_INSIDE_MS}`);
    } catch (error) {
      fresh.close();
      throw error;
    }
    statements = new Map();
    softMode = false;
    db = fresh;
    return fresh;
  }

  async function ready(): Promise<Database> {
    if (closed) throw new PorticoError("store_unavailable", "the store is closed: the gateway is stopping", retryAfter);
    if (db) return db;
    opening ??= connect().finally(() => {
      opening = undefined;
    });
    try {
      return await opening;
    } catch (error) {
      throw unavailable(error);
    }
  }

  function execute(database: Database, query: Query): Result {
    let known = statements.get(query.sql);
    if (!known) {
      const statement = database.prepare(query.sql.replace("{lock}", ""));
      known = { statement, reader: statement.reader };
      statements.set(query.sql, known);
    }
    const { statement, reader } = known;
    if (!reader) return { rows: NO_ROWS, changes: statement.run(...query.params).changes };
    if (!query.one) return { rows: statement.all(...query.params), changes: 0 };
    const row = statement.get(...query.params);
    return { rows: row ? [row] : NO_ROWS, changes: 0 };
  }

  function perform<T>(database: Database, operation: Operation<T>): T {
    let step = operation.next();
    while (!step.done) step = operation.next(execute(database, step.value));
    return step.value;
  }

  function write<T>(operation: (tx: Transaction) => Operation<T>, how?: { soft?: boolean }): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      waiting.push({
        operation,
        soft: how?.soft === true,
        since: performance.now(),
        resolve: resolve as (value: unknown) => void,
        reject,
      });
      schedule();
    });
  }

  function schedule(delayMs?: number): void {
    if (scheduled) return;
    scheduled = true;
    const go = () => {
      scheduled = false;
      void flush();
    };
    if (delayMs === undefined) setImmediate(go);
    else setTimeout(go, delayMs);
  }

  async function flush(): Promise<void> {
    if (waiting.length === 0) return;
    let database: Database;
    try {
      database = await ready();
    } catch (error) {
      for (const one of waiting.splice(0)) one.reject(error);
      return;
    }
    const batch = waiting.splice(0, BATCH);
    if (batch.length === 0) return;
    try {
      const touched = commit(database, batch);
      if (waiting.length > 0) schedule();
      for (const kind of touched) for (const wake of listeners.get(kind) ?? []) wake();
    } catch (error) {
      settleFailure(database, batch, error);
      if (waiting.length > 0) schedule();
    }
  }

  /**
   * Everything in here is one stretch of the event loop: nobody else sees the transaction half done. Savepoints are
   * only paid for where one of the batch has failed: then all of it is undone, and done again with them.
   */
  function commit(database: Database, batch: readonly Waiting[]): Set<string> {
    synchronous(
      database,
      batch.every((one) => one.soft),
    );
    database.exec("BEGIN IMMEDIATE");
    let done: Settled;
    try {
      done = performAll(database, batch);
    } catch (error) {
      // a full or failing disk ends the whole transaction: nothing of this batch will be there
      if (isDiskError(error) || !database.inTransaction) throw error;
      database.exec("ROLLBACK");
      database.exec("BEGIN IMMEDIATE");
      done = performEach(database, batch);
    }
    database.exec("COMMIT");
    problem = undefined;
    for (const settle of done.settle) settle();
    return done.touched;
  }

  function performAll(database: Database, batch: readonly Waiting[]): Settled {
    const done: Settled = { settle: [], touched: new Set() };
    for (const one of batch) {
      const value = perform(database, one.operation({ now: clock(), touch: (kind) => done.touched.add(kind) }));
      done.settle.push(() => one.resolve(value));
    }
    return done;
  }

  function performEach(database: Database, batch: readonly Waiting[]): Settled {
    const done: Settled = { settle: [], touched: new Set() };
    for (const one of batch) {
      database.exec("SAVEPOINT one");
      try {
        const value = perform(database, one.operation({ now: clock(), touch: (kind) => done.touched.add(kind) }));
        done.settle.push(() => one.resolve(value));
      } catch (error) {
        if (isDiskError(error) || !database.inTransaction) throw error;
        database.exec("ROLLBACK TO one");
        const shown = unavailable(error);
        done.settle.push(() => one.reject(shown));
      }
      database.exec("RELEASE one");
    }
    return done;
  }

  /** Without waiting for the disk, a commit is still safe from a crash of this process, and the next full one carries it. */
  function synchronous(database: Database, soft: boolean): void {
    if (soft === softMode) return;
    database.exec(`PRAGMA synchronous = ${soft ? "NORMAL" : "FULL"}`);
    softMode = soft;
  }

  function settleFailure(database: Database, batch: readonly Waiting[], error: unknown): void {
    try {
      if (database.inTransaction) database.exec("ROLLBACK");
    } catch (failure) {
      log.warn({ err: failure }, "the store could not roll back");
      drop(database);
    }
    if (codeOf(error) === "SQLITE_BUSY") {
      const tooLate = performance.now() - BUSY_MS;
      const patient = batch.filter((one) => one.since > tooLate);
      waiting = [...patient, ...waiting];
      for (const one of batch) if (one.since <= tooLate) one.reject(unavailable(error));
      if (patient.length > 0) schedule(5 + Math.random() * 20);
      return;
    }
    if (isDiskError(error)) drop(database);
    const shown = unavailable(error);
    for (const one of batch) one.reject(shown);
  }

  /** The next call opens the file anew: a connection that saw an I/O error may hold a broken view of it. */
  function drop(database: Database): void {
    if (db !== database) return;
    db = undefined;
    statements = new Map();
    try {
      database.close();
    } catch (error) {
      log.debug({ err: error }, "closing the store after a failure failed too");
    }
  }

  /** An error of the database becomes `store_unavailable`; any other is a bug and stays what it is. */
  function unavailable(error: unknown): unknown {
    const code = codeOf(error);
    if (!code.startsWith("SQLITE")) return error;
    const said = reasons[code.replace(/^(SQLITE_[A-Z]+)_.*$/, "$1")] ?? "the store could not be written";
    if (problem !== said) log.error({ err: error, code }, `store: ${said}`);
    problem = said;
    return new PorticoError("store_unavailable", `${said}: nothing was accepted, try again later`, {
      ...retryAfter,
      cause: error,
    });
  }

  async function read<T>(operation: (tx: Transaction) => Operation<T>): Promise<T> {
    const database = await ready();
    try {
      return perform(database, operation({ now: clock(), touch: () => {} }));
    } catch (error) {
      if (isDiskError(error)) drop(database);
      throw unavailable(error);
    }
  }

  async function outside<T>(work: (database: Database) => T): Promise<T> {
    const database = await ready();
    try {
      return work(database);
    } catch (error) {
      throw unavailable(error);
    }
  }

  return {
    now: clock,
    write,
    read,
    onWork(kind, wake) {
      const set = listeners.get(kind) ?? new Set();
      listeners.set(kind, set.add(wake));
      return () => {
        set.delete(wake);
      };
    },
    open: async () => {
      await ready();
    },
    async health(): Promise<StoreHealth> {
      try {
        const version = await outside((database) => schemaVersion(database));
        if (problem !== undefined) return { ok: false, engine: "sqlite", problem };
        return { ok: true, engine: "sqlite", bytes: sizeWithLog(file), schemaVersion: version };
      } catch (error) {
        return { ok: false, engine: "sqlite", problem: error instanceof Error ? error.message : String(error) };
      }
    },
    check: () =>
      outside((database) =>
        database
          .prepare("PRAGMA integrity_check")
          .all()
          .map((row) => String(row.integrity_check))
          .filter((line) => line !== "ok"),
      ),
    async backup(target) {
      await outside((database) => database.prepare("VACUUM INTO ?").run(target));
      return { bytes: sizeOf(target) };
    },
    async compact() {
      const before = sizeWithLog(file);
      await outside((database) => {
        database.exec("VACUUM");
        database.prepare("PRAGMA wal_checkpoint(TRUNCATE)").all();
      });
      return { before, after: sizeWithLog(file) };
    },
    async close() {
      while (waiting.length > 0) await flush();
      closed = true;
      const database = db;
      db = undefined;
      database?.close();
    },
  };
}

const retryAfter = { headers: { "retry-after": "5" } };

const reasons: Record<string, string> = {
  SQLITE_FULL: "the store's disk is full",
  SQLITE_IOERR: "the store's disk failed",
  SQLITE_READONLY: "the store's file is read-only",
  SQLITE_CANTOPEN: "the store's file cannot be opened",
  SQLITE_CORRUPT: "the store's file is damaged (portico store check)",
  SQLITE_NOTADB: "the store's file is no database",
  SQLITE_BUSY: "the store is locked by another process",
};

function codeOf(error: unknown): string {
  const code = (error as { code?: unknown } | null)?.code;
  return typeof code === "string" ? code : "";
}

function isDiskError(error: unknown): boolean {
  return /^SQLITE_(FULL|IOERR|CORRUPT|NOTADB|CANTOPEN|READONLY)/.test(codeOf(error));
}

function sizeOf(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.size ?? 0;
}

function sizeWithLog(file: string): number {
  return sizeOf(file) + sizeOf(`${file}-wal`);
}

function schemaVersion(db: Database): number {
  return Number(db.prepare("PRAGMA user_version").all()[0]?.user_version ?? 0);
}

/** Each step and its number go in together, so that a crash leaves no half of one. */
function migrate(db: Database): void {
  const newest = migrations.length;
  if (schemaVersion(db) > newest) {
    throw new PorticoError(
      "store_unavailable",
      `the store was written by a newer portico (schema ${schemaVersion(db)}, known here: ${newest}): update portico`,
    );
  }
  while (schemaVersion(db) < newest) {
    db.exec("BEGIN IMMEDIATE");
    try {
      // read again inside: another process may have migrated while this one waited for the lock
      const version = schemaVersion(db);
      for (const sql of migrations[version] ?? []) {
        db.exec(sql.replace("{serial}", "INTEGER PRIMARY KEY AUTOINCREMENT"));
      }
      db.exec(`PRAGMA user_version = ${Math.min(version + 1, newest)}`);
      db.exec("COMMIT");
    } catch (error) {
      if (db.inTransaction) db.exec("ROLLBACK");
      throw error;
    }
  }
}

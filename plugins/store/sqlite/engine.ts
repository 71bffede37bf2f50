/**
 * The embedded engine: one SQLite file, write-ahead log, synchronous commits.
 *
 * All writes that are waiting when the event loop comes round go into one transaction and share its one fsync; one that
 * fails takes nobody with it. What can be done again after a crash goes through the journal.
 */
import { inBurst, type Logger } from "portico";
import type { Engine, WriteOptions } from "../sql/engine.ts";
import type { Operation, Transaction } from "../sql/operation.ts";
import { SharedTransaction } from "../sql/transaction.ts";
import { createCheckpoints } from "./checkpoints.ts";
import { perform, performBatch } from "./batch.ts";
import { type Connection, connect } from "./connection.ts";
import { isBusy, isDiskError, problemOf, storeUnavailable } from "./failures.ts";
import {
  Journal,
  type JournalOptions,
  type JournalWrite,
  MOST_AT_ONCE,
  type Noted,
} from "./journal/journal.ts";
import { LastReads } from "./last-reads.ts";
import { Listeners } from "./listeners.ts";
import { createMaintenance, sizeWithLog } from "./maintenance.ts";
import { refusePart, schemaVersion } from "./migrate.ts";

type Waiting = JournalWrite & { soft: boolean; since: number };

/** So that a flood of writes never holds the event loop for long. */
const BATCH = 256;
/** After a commit that took this long the event loop does not wait for the next one, though only one call does. */
const SLOW_MS = 5;
/** How long a write waits for another process's transaction. */
const BUSY_MS = 5000;
/** How long what is in the journal alone may wait for others, and for better times. */
const GATHER_MS = 200;
const RETRY_MS = 1000;

export interface SqliteOptions {
  file: string;
  log: Logger;
  clock: () => number;
  journal: Pick<JournalOptions, "replay" | "sharing">;
  /** As `StoreOptions` has it. */
  isPart?: boolean | undefined;
}

/** Opens at the first use; `open()` does it at once. */
export function sqliteEngine(options: SqliteOptions): Engine {
  const { file, log, clock } = options;
  const listeners = new Listeners();
  const lastReads = new LastReads();
  const checkpoints = createCheckpoints(file, log);
  const maintenance = createMaintenance(file);
  const asked = () => void journal.handOver(gathered, use).then(listeners.wakeAll);
  const journal = new Journal({ file, log, asked, ...options.journal });
  let gathering: NodeJS.Timeout | undefined;
  const heldBy = () => maintenance.held ?? checkpoints.held;
  let current: Connection | undefined;
  let opening: Promise<Connection> | undefined;
  let waiting: Waiting[] = [];
  let scheduled = false;
  let cameTogether = false;
  /** From the first statement of a transaction until it is durable: nobody may see it half done. */
  let writing: Promise<void> | undefined;
  let closed = false;
  let problem: string | undefined;
  let lastSyncMs = 0;

  /** Runs `work` in one stretch of the event loop, while no transaction is open. */
  async function use<T>(work: (connection: Connection) => T): Promise<T> {
    while (writing || !current) await (writing ?? open());
    return work(current);
  }

  async function open(): Promise<void> {
    if (closed) throw storeUnavailable("the store is closed: the gateway is stopping");
    opening ??= start().finally(() => {
      opening = undefined;
    });
    try {
      current = await opening;
    } catch (error) {
      throw unavailable(error);
    }
  }

  async function start(): Promise<Connection> {
    const connection = await connect(file);
    try {
      if (!options.isPart) refusePart(connection);
      await journal.start(connection);
    } catch (error) {
      connection.close();
      throw error;
    }
    return connection;
  }

  function write<T>(
    operation: (tx: Transaction) => Operation<T>,
    how?: WriteOptions<T>,
  ): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      waiting.push({
        operation,
        soft: how?.soft === true,
        again: how?.again as Waiting["again"],
        since: performance.now(),
        resolve: resolve as (value: unknown) => void,
        reject: (error) => reject(unavailable(error)),
      });
      schedule();
    });
  }

  function schedule(delayMs?: number): void {
    if (scheduled) return;
    scheduled = true;
    let seen = cameTogether ? 0 : 1; // after many at a time a lone one is the first of many: its own sync would delay them
    const go = () => {
      // several calls wait for more, as long as each turn of the event loop brings some
      if (waiting.length > seen && waiting.length < BATCH) {
        seen = waiting.length;
        return void setImmediate(go);
      }
      scheduled = false;
      // the end of a commit that is under way schedules anew
      if (!writing) void flush();
    };
    if (delayMs !== undefined) return void setTimeout(go, delayMs);
    setImmediate(go);
    inBurst(() => {}); // behind it: an answer that waited for a lone write goes out in the same turn
  }

  /** `intoTables`: also what is in the journal alone. */
  async function flush(intoTables = false): Promise<void> {
    try {
      for (let held = heldBy(); held; held = heldBy()) await held;
      await use((connection) => {
        const batch = journal.isFull && problem === undefined ? [] : waiting.splice(0, BATCH);
        const noted =
          intoTables || problem !== undefined ? undefined : journal.noted(batch, listeners.has);
        if (!noted && batch.length === 0 && !journal.isWaiting) return;
        lastReads.forget();
        cameTogether = batch.length > MOST_AT_ONCE;
        writing = (noted ? accept(connection, batch, noted) : commit(connection, batch)).finally(
          () => {
            writing = undefined;
            if (waiting.length > 0) schedule();
            else if (journal.isWaiting) gather();
          },
        );
      });
    } catch (error) {
      for (const one of waiting.splice(0)) one.reject(error);
    }
  }

  /** Others may come: they go into the tables together. */
  function gather(): void {
    const go = () => {
      gathering = undefined;
      if (!writing) void flush(true);
    };
    gathering ??= setTimeout(go, problem === undefined ? GATHER_MS : RETRY_MS).unref();
  }

  /** What is in the journal alone is in the tables after this, as far as they can be written. */
  async function gathered(): Promise<void> {
    for (
      let tries = 0;
      tries < 5 && journal.isWaiting && problem === undefined && !maintenance.held;
      tries++
    ) {
      if (tries > 0) await new Promise((resolve) => setTimeout(resolve, 20)); // the file was busy
      await flush(true).then(() => writing);
    }
  }

  async function accept(
    connection: Connection,
    batch: readonly Waiting[],
    noted: readonly Noted[],
  ): Promise<void> {
    const { last } = journal;
    try {
      const tell = journal.accept(connection, batch, noted, clock);
      await timed((isQuick) =>
        journal.last === last ? undefined : journal.sync(isQuick && batch.length === 1),
      );
      for (const one of tell) one();
    } catch (error) {
      journal.fail(last);
      log.error(
        { err: error },
        "store: its journal could not be written, and is not used any more",
      );
      for (const one of batch)
        one.reject(storeUnavailable("its disk failed: try again later", error));
    }
  }

  async function commit(connection: Connection, batch: readonly Waiting[]): Promise<void> {
    try {
      const soft = !journal.isDoubtful && batch.every((one) => one.soft);
      connection.synchronize(soft ? "NORMAL" : "FULL");
      const { settle, touched } = performBatch(connection, batch, clock, (own, singly) =>
        journal.apply(own, singly),
      );
      if (soft) connection.exec("COMMIT");
      else
        await timed((isQuick) =>
          isQuick && batch.length === 1 ? connection.exec("COMMIT") : connection.commit(),
        );
      journal.applied(!soft);
      settle();
      problem = undefined;
      checkpoints.note();
      listeners.wake(touched);
    } catch (error) {
      settleFailure(connection, batch, error);
    }
  }

  /** Where the disk is quick, a single call is served sooner without another thread: two need not tell each other. */
  async function timed(sync: (isQuick: boolean) => Promise<void> | void): Promise<void> {
    const began = performance.now();
    await sync(lastSyncMs < SLOW_MS);
    lastSyncMs = performance.now() - began;
  }

  function settleFailure(connection: Connection, batch: readonly Waiting[], error: unknown): void {
    try {
      if (connection.inTransaction) connection.exec("ROLLBACK");
    } catch (failure) {
      log.warn({ err: failure }, "the store could not roll back");
      drop(connection);
    }
    if (isBusy(error)) {
      const tooLate = performance.now() - BUSY_MS;
      const patient = batch.filter((one) => one.since > tooLate);
      waiting = [...patient, ...waiting];
      for (const one of batch) if (one.since <= tooLate) one.reject(error);
      if (patient.length > 0) schedule(5 + Math.random() * 20);
      return;
    }
    if (isDiskError(error)) drop(connection);
    for (const one of batch) one.reject(error);
    if (batch.length === 0) unavailable(error);
  }

  /** The next call opens the file anew: a connection that saw an I/O error may hold a broken view of it. */
  function drop(connection: Connection): void {
    if (current !== connection) return;
    current = undefined;
    void checkpoints.stop();
    try {
      connection.close();
    } catch (error) {
      log.debug({ err: error }, "closing the store after a failure failed too");
    }
  }

  /** An error of the database becomes `store_unavailable`; any other is a bug and stays what it is. */
  function unavailable(error: unknown): unknown {
    const known = problemOf(error);
    if (!known) return error;
    if (problem !== known.problem)
      log.error({ err: error, code: known.code }, `store: ${known.problem}`);
    problem = known.problem;
    return storeUnavailable(`${problem}: nothing was accepted, ${known.mend}`, error);
  }

  async function read<T>(operation: (tx: Transaction) => Operation<T>, name?: string): Promise<T> {
    await gathered();
    return outside((connection) => {
      const look = () =>
        perform(connection, new SharedTransaction(true).perform(operation, clock()));
      // where the tables take nothing in, as on a full disk
      if (problem !== undefined && journal.isWaiting) return journal.lookBeyond(connection, look);
      return lastReads.of(connection, name, look, journal.inSoleUse);
    });
  }

  const allInTables = () => use(() => {}).then(gathered);

  /** `work` writes nothing that belongs to a transaction. */
  function outside<T>(work: (connection: Connection) => T): Promise<T> {
    return use((connection) => {
      try {
        return work(connection);
      } catch (error) {
        if (isDiskError(error)) drop(connection);
        throw unavailable(error);
      }
    });
  }

  return {
    now: clock,
    write,
    read,
    onWork: listeners.add,
    inSoleUse: () => journal.inSoleUse,
    copied: async () => {},
    open: () => use(() => {}),
    async health(isQuick) {
      try {
        const version = await outside((db) =>
          lastReads.of(db, "schema", () => schemaVersion(db), journal.inSoleUse),
        );
        if (problem !== undefined) return { ok: false, engine: "sqlite", problem };
        return {
          ok: true,
          engine: "sqlite",
          bytes: isQuick ? undefined : sizeWithLog(file),
          schemaVersion: version,
        };
      } catch (error) {
        return {
          ok: false,
          engine: "sqlite",
          problem: error instanceof Error ? error.message : String(error),
        };
      }
    },
    check: () => use(() => {}).then(maintenance.check),
    backup: (target) => allInTables().then(() => maintenance.copy(target)),
    compact: () => allInTables().then(maintenance.compact),
    async close() {
      while (waiting.length > 0 || writing) await (writing ?? flush());
      await gathered();
      closed = true;
      await maintenance.ended();
      await opening?.catch(() => {});
      await checkpoints.stop();
      clearTimeout(gathering);
      await journal.close(current);
      current?.closeWhole();
      current = undefined;
    },
  };
}

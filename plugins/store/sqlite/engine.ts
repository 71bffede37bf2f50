/** The embedded engine: one SQLite file, with SQLite's own write-ahead log and synchronous commits. */
import type { Logger } from "portico";
import type { Engine } from "../sql/engine.ts";
import type { Operation, Transaction } from "../sql/operation.ts";
import { SharedTransaction } from "../sql/transaction.ts";
import type { StoreHealth } from "../types.ts";
import { perform } from "./batch.ts";
import { createCheckpoints } from "./checkpoints.ts";
import type { Connection } from "./connection.ts";
import { isDiskError, problemOf, storeUnavailable } from "./failures.ts";
import { GroupCommit } from "./group-commit.ts";
import { LastReads } from "./last-reads.ts";
import { Listeners } from "../sql/listeners.ts";
import { createMaintenance, sizeWithLog } from "./maintenance.ts";
import { schemaVersion } from "./migrate.ts";
import { StoreFile, type StoreFileOptions } from "./store-file.ts";

export interface SqliteOptions {
  file: string;
  log: Logger;
  clock: () => number;
  sharing: StoreFileOptions["sharing"];
  /** As `StoreOptions` has it. */
  isPart?: boolean | undefined;
}

const ENGINE = "sqlite";

/** Opens at the first use; `open()` does it at once. */
export function sqliteEngine({ file: path, log, clock, sharing, isPart }: SqliteOptions): Engine {
  const listeners = new Listeners();
  const lastReads = new LastReads();
  const checkpoints = createCheckpoints(path, log);
  const maintenance = createMaintenance(path);
  let problem: string | undefined;

  const file = new StoreFile({
    file: path,
    log,
    sharing,
    isPart: isPart === true,
    onShared: listeners.wakeAll,
    onDropped: () => void checkpoints.stop(),
  });

  const writes = new GroupCommit({
    file,
    log,
    clock,
    async turn() {
      const held = () => maintenance.held ?? checkpoints.held;
      while (held()) await held();
    },
    began: () => lastReads.forget(),
    committed(touched) {
      problem = undefined;
      checkpoints.note();
      listeners.wake(touched);
    },
  });

  /** An error of the database becomes `store_unavailable`; any other is a bug and stays what it is. */
  function unavailable(error: unknown): unknown {
    const known = problemOf(error);
    if (!known) return error;
    if (problem !== known.problem)
      log.error({ err: error, code: known.code }, `store: ${known.problem}`);
    problem = known.problem;
    return storeUnavailable(`${problem}: nothing was accepted, ${known.mend}`, error);
  }

  /** Runs `work`, which belongs to no transaction. */
  async function use<T>(work: (connection: Connection) => T): Promise<T> {
    try {
      return await file.use((connection) => lookSafely(connection, work));
    } catch (error) {
      throw unavailable(error);
    }
  }

  function lookSafely<T>(connection: Connection, work: (connection: Connection) => T): T {
    try {
      return work(connection);
    } catch (error) {
      if (isDiskError(error)) file.drop(connection);
      throw error;
    }
  }

  function read<T>(operation: (tx: Transaction) => Operation<T>, name?: string): Promise<T> {
    return use((connection) => {
      const look = () => perform(connection, new SharedTransaction().read(operation, clock()));
      return lastReads.of(connection, name, look, file.inSoleUse);
    });
  }

  async function health(isQuick?: boolean): Promise<StoreHealth> {
    try {
      const version = await use((connection) =>
        lastReads.of(connection, "schema", () => schemaVersion(connection), file.inSoleUse),
      );
      if (problem !== undefined) return { ok: false, engine: ENGINE, problem };
      const bytes = isQuick ? undefined : sizeWithLog(path);
      return { ok: true, engine: ENGINE, bytes, schemaVersion: version };
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      return { ok: false, engine: ENGINE, problem: message };
    }
  }

  const open = () => use(() => {});

  return {
    now: clock,
    async write(write) {
      try {
        return await writes.write(write);
      } catch (error) {
        throw unavailable(error);
      }
    },
    read,
    onWork: listeners.add,
    inSoleUse: () => file.inSoleUse,
    copied: async () => {},
    open,
    health,
    check: () => open().then(maintenance.check),
    backup: (target) => open().then(() => maintenance.copy(target)),
    compact: () => open().then(maintenance.compact),
    async close() {
      await writes.ended();
      await maintenance.ended();
      await checkpoints.stop();
      await file.close();
    },
  };
}

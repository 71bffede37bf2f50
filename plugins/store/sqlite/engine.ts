/** The embedded engine: one SQLite file, with SQLite's own write-ahead log and synchronous commits. */
import type { Logger } from "portico";
import type { Engine } from "../sql/engine.ts";
import { SharedTransaction } from "../sql/transaction.ts";
import type { StoreHealth } from "../types.ts";
import { perform } from "./batch.ts";
import { createCheckpoints } from "./checkpoints.ts";
import type { Connection } from "./connection.ts";
import { CurrentProblem, isDiskError } from "./failures.ts";
import { GroupCommit } from "./group-commit.ts";
import { LastReads } from "./last-reads.ts";
import { Listeners } from "../sql/listeners.ts";
import { createMaintenance, getSizeWithLog } from "./maintenance.ts";
import { readSchemaVersion } from "./migrate.ts";
import { StoreFile, type StoreFileOptions } from "./store-file.ts";

export interface SqliteOptions {
  file: string;
  log: Logger;
  clock: () => number;
  sharing: StoreFileOptions["sharing"];
  /** See `StoreOptions`. */
  acceptsIncomplete?: boolean | undefined;
}

const ENGINE = "sqlite";

/** Creates the engine, which opens its file at the first use or with `open()`. */
export function createSqliteEngine(options: SqliteOptions): Engine {
  const { file: path, log, clock, sharing, acceptsIncomplete } = options;
  const listeners = new Listeners();
  const lastReads = new LastReads();
  const checkpoints = createCheckpoints(path, log);
  const maintenance = createMaintenance(path);
  const problem = new CurrentProblem(log);
  const file = new StoreFile({
    file: path,
    log,
    sharing,
    acceptsIncomplete: acceptsIncomplete === true,
    onShared: listeners.wakeAll,
    onDropped: () => void checkpoints.stop(),
  });
  const writes = new GroupCommit({
    file,
    log,
    clock,
    async waitForTurn() {
      const pause = () => maintenance.pause ?? checkpoints.pause;
      while (pause()) await pause();
    },
    onWrite: () => lastReads.forget(),
    onCommit(claimableKinds) {
      problem.clear();
      checkpoints.countCommit();
      listeners.wake(claimableKinds);
    },
  });

  /** Reads outside of any transaction. `name` is that of `Engine.read`. */
  function readOutside<T>(work: (connection: Connection) => T, name?: string): Promise<T> {
    return withUnavailable(problem, () =>
      file.use((connection) =>
        dropAfterDiskError(file, connection, () =>
          lastReads.read(connection, name, () => work(connection), file.inSoleUse),
        ),
      ),
    );
  }

  const open = () => readOutside(() => {});
  return {
    now: clock,
    write: (write) => withUnavailable(problem, () => writes.write(write)),
    read: (operation, name) =>
      readOutside((db) => perform(db, new SharedTransaction().read(operation, clock())), name),
    onWork: listeners.add,
    inSoleUse: () => file.inSoleUse,
    finishCopy: async () => {},
    open,
    health: (isQuick) =>
      readHealth(problem, isQuick ? undefined : path, () =>
        readOutside(readSchemaVersion, "schema"),
      ),
    check: () => open().then(maintenance.check),
    backup: (target) => open().then(() => maintenance.copy(target)),
    compact: () => open().then(maintenance.compact),
    async close() {
      await writes.idle();
      await maintenance.idle();
      await checkpoints.stop();
      await file.close();
    },
  };
}

async function withUnavailable<T>(problem: CurrentProblem, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw problem.toUnavailable(error);
  }
}

function dropAfterDiskError<T>(file: StoreFile, connection: Connection, work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (isDiskError(error)) file.drop(connection);
    throw error;
  }
}

/** Reports the health of the store. With `path`, it includes the size of that file. */
async function readHealth(
  problem: CurrentProblem,
  path: string | undefined,
  readVersion: () => Promise<number>,
): Promise<StoreHealth> {
  try {
    const version = await readVersion();
    if (problem.text !== undefined) return { ok: false, engine: ENGINE, problem: problem.text };
    const bytes = path === undefined ? undefined : getSizeWithLog(path);
    return { ok: true, engine: ENGINE, bytes, schemaVersion: version };
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    return { ok: false, engine: ENGINE, problem: message };
  }
}

/** The distributed engine: any number of gateways over one PostgreSQL. Locks, replication and time are the server's. */
import { setTimeout as sleep } from "node:timers/promises";
import { PorticoError } from "portico";
import type { Engine } from "../sql/engine.ts";
import { isLimitLock } from "../sql/locks.ts";
import type { Operation, Transaction, Write } from "../sql/operation.ts";
import { SharedTransaction } from "../sql/transaction.ts";
import type { StoreHealth } from "../types.ts";
import { copyToFile } from "./backup.ts";
import { type Client, runSlowStatement } from "./connection.ts";
import { Database, type DatabaseOptions, type WriteGroup, urlError } from "./database.ts";
import { isBroken, NO_WRITES } from "./failures.ts";
import { findInvalidIndexes } from "./inspect.ts";
import { SET_TOKENS, readSchemaVersion } from "./migrate.ts";
import { perform } from "./perform.ts";

const READ_TIMEOUT_MS = 3000;
const READ_RETRY_MS = 100;
const ENGINE = "postgresql";
const SIZE = "pg_database_size(current_database()) AS bytes";
const STANDBY = "current_setting('transaction_read_only') AS standby";
const SET_ITEM_NUMBERS =
  "SELECT setval(pg_get_serial_sequence('items', 'seq'), (SELECT MAX(seq) FROM items))";

/** Creates the engine. It connects at the first use, or with `open()`, which rejects with `config_error` if that fails. */
export function createPostgresEngine(options: DatabaseOptions): Engine {
  const database = new Database(options);
  const { log } = options;
  const now = () => database.now();
  return {
    now,
    read: (operation) => read(database, operation),
    write: (write) => writeTo(database, write),
    onWork: (kind, wake) => database.notifications.onWork(kind, wake),
    inSoleUse: () => false,
    open: () => open(database),
    health: (isQuick) => readHealth(database, isQuick === true),
    check: () => database.withClient(findInvalidIndexes),
    finishCopy: () =>
      database.withClient(async (client) => {
        await client.query(SET_ITEM_NUMBERS);
        await client.query(SET_TOKENS);
      }),
    backup: (file) => database.withClient((client) => copyToFile(client, { file, log, now })),
    compact: () => database.withClient(compact),
    close: () => database.close(),
  };
}

async function read<T>(
  database: Database,
  operation: (tx: Transaction) => Operation<T>,
): Promise<T> {
  const deadline = performance.now() + READ_TIMEOUT_MS;
  for (;;) {
    try {
      return await database.attempt((client) =>
        perform(client, new SharedTransaction().read(operation, database.now())),
      );
    } catch (error) {
      const isRetryable = isBroken(error) && !database.isClosed;
      if (!isRetryable || performance.now() > deadline) throw database.toUnavailable(error);
      await sleep(READ_RETRY_MS);
    }
  }
}

async function writeTo<T>(database: Database, write: Write<T>): Promise<T> {
  const { writers } = await useDatabase(database);
  return writers[selectGroup(write)].write(write);
}

async function useDatabase(database: Database): ReturnType<Database["use"]> {
  try {
    return await database.use();
  } catch (error) {
    throw database.toUnavailable(error);
  }
}

function selectGroup({ locks, group }: Write<unknown>): WriteGroup {
  if (group) return group;
  return Array.isArray(locks) && locks.some(isLimitLock) ? "limits" : "work";
}

async function open(database: Database): Promise<void> {
  try {
    await database.use();
  } catch (error) {
    throw error instanceof PorticoError ? error : urlError(error);
  }
}

async function readHealth(database: Database, isQuick: boolean): Promise<StoreHealth> {
  try {
    return await database.withClient(async (client) => {
      const { rows } = await client.query(`SELECT ${STANDBY}${isQuick ? "" : `, ${SIZE}`}`);
      const { bytes, standby } = rows[0] ?? {};
      const version = await readSchemaVersion(client);
      const problem = standby === "on" ? NO_WRITES : database.writeProblem;
      if (problem !== undefined) return { ok: false, engine: ENGINE, problem };
      database.clearProblem();
      const size = isQuick ? undefined : Number(bytes);
      return { ok: true, engine: ENGINE, bytes: size, schemaVersion: version };
    });
  } catch (error) {
    const problem = error instanceof Error ? error.message : String(error);
    return { ok: false, engine: ENGINE, problem };
  }
}

async function compact(client: Client): Promise<{ before: number; after: number }> {
  const before = await readSize(client);
  await runSlowStatement(client, "VACUUM (ANALYZE)");
  return { before, after: await readSize(client) };
}

async function readSize(client: Client): Promise<number> {
  const [row] = (await client.query(`SELECT ${SIZE}`)).rows;
  return Number(row?.["bytes"]);
}

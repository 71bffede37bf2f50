/** The distributed engine: any number of gateways over one PostgreSQL. Locks, replication and time are the server's. */
import type { Logger } from "portico";
import { PorticoError } from "portico";
import type { Engine } from "../sql/engine.ts";
import { isLimitLock } from "../sql/locks.ts";
import type { Operation, Transaction, Write } from "../sql/operation.ts";
import { COMPLETE_PART, FIND_PART, PART } from "../sql/part.ts";
import { SharedTransaction } from "../sql/transaction.ts";
import {
  type Client,
  openPool,
  type Pool,
  type PoolOptions,
  queryPatiently,
} from "./connection.ts";
import { copyToFile } from "./backup.ts";
import { invalidIndexes } from "./inspect.ts";
import { isBroken, isFull, isWrong, NO_WRITES, problemOf, storeUnavailable } from "./failures.ts";
import { migrate, schemaVersion, SET_TOKENS } from "./migrate.ts";
import { Notifications } from "./notifications.ts";
import { CLOCK, perform } from "./perform.ts";
import { Writer } from "./writer.ts";

export interface PostgresOptions {
  url: string;
  log: Logger;
  /** Of tests: in the place of the server's. */
  clock: (() => number) | undefined;
  /** As `StoreOptions` has it. */
  isPart?: boolean | undefined;
  connections?: PoolOptions | undefined;
}

/**
 * What all gateways lock in the same place goes in transactions of its own, which are short: whoever waits for a limit
 * waits for no turn's end, and nobody but other usage waits for usage.
 */
type Group = "limits" | "usage" | "work";

interface Opened {
  pool: Pool;
  writers: Record<Group, Writer>;
}

function groupOf({ locks, group }: Write<unknown>): Group {
  if (group) return group;
  return Array.isArray(locks) && locks.some(isLimitLock) ? "limits" : "work";
}

/** How long a first connection is waited for: the server may be starting too. */
const START_MS = 8000;
const READ_PATIENCE_MS = 3000;
const RETRY_MS = 100;
const STANDBY = "current_setting('transaction_read_only') AS standby";

/** Opens at the first use; `open()` does it at once, and throws `config_error` where the server cannot be had. */
export function postgresEngine({ url, log, clock, isPart, connections }: PostgresOptions): Engine {
  let opened: Promise<Opened> | undefined;
  let closed = false;
  let problem: string | undefined;
  /** What the last write was refused for, where reads do not meet it. */
  let full: string | undefined;
  /** Of the server's clock before ours. */
  let aheadMs = 0;
  let notifications: Notifications | undefined;
  const subscriptions = new Set<{ kind: string; wake: () => void; undo?: () => void }>();

  const now = clock ?? (() => Math.round(Date.now() + aheadMs));
  const note = (serverNow: number) => {
    aheadMs = serverNow - Date.now();
  };

  function unavailable(error: unknown): unknown {
    const found = problemOf(error);
    if (found === undefined) return error;
    if (problem !== found) log.error({ err: error }, `store: ${found}`);
    problem = found;
    return storeUnavailable(found, error);
  }

  function use(): Promise<Opened> {
    if (closed) throw storeUnavailable("it is closed: the gateway is stopping", undefined);
    opened ??= openAll().catch((error: unknown) => {
      opened = undefined;
      throw error;
    });
    return opened;
  }

  async function openAll(): Promise<Opened> {
    const pool = await openPool(url, connections);
    pool.on("error", (error) => log.debug({ err: error }, "store: an idle connection broke"));
    try {
      await prepare(pool);
    } catch (error) {
      await pool.end();
      throw error;
    }
    const heard = new Notifications(pool, log);
    notifications = heard;
    for (const each of subscriptions) each.undo = heard.onWork(each.kind, each.wake);
    await heard.start();
    const succeeded = () => {
      problem = full = undefined;
    };
    const refused = (error: unknown) => {
      if (isFull(error)) full = problemOf(error);
      return unavailable(error);
    };
    const options = {
      pool,
      notifications: heard,
      clock: { note, own: clock },
      unavailable: refused,
      succeeded,
    };
    const writers = {
      limits: new Writer(options),
      usage: new Writer(options),
      work: new Writer(options),
    };
    return { pool, writers };
  }

  /** Connects, reads the clock and brings the tables up to date. */
  async function prepare(pool: Pool): Promise<void> {
    const until = performance.now() + START_MS;
    for (;;) {
      try {
        return await withClient(pool, async (client) => {
          await migrate(client);
          if (!isPart && (await client.query(FIND_PART)).rows.length > 0)
            throw wrongUrl(`${PART}: ${COMPLETE_PART}`);
          note(Number((await client.query(CLOCK)).rows[0]?.["now"]));
        });
      } catch (error) {
        if (error instanceof PorticoError) throw error;
        if (isWrong(error) || problemOf(error) === undefined) throw wrongUrl(error);
        if (performance.now() > until || closed) throw error;
        await new Promise((resolve) => setTimeout(resolve, RETRY_MS * 3));
      }
    }
  }

  async function read<T>(operation: (tx: Transaction) => Operation<T>): Promise<T> {
    const until = performance.now() + READ_PATIENCE_MS;
    for (;;) {
      try {
        const { pool } = await use();
        return await withClient(pool, (client) =>
          perform(client, new SharedTransaction().read(operation, now())),
        );
      } catch (error) {
        if (!isBroken(error) || closed || performance.now() > until) throw unavailable(error);
        await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
      }
    }
  }

  const withOpen = async <T>(work: (client: Client) => Promise<T>): Promise<T> => {
    try {
      return await withClient((await use()).pool, work);
    } catch (error) {
      throw unavailable(error);
    }
  };

  return {
    now,
    read,
    async write<T>(write: Write<T>) {
      const { writers } = await use().catch((error: unknown) => {
        throw unavailable(error);
      });
      return writers[groupOf(write)].write(write);
    },
    onWork(kind, wake) {
      const subscription: { kind: string; wake: () => void; undo?: () => void } = { kind, wake };
      subscriptions.add(subscription);
      if (notifications) subscription.undo = notifications.onWork(kind, wake);
      return () => {
        subscriptions.delete(subscription);
        subscription.undo?.();
      };
    },
    inSoleUse: () => false,
    async open() {
      try {
        await use();
      } catch (error) {
        throw error instanceof PorticoError ? error : wrongUrl(error);
      }
    },
    async health(isQuick) {
      try {
        return await withOpen(async (client) => {
          const size = isQuick ? "" : ", pg_database_size(current_database()) AS bytes";
          const { rows } = await client.query(`SELECT ${STANDBY}${size}`);
          const version = await schemaVersion(client);
          const { bytes, standby } = rows[0] ?? {};
          const refused = standby === "on" ? NO_WRITES : full;
          if (refused !== undefined) return { ok: false, engine: "postgresql", problem: refused };
          problem = undefined;
          const read = isQuick ? undefined : Number(bytes);
          return { ok: true, engine: "postgresql", bytes: read, schemaVersion: version };
        });
      } catch (error) {
        return {
          ok: false,
          engine: "postgresql",
          problem: error instanceof Error ? error.message : String(error),
        };
      }
    },
    check: () => withOpen(invalidIndexes),
    copied: () =>
      withOpen(async (client) => {
        await client.query(
          "SELECT setval(pg_get_serial_sequence('items', 'seq'), (SELECT MAX(seq) FROM items))",
        );
        await client.query(SET_TOKENS);
      }),
    backup: (file) => withOpen((client) => copyToFile(client, { file, log, now })),
    compact: () =>
      withOpen(async (client) => {
        const size = async () =>
          Number(
            (await client.query("SELECT pg_database_size(current_database()) AS bytes")).rows[0]?.[
              "bytes"
            ],
          );
        const before = await size();
        await queryPatiently(client, "VACUUM (ANALYZE)");
        return { before, after: await size() };
      }),
    async close() {
      if (closed) return;
      const current = await opened?.catch(() => undefined);
      await Promise.all(Object.values(current?.writers ?? {}).map((writer) => writer.ended()));
      if (closed) return;
      closed = true;
      notifications?.stop();
      await current?.pool.end();
    },
  };
}

async function withClient<T>(pool: Pool, work: (client: Client) => Promise<T>): Promise<T> {
  const client = await pool.connect();
  let failure: Error | undefined;
  try {
    return await work(client);
  } catch (error) {
    failure = error as Error;
    throw error;
  } finally {
    client.release(failure && isBroken(failure) ? failure : undefined);
  }
}

/** Without the address: a password stands in it. */
function wrongUrl(error: unknown): PorticoError {
  const found = typeof error === "string" ? error : problemOf(error);
  const why =
    found ?? "it cannot be read as an address (postgres://user:password@host:port/database)";
  return new PorticoError("config_error", `store.url is no place for the store: ${why}.`, {
    param: "store.url",
    cause: error,
  });
}

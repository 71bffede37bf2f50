/** The access to one database: its connections, its clock, and its current problem. */
import { setTimeout as sleep } from "node:timers/promises";
import { type Logger, PorticoError } from "portico";
import { errors } from "../errors.ts";
import { INCOMPLETE_REMEDY, SELECT_COPY_MARK, INCOMPLETE_PROBLEM } from "../sql/incomplete-copy.ts";
import { type Client, openPool, type Pool, type PoolOptions } from "./connection.ts";
import {
  isBroken,
  isFull,
  isMisconfigured,
  describeProblem,
  storeUnavailable,
} from "./failures.ts";
import { migrate } from "./migrate.ts";
import { Notifications } from "./notifications.ts";
import { CLOCK } from "./perform.ts";
import { Writer } from "./writer.ts";

export interface DatabaseOptions {
  url: string;
  log: Logger;
  /** Replaces the server's clock in tests. */
  clock: (() => number) | undefined;
  /** See `StoreOptions`. */
  acceptsIncomplete?: boolean | undefined;
  connections?: PoolOptions | undefined;
}

/**
 * Writes that lock the same rows in all gateways have short transactions of their own. So a write that waits for a limit
 * never waits for the end of a turn, and only usage waits for usage.
 */
export type WriteGroup = "limits" | "usage" | "work";

interface OpenDatabase {
  pool: Pool;
  writers: Record<WriteGroup, Writer>;
}

/** Opening retries the first connection for this long, since the server may be starting too. */
const START_TIMEOUT_MS = 8000;
const START_RETRY_MS = 300;

export class Database {
  readonly notifications: Notifications;
  readonly #options: DatabaseOptions;
  #opened: Promise<OpenDatabase> | undefined;
  #isClosed = false;
  #problem: string | undefined;
  #writeProblem: string | undefined;
  /** How far the server's clock is ahead of the clock of this machine. */
  #aheadMs = 0;

  constructor(options: DatabaseOptions) {
    this.#options = options;
    this.notifications = new Notifications(options.log);
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** The reason why the server refused the last write, such as a full disk, which reads do not notice. */
  get writeProblem(): string | undefined {
    return this.#writeProblem;
  }

  now(): number {
    return this.#options.clock?.() ?? Math.round(Date.now() + this.#aheadMs);
  }

  /** Opens the database at the first use. */
  use(): Promise<OpenDatabase> {
    if (this.#isClosed) throw storeUnavailable("it is closed: the gateway is stopping", undefined);
    this.#opened ??= this.#open().catch((error: unknown) => {
      this.#opened = undefined;
      throw error;
    });
    return this.#opened;
  }

  /** Runs `work` on a connection. Rejects with the error of the server or of the connection. */
  async attempt<T>(work: (client: Client) => Promise<T>): Promise<T> {
    return withClient((await this.use()).pool, work);
  }

  /** Runs `work` like `attempt`, but rejects with `store_unavailable` for such errors. */
  async withClient<T>(work: (client: Client) => Promise<T>): Promise<T> {
    try {
      return await this.attempt(work);
    } catch (error) {
      throw this.toUnavailable(error);
    }
  }

  /** Turns an error of the server into `store_unavailable`, and remembers the problem. */
  toUnavailable(error: unknown): unknown {
    const problem = describeProblem(error);
    if (problem === undefined) return error;
    if (this.#problem !== problem) this.#options.log.error({ err: error }, `store: ${problem}`);
    this.#problem = problem;
    return storeUnavailable(problem, error);
  }

  /** Clears the problem after a successful read. */
  clearProblem(): void {
    this.#problem = undefined;
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    const opened = await this.#opened?.catch(() => undefined);
    await Promise.all(Object.values(opened?.writers ?? {}).map((writer) => writer.idle()));
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.notifications.stop();
    await opened?.pool.end();
  }

  async #open(): Promise<OpenDatabase> {
    const { url, log, connections } = this.#options;
    const pool = await openPool(url, connections);
    pool.on("error", (error) => log.debug({ err: error }, "store: an idle connection was lost"));
    try {
      await this.#prepareWithRetries(pool);
    } catch (error) {
      await pool.end();
      throw error;
    }
    await this.notifications.start(pool);
    return { pool, writers: this.#createWriters(pool) };
  }

  #createWriters(pool: Pool): Record<WriteGroup, Writer> {
    const options = {
      pool,
      notifications: this.notifications,
      clock: {
        record: (serverNow: number) => this.#recordServerTime(serverNow),
        override: this.#options.clock,
      },
      toUnavailable: (error: unknown) => {
        if (isFull(error)) this.#writeProblem = describeProblem(error);
        return this.toUnavailable(error);
      },
      onSuccess: () => {
        this.#problem = undefined;
        this.#writeProblem = undefined;
      },
    };
    return {
      limits: new Writer(options),
      usage: new Writer(options),
      work: new Writer(options),
    };
  }

  #recordServerTime(serverNow: number): void {
    this.#aheadMs = serverNow - Date.now();
  }

  async #prepareWithRetries(pool: Pool): Promise<void> {
    const deadline = performance.now() + START_TIMEOUT_MS;
    for (;;) {
      try {
        return await withClient(pool, (client) => this.#prepare(client));
      } catch (error) {
        if (isPermanent(error)) throw error instanceof PorticoError ? error : urlError(error);
        if (performance.now() > deadline || this.#isClosed) throw error;
        await sleep(START_RETRY_MS);
      }
    }
  }

  /** Migrates the tables and reads the clock. */
  async #prepare(client: Client): Promise<void> {
    await migrate(client);
    const isIncompleteCopy = (await client.query(SELECT_COPY_MARK)).rows.length > 0;
    if (isIncompleteCopy && !this.#options.acceptsIncomplete)
      throw urlError(`${INCOMPLETE_PROBLEM}: ${INCOMPLETE_REMEDY}`);
    this.#recordServerTime(Number((await client.query(CLOCK)).rows[0]?.["now"]));
  }
}

/** Returns whether an error at the start is permanent, so that waiting does not help. */
function isPermanent(error: unknown): boolean {
  return (
    error instanceof PorticoError || isMisconfigured(error) || describeProblem(error) === undefined
  );
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

/** Creates the error without the address, because that contains a password. */
export function urlError(error: unknown): PorticoError {
  const problem = typeof error === "string" ? error : describeProblem(error);
  const why =
    problem ?? "it cannot be read as an address (postgres://user:password@host:port/database)";
  return errors.badUrl({ reason: why }, { param: "store.url", cause: error });
}

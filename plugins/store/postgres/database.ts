/** The way to one database: connections, its clock, and what is wrong with it. */
import { setTimeout as sleep } from "node:timers/promises";
import { type Logger, PorticoError } from "portico";
import { errors } from "../errors.ts";
import { COMPLETE_PART, FIND_PART, PART } from "../sql/part.ts";
import { type Client, openPool, type Pool, type PoolOptions } from "./connection.ts";
import { isBroken, isFull, isWrong, problemOf, storeUnavailable } from "./failures.ts";
import { migrate } from "./migrate.ts";
import { Notifications } from "./notifications.ts";
import { CLOCK } from "./perform.ts";
import { Writer } from "./writer.ts";

export interface DatabaseOptions {
  url: string;
  log: Logger;
  /** Of tests: in the place of the server's. */
  clock: (() => number) | undefined;
  /** As `StoreOptions` has it. */
  isPart?: boolean | undefined;
  connections?: PoolOptions | undefined;
}

/**
 * What all gateways lock in the same place goes in transactions of its own, which are short: one that waits for a limit
 * waits for no turn's end, and nobody but other usage waits for usage.
 */
export type WriteGroup = "limits" | "usage" | "work";

interface Opened {
  pool: Pool;
  writers: Record<WriteGroup, Writer>;
}

/** How long a first connection is waited for: the server may be starting too. */
const START_MS = 8000;
const START_AGAIN_MS = 300;

export class Database {
  readonly notifications: Notifications;
  readonly #options: DatabaseOptions;
  #opened: Promise<Opened> | undefined;
  #isClosed = false;
  #problem: string | undefined;
  #refusal: string | undefined;
  /** Of the server's clock before ours. */
  #aheadMs = 0;

  constructor(options: DatabaseOptions) {
    this.#options = options;
    this.notifications = new Notifications(options.log);
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** What the last write was refused for, such as a full disk, where reads do not meet it. */
  get refusal(): string | undefined {
    return this.#refusal;
  }

  now(): number {
    return this.#options.clock?.() ?? Math.round(Date.now() + this.#aheadMs);
  }

  /** Opens at the first use. */
  use(): Promise<Opened> {
    if (this.#isClosed) throw storeUnavailable("it is closed: the gateway is stopping", undefined);
    this.#opened ??= this.#open().catch((error: unknown) => {
      this.#opened = undefined;
      throw error;
    });
    return this.#opened;
  }

  /** Runs `work` on a connection. Rejects with the error of the server or the way there. */
  async attempt<T>(work: (client: Client) => Promise<T>): Promise<T> {
    return withClient((await this.use()).pool, work);
  }

  /** As `attempt`, but rejects with `store_unavailable` for such errors. */
  async withClient<T>(work: (client: Client) => Promise<T>): Promise<T> {
    try {
      return await this.attempt(work);
    } catch (error) {
      throw this.unavailable(error);
    }
  }

  /** Makes the caller's error of one of the server's, and remembers what is wrong. */
  unavailable(error: unknown): unknown {
    const problem = problemOf(error);
    if (problem === undefined) return error;
    if (this.#problem !== problem) this.#options.log.error({ err: error }, `store: ${problem}`);
    this.#problem = problem;
    return storeUnavailable(problem, error);
  }

  /** A read has succeeded. */
  noteHealthy(): void {
    this.#problem = undefined;
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    const opened = await this.#opened?.catch(() => undefined);
    await Promise.all(Object.values(opened?.writers ?? {}).map((writer) => writer.ended()));
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.notifications.stop();
    await opened?.pool.end();
  }

  async #open(): Promise<Opened> {
    const { url, log, connections } = this.#options;
    const pool = await openPool(url, connections);
    pool.on("error", (error) => log.debug({ err: error }, "store: an idle connection was lost"));
    try {
      await this.#prepareWithPatience(pool);
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
      clock: { note: (serverNow: number) => this.#noteClock(serverNow), own: this.#options.clock },
      unavailable: (error: unknown) => {
        if (isFull(error)) this.#refusal = problemOf(error);
        return this.unavailable(error);
      },
      succeeded: () => {
        this.#problem = undefined;
        this.#refusal = undefined;
      },
    };
    return {
      limits: new Writer(options),
      usage: new Writer(options),
      work: new Writer(options),
    };
  }

  #noteClock(serverNow: number): void {
    this.#aheadMs = serverNow - Date.now();
  }

  async #prepareWithPatience(pool: Pool): Promise<void> {
    const giveUpAt = performance.now() + START_MS;
    for (;;) {
      try {
        return await withClient(pool, (client) => this.#prepare(client));
      } catch (error) {
        if (isLasting(error)) throw error instanceof PorticoError ? error : wrongUrl(error);
        if (performance.now() > giveUpAt || this.#isClosed) throw error;
        await sleep(START_AGAIN_MS);
      }
    }
  }

  /** Brings the tables up to date and reads the clock. */
  async #prepare(client: Client): Promise<void> {
    await migrate(client);
    const isPartOfAnother = (await client.query(FIND_PART)).rows.length > 0;
    if (isPartOfAnother && !this.#options.isPart) throw wrongUrl(`${PART}: ${COMPLETE_PART}`);
    this.#noteClock(Number((await client.query(CLOCK)).rows[0]?.["now"]));
  }
}

/** At the start: true for what waiting does not change. */
function isLasting(error: unknown): boolean {
  return error instanceof PorticoError || isWrong(error) || problemOf(error) === undefined;
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

/** Without the address, because it contains a password. */
export function wrongUrl(error: unknown): PorticoError {
  const problem = typeof error === "string" ? error : problemOf(error);
  const why =
    problem ?? "it cannot be read as an address (postgres://user:password@host:port/database)";
  return errors.badUrl({ reason: why }, { param: "store.url", cause: error });
}

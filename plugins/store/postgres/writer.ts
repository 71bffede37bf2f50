/**
 * Writes, as few transactions: those that wait when one has ended go into the next together, share its way to the
 * server and its commit; one that fails takes nobody with it.
 *
 * What can have been written is never tried again: a failure before the commit undoes everything, so that is.
 */
import type { Operation, Transaction } from "../sql/operation.ts";
import { SharedTransaction } from "../sql/transaction.ts";
import { type Client, connect, type Pool } from "./connection.ts";
import { isBroken, isConflict } from "./failures.ts";
import type { Notifications } from "./notifications.ts";
import { CLOCK, perform } from "./perform.ts";

interface Write {
  operation: (tx: Transaction) => Operation<unknown>;
  soft: boolean;
  /** When it gives up, however long others stood before it. */
  until: number;
  resolve(value: unknown): void;
  reject(error: unknown): void;
}

export interface WriterOptions {
  pool: Pool;
  notifications: Notifications;
  /** Told of the server's clock; or where tests have their own, that. */
  clock: { note(serverNow: number): void; own: (() => number) | undefined };
  /** Makes the caller's error of one of the server's. */
  unavailable(error: unknown): unknown;
  succeeded(): void;
}

/** Statements of one transaction are sent one by one: enough to share a commit, and soon done. */
const BATCH = 128;
/** Operations of one gateway that wait for each other's locks would stand still: few at a time. */
const TRANSACTIONS = 1;
const PATIENCE_MS = 5000;
const RETRY_MS = 50;
const LONGEST_RETRY_MS = 1000;

/** Broke off at its commit: whether it was written nobody knows. */
class Uncertain extends Error {}

const isLost = (error: Error): boolean => error instanceof Uncertain || isBroken(error);

export class Writer {
  readonly #options: WriterOptions;
  #waiting: Write[] = [];
  #running = 0;
  #scheduled = false;
  #idle: (() => void)[] = [];

  constructor(options: WriterOptions) {
    this.#options = options;
  }

  write<T>(operation: (tx: Transaction) => Operation<T>, soft: boolean): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const until = performance.now() + PATIENCE_MS;
      this.#waiting.push({
        operation,
        soft,
        until,
        resolve: resolve as (value: unknown) => void,
        reject,
      });
      if (this.#scheduled) return;
      this.#scheduled = true;
      setImmediate(() => {
        this.#scheduled = false;
        this.#start();
      });
    });
  }

  /** Resolves when nothing waits any more. */
  async ended(): Promise<void> {
    while (this.#waiting.length > 0 || this.#running > 0) {
      await new Promise<void>((resolve) => {
        this.#idle.push(resolve);
        this.#start();
      });
    }
  }

  #start(): void {
    while (this.#running < TRANSACTIONS && this.#waiting.length > 0) {
      this.#running++;
      void this.#settle(this.#waiting.splice(0, BATCH)).finally(() => {
        this.#running--;
        for (const told of this.#idle.splice(0)) told();
        this.#start();
      });
    }
  }

  /** Never rejects. */
  async #settle(batch: readonly Write[]): Promise<void> {
    let left = batch;
    for (let waitMs = RETRY_MS; left.length > 0; waitMs = Math.min(waitMs * 2, LONGEST_RETRY_MS)) {
      try {
        return await this.#transact(left);
      } catch (error) {
        // of several, one alone is less in the way of others
        const mayGoWell = isBroken(error) || (isConflict(error) && left.length === 1);
        if (left.length > 1 && !isLost(error as Error)) {
          for (const one of left) await this.#settle([one]);
          return;
        }
        const next = mayGoWell ? performance.now() + waitMs : Number.POSITIVE_INFINITY;
        this.#refuse(
          left.filter(({ until }) => next > until),
          error,
        );
        left = left.filter(({ until }) => next <= until);
        if (left.length > 0)
          await new Promise((resolve) => setTimeout(resolve, waitMs * (0.5 + Math.random())));
      }
    }
  }

  #refuse(writes: readonly Write[], error: unknown): void {
    if (writes.length === 0) return;
    const known = this.#options.unavailable(error instanceof Uncertain ? error.cause : error);
    for (const one of writes) one.reject(known);
  }

  async #transact(batch: readonly Write[]): Promise<void> {
    const { pool, notifications, succeeded } = this.#options;
    const client = await connect(pool);
    let failure: Error | undefined;
    let values: unknown[];
    const shared = new SharedTransaction(false);
    try {
      const now = await this.#begin(
        client,
        batch.every(({ soft }) => soft),
      );
      values = [];
      for (const { operation } of batch)
        values.push(await perform(client, shared.perform(operation, now())));
      await perform(client, shared.end());
      await notifications.tell(client, shared.touched);
      await this.#commit(client);
    } catch (error) {
      failure = error as Error;
      if (!isLost(failure)) await client.query("ROLLBACK").catch(() => {});
      throw error;
    } finally {
      client.release(failure && isLost(failure) ? failure : undefined);
    }
    succeeded();
    for (const [i, { resolve }] of batch.entries()) resolve(values[i]);
    notifications.wake(shared.touched);
  }

  async #begin(client: Client, soft: boolean): Promise<() => number> {
    const { own, note } = this.#options.clock;
    const begin = soft ? "BEGIN; SET LOCAL synchronous_commit TO off" : "BEGIN";
    const sent = performance.now();
    const results = (await client.query(`${begin}; ${CLOCK}`)) as unknown as {
      rows: Record<string, unknown>[];
    }[];
    const serverNow = Number(results.at(-1)?.rows[0]?.["now"]);
    note(serverNow);
    const back = performance.now();
    // operations of a long batch see time go on
    return own ?? (() => Math.round(serverNow + performance.now() - Math.max(sent, back)));
  }

  async #commit(client: Client): Promise<void> {
    try {
      await client.query("COMMIT");
    } catch (error) {
      throw isBroken(error)
        ? new Uncertain("the commit was not answered", { cause: error })
        : error;
    }
  }
}

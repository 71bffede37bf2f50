/**
 * Group commit: the writes that wait when a transaction has ended go into the next one together, and share its way to the
 * server and its commit. A write that fails takes no other with it.
 *
 * A write whose commit was not answered may have happened, and is never repeated. Any other failure leaves nothing behind.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { Lock } from "../sql/locks.ts";
import type { Write } from "../sql/operation.ts";
import { SharedTransaction } from "../sql/transaction.ts";
import type { Client, Pool } from "./connection.ts";
import { isBroken, isConflict } from "./failures.ts";
import type { Notifications } from "./notifications.ts";
import { CLOCK, perform, takeLocks } from "./perform.ts";

interface PendingWrite {
  write: Write<unknown>;
  /** When it gives up, however long others stood before it. */
  deadline: number;
  resolve(value: unknown): void;
  reject(error: unknown): void;
}

export interface WriterOptions {
  pool: Pool;
  notifications: Notifications;
  /** `note` hears the time of the server; tests have a clock of their own. */
  clock: { note(serverNow: number): void; own: (() => number) | undefined };
  /** Makes the caller's error of one of the server's. */
  unavailable(error: unknown): unknown;
  succeeded(): void;
}

/** Enough to share a commit. Their locks fit into the server's table of locks, which all gateways share. */
const MOST_WRITES = 128;
const PATIENCE_MS = 5000;
/** Between attempts where the connection breaks; doubled each time. */
const RECONNECT_MS = 50;
const LONGEST_RECONNECT_MS = 1000;
/** At most this long before the next attempt where another transaction was in the way. */
const CONFLICT_JITTER_MS = 20;
/** After this many conflicts the writes of a batch continue singly, because one of them waits for a stuck transaction. */
const CONFLICTS_TOGETHER = 3;

/** The server did not confirm the commit, so it is unknown whether it has happened. */
class UncertainCommit extends Error {}

const isLost = (error: unknown): boolean => error instanceof UncertainCommit || isBroken(error);

export class Writer {
  readonly #options: WriterOptions;
  #pending: PendingWrite[] = [];
  #running: Promise<void> | undefined;

  constructor(options: WriterOptions) {
    this.#options = options;
  }

  write<T>(write: Write<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const deadline = performance.now() + PATIENCE_MS;
      this.#pending.push({ write, deadline, resolve: resolve as (value: unknown) => void, reject });
      this.#running ??= this.#run();
    });
  }

  /** Resolves when nothing waits any more. */
  async ended(): Promise<void> {
    while (this.#running) await this.#running;
  }

  /** Never rejects. */
  async #run(): Promise<void> {
    // calls of the same turn of the event loop belong together
    await new Promise((resolve) => setImmediate(resolve));
    while (this.#pending.length > 0) await this.#settle(this.#pending.splice(0, MOST_WRITES));
    this.#running = undefined;
  }

  /** Attempts a batch until each of its writes has succeeded or failed for good. Never rejects. */
  async #settle(batch: readonly PendingWrite[]): Promise<void> {
    let left = batch;
    for (let attempt = 1; left.length > 0; attempt++) {
      try {
        return await this.#transact(left);
      } catch (error) {
        const delayMs = delayBeforeNext(error, attempt, left.length);
        if (delayMs === undefined && left.length > 1 && !isLost(error)) {
          for (const each of left) await this.#settle([each]);
          return;
        }
        left = this.#refuseLate(left, delayMs, error);
        if (left.length > 0) await sleep(delayMs);
      }
    }
  }

  /** Returns the writes whose patience outlasts the delay; `undefined`: none has another attempt. */
  #refuseLate(
    writes: readonly PendingWrite[],
    delayMs: number | undefined,
    error: unknown,
  ): readonly PendingWrite[] {
    const next = delayMs === undefined ? Number.POSITIVE_INFINITY : performance.now() + delayMs;
    const late = writes.filter(({ deadline }) => next > deadline);
    if (late.length > 0) {
      const reason = this.#options.unavailable(
        error instanceof UncertainCommit ? error.cause : error,
      );
      for (const { reject } of late) reject(reason);
    }
    return writes.filter(({ deadline }) => next <= deadline);
  }

  async #transact(batch: readonly PendingWrite[]): Promise<void> {
    const { pool, notifications, succeeded } = this.#options;
    const client = await pool.connect();
    const transaction = new SharedTransaction();
    let values: unknown[];
    let failure: Error | undefined;
    try {
      values = await this.#execute(client, transaction, batch);
    } catch (error) {
      failure = error as Error;
      if (!isLost(failure)) await client.query("ROLLBACK").catch(() => {});
      throw error;
    } finally {
      client.release(failure && isLost(failure) ? failure : undefined);
    }
    succeeded();
    for (const [i, { resolve }] of batch.entries()) resolve(values[i]);
    notifications.wake(transaction.touched);
  }

  async #execute(
    client: Client,
    transaction: SharedTransaction,
    batch: readonly PendingWrite[],
  ): Promise<unknown[]> {
    const isSoft = batch.every(({ write }) => write.soft);
    const now = await this.#begin(client, isSoft);
    const locks: (readonly Lock[])[] = [];
    for (const { write } of batch)
      locks.push(await perform(client, transaction.locksOf(write, now())));
    await takeLocks(client, locks.flat());
    const values: unknown[] = [];
    for (const [i, { write }] of batch.entries())
      values.push(await perform(client, transaction.perform(write, locks[i]!, now())));
    await perform(client, transaction.end());
    await this.#commit(client, transaction.touched);
    return values;
  }

  /** Returns the clock of the transaction, so that writes of a long batch see time advance. */
  async #begin(client: Client, isSoft: boolean): Promise<() => number> {
    const { own, note } = this.#options.clock;
    const begin = isSoft ? "BEGIN; SET LOCAL synchronous_commit TO off" : "BEGIN";
    const results = (await client.query(`${begin}; ${CLOCK}`)) as unknown as {
      rows: Record<string, unknown>[];
    }[];
    const serverNow = Number(results.at(-1)?.rows[0]?.["now"]);
    const received = performance.now();
    note(serverNow);
    return own ?? (() => Math.round(serverNow + performance.now() - received));
  }

  async #commit(client: Client, touched: ReadonlySet<string>): Promise<void> {
    try {
      await client.query(this.#options.notifications.commitAndNotify(touched));
    } catch (error) {
      if (!isBroken(error)) throw error;
      throw new UncertainCommit("the server did not confirm the commit", { cause: error });
    }
  }
}

/** How long to wait before the next attempt; `undefined` where the same batch would fail again. */
function delayBeforeNext(error: unknown, attempt: number, writes: number): number | undefined {
  if (isConflict(error)) {
    const mayGoOn = writes === 1 || attempt < CONFLICTS_TOGETHER;
    return mayGoOn ? Math.random() * CONFLICT_JITTER_MS : undefined;
  }
  if (!isBroken(error)) return undefined;
  const longest = Math.min(RECONNECT_MS * 2 ** (attempt - 1), LONGEST_RECONNECT_MS);
  return longest * (0.5 + Math.random());
}

/**
 * Group commit: the writes that wait when a transaction has ended go into the next one together, and share its round trips to
 * the server and its commit. A failed write does not make others fail.
 *
 * If the server does not confirm a commit, its writes may have happened and are never repeated. Any other failed write has
 * not happened.
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
  /** The time (`performance.now()`) at which the write is rejected, even if it has only waited for others until then. */
  deadline: number;
  resolve(value: unknown): void;
  reject(error: unknown): void;
}

export interface WriterOptions {
  pool: Pool;
  notifications: Notifications;
  /** `record` receives the time of the server; `override` replaces it in tests. */
  clock: { record(serverNow: number): void; override: (() => number) | undefined };
  /** Turns an error of the server into that of the caller. */
  toUnavailable(error: unknown): unknown;
  onSuccess(): void;
}

/** Enough writes to share a commit. Their locks fit into the server's lock table, which all gateways share. */
const MAX_WRITES = 128;
const WRITE_TIMEOUT_MS = 5000;
/** The delay after a broken connection, which doubles with each attempt. */
const RECONNECT_MS = 50;
const MAX_RECONNECT_MS = 1000;
/** The longest delay after a conflict with another transaction. */
const CONFLICT_JITTER_MS = 20;
/** After this number of attempts, the writes of a batch continue singly, since one of them may wait for a stuck transaction. */
const MAX_BATCH_ATTEMPTS = 3;

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
      const deadline = performance.now() + WRITE_TIMEOUT_MS;
      this.#pending.push({ write, deadline, resolve: resolve as (value: unknown) => void, reject });
      this.#running ??= this.#run();
    });
  }

  /** Resolves when no write waits. */
  async idle(): Promise<void> {
    while (this.#running) await this.#running;
  }

  /** Never rejects. */
  async #run(): Promise<void> {
    // This lets all calls of one turn of the event loop share a transaction.
    await new Promise((resolve) => setImmediate(resolve));
    while (this.#pending.length > 0) await this.#settle(this.#pending.splice(0, MAX_WRITES));
    this.#running = undefined;
  }

  /** Attempts a batch until each of its writes has succeeded or failed for good. Never rejects. */
  async #settle(batch: readonly PendingWrite[]): Promise<void> {
    let remaining = batch;
    for (let attempt = 1; remaining.length > 0; attempt++) {
      try {
        return await this.#transact(remaining);
      } catch (error) {
        const delayMs = computeDelay(error, attempt, remaining.length);
        if (delayMs === undefined && remaining.length > 1 && !isLost(error)) {
          for (const pending of remaining) await this.#settle([pending]);
          return;
        }
        remaining = this.#rejectExpired(remaining, delayMs, error);
        if (remaining.length > 0) await sleep(delayMs);
      }
    }
  }

  /** Rejects the writes whose deadline is before the next attempt, and returns the others. Without a delay, it rejects all. */
  #rejectExpired(
    writes: readonly PendingWrite[],
    delayMs: number | undefined,
    error: unknown,
  ): readonly PendingWrite[] {
    const nextAttemptAt =
      delayMs === undefined ? Number.POSITIVE_INFINITY : performance.now() + delayMs;
    const expired = writes.filter(({ deadline }) => nextAttemptAt > deadline);
    if (expired.length > 0) {
      const reason = this.#options.toUnavailable(
        error instanceof UncertainCommit ? error.cause : error,
      );
      for (const { reject } of expired) reject(reason);
    }
    return writes.filter(({ deadline }) => nextAttemptAt <= deadline);
  }

  async #transact(batch: readonly PendingWrite[]): Promise<void> {
    const { pool, notifications, onSuccess } = this.#options;
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
    onSuccess();
    for (const [i, { resolve }] of batch.entries()) resolve(values[i]);
    notifications.wake(transaction.claimableKinds);
  }

  async #execute(
    client: Client,
    transaction: SharedTransaction,
    batch: readonly PendingWrite[],
  ): Promise<unknown[]> {
    const isSoft = batch.every(({ write }) => write.isSoft);
    const now = await this.#begin(client, isSoft);
    const locks: (readonly Lock[])[] = [];
    for (const { write } of batch)
      locks.push(await perform(client, transaction.findLocks(write, now())));
    await takeLocks(client, locks.flat());
    const values: unknown[] = [];
    for (const [i, { write }] of batch.entries())
      values.push(await perform(client, transaction.perform(write, locks[i]!, now())));
    await perform(client, transaction.end());
    await this.#commit(client, transaction.claimableKinds);
    return values;
  }

  /** Returns the clock of the transaction, so that writes of a long batch see time advance. */
  async #begin(client: Client, isSoft: boolean): Promise<() => number> {
    const { override, record } = this.#options.clock;
    const begin = isSoft ? "BEGIN; SET LOCAL synchronous_commit TO off" : "BEGIN";
    const results = (await client.query(`${begin}; ${CLOCK}`)) as unknown as {
      rows: Record<string, unknown>[];
    }[];
    const serverNow = Number(results.at(-1)?.rows[0]?.["now"]);
    const receivedAt = performance.now();
    record(serverNow);
    return override ?? (() => Math.round(serverNow + performance.now() - receivedAt));
  }

  async #commit(client: Client, claimableKinds: ReadonlySet<string>): Promise<void> {
    try {
      await client.query(this.#options.notifications.commitAndNotify(claimableKinds));
    } catch (error) {
      if (!isBroken(error)) throw error;
      throw new UncertainCommit("the server did not confirm the commit", { cause: error });
    }
  }
}

/** Returns the delay before the next attempt in milliseconds, or `undefined` if the same batch would fail again. */
function computeDelay(error: unknown, attempt: number, writes: number): number | undefined {
  if (isConflict(error)) {
    const isRetried = writes === 1 || attempt < MAX_BATCH_ATTEMPTS;
    return isRetried ? Math.random() * CONFLICT_JITTER_MS : undefined;
  }
  if (!isBroken(error)) return undefined;
  const maxDelayMs = Math.min(RECONNECT_MS * 2 ** (attempt - 1), MAX_RECONNECT_MS);
  return maxDelayMs * (0.5 + Math.random());
}

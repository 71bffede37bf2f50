/**
 * Group commit: all writes that wait when a commit has ended go into the next transaction together, and share the one sync
 * of the disk that makes them durable. A write that fails takes no other with it.
 */
import { setImmediate as nextTurn, setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "portico";
import type { Write } from "../sql/operation.ts";
import { type PendingWrite, performBatch } from "./batch.ts";
import type { Connection } from "./connection.ts";
import { isBusy, isDiskError } from "./failures.ts";
import type { StoreFile } from "./store-file.ts";

interface WaitingWrite extends PendingWrite {
  since: number;
}

export interface GroupCommitOptions {
  file: StoreFile;
  log: Logger;
  clock(): number;
  /** Resolves when no work on the whole file keeps writes from being made. */
  turn(): Promise<void>;
  /** Something is about to be written. */
  began(): void;
  /** A transaction is durable; work of these kinds may have become claimable. */
  committed(touched: ReadonlySet<string>): void;
}

/** So that a flood of writes never holds the event loop for long. */
const MOST_WRITES = 256;
/** How long a write waits for another process's transaction. */
const BUSY_MS = 5000;

export class GroupCommit {
  readonly #options: GroupCommitOptions;
  #waiting: WaitingWrite[] = [];
  #running: Promise<void> | undefined;

  constructor(options: GroupCommitOptions) {
    this.#options = options;
  }

  write<T>(write: Write<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const since = performance.now();
      this.#waiting.push({ write, since, resolve: resolve as (value: unknown) => void, reject });
      this.#running ??= this.#run();
    });
  }

  /** Resolves when nothing waits any more. */
  async ended(): Promise<void> {
    while (this.#running) await this.#running;
  }

  /** Never rejects. */
  async #run(): Promise<void> {
    while (this.#waiting.length > 0) {
      await nextTurn(); // calls of the same turn of the event loop belong together
      await this.#options.turn();
      try {
        await this.#options.file.transact((connection) => this.#commitNext(connection));
      } catch (error) {
        // the file could not be opened
        for (const { reject } of this.#waiting.splice(0)) reject(error);
      }
    }
    this.#running = undefined;
  }

  /** Never rejects. */
  async #commitNext(connection: Connection): Promise<void> {
    const batch = this.#waiting.splice(0, MOST_WRITES);
    try {
      const { began, clock, committed } = this.#options;
      began();
      const isSoft = batch.every(({ write }) => write.soft);
      connection.synchronize(isSoft ? "NORMAL" : "FULL");
      const { settle, touched } = performBatch(connection, batch, clock);
      if (isSoft) connection.exec("COMMIT");
      else await connection.commit();
      settle();
      committed(touched);
    } catch (error) {
      this.#rollBack(connection, error);
      if (isBusy(error)) await this.#putBack(batch, error);
      else for (const { reject } of batch) reject(error);
    }
  }

  #rollBack(connection: Connection, error: unknown): void {
    const { file, log } = this.#options;
    try {
      if (connection.inTransaction) connection.exec("ROLLBACK");
    } catch (failure) {
      log.warn({ err: failure }, "store: a transaction could not be rolled back");
      file.drop(connection);
    }
    if (isDiskError(error)) file.drop(connection);
  }

  /** Another process is writing: what has not waited too long goes first the next time. */
  async #putBack(batch: readonly WaitingWrite[], error: unknown): Promise<void> {
    const tooLate = performance.now() - BUSY_MS;
    for (const { since, reject } of batch) if (since <= tooLate) reject(error);
    this.#waiting = [...batch.filter(({ since }) => since > tooLate), ...this.#waiting];
    await sleep(5 + Math.random() * 20);
  }
}

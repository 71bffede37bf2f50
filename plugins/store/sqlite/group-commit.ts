/**
 * Group commit: all writes that wait when a commit has ended go into the next transaction together, and share the one sync
 * of the disk that makes them durable. A failed write does not make others fail.
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
  /** Resolves when no work on the whole file blocks writes. */
  waitForTurn(): Promise<void>;
  /** Called before each transaction. */
  onWrite(): void;
  /** Called when a transaction is durable; work of these kinds may have become claimable. */
  onCommit(claimableKinds: ReadonlySet<string>): void;
}

/** Limits a batch, so that many writes do not block the event loop for long. */
const MAX_WRITES = 256;
/** A write waits this long for another process's transaction. */
const BUSY_MS = 5000;

export class GroupCommit {
  readonly #options: GroupCommitOptions;
  #waitingWrites: WaitingWrite[] = [];
  #running: Promise<void> | undefined;

  constructor(options: GroupCommitOptions) {
    this.#options = options;
  }

  write<T>(write: Write<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const since = performance.now();
      this.#waitingWrites.push({
        write,
        since,
        resolve: resolve as (value: unknown) => void,
        reject,
      });
      this.#running ??= this.#run();
    });
  }

  /** Resolves when no write waits. */
  async idle(): Promise<void> {
    while (this.#running) await this.#running;
  }

  /** Never rejects. */
  async #run(): Promise<void> {
    while (this.#waitingWrites.length > 0) {
      await nextTurn(); // lets all calls of one turn of the event loop share a transaction
      await this.#options.waitForTurn();
      try {
        await this.#options.file.transact((connection) => this.#commitNext(connection));
      } catch (error) {
        // The file could not be opened.
        for (const { reject } of this.#waitingWrites.splice(0)) reject(error);
      }
    }
    this.#running = undefined;
  }

  /** Never rejects. */
  async #commitNext(connection: Connection): Promise<void> {
    const batch = this.#waitingWrites.splice(0, MAX_WRITES);
    try {
      const { onWrite, clock, onCommit } = this.#options;
      onWrite();
      const isSoft = batch.every(({ write }) => write.isSoft);
      connection.setSynchronous(isSoft ? "NORMAL" : "FULL");
      const { settle, claimableKinds } = performBatch(connection, batch, clock);
      if (isSoft) connection.exec("COMMIT");
      else await connection.commit();
      settle();
      onCommit(claimableKinds);
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

  /** Puts writes that have not waited too long first in the queue again, since another process is writing. */
  async #putBack(batch: readonly WaitingWrite[], error: unknown): Promise<void> {
    const oldest = performance.now() - BUSY_MS;
    for (const { since, reject } of batch) if (since <= oldest) reject(error);
    this.#waitingWrites = [...batch.filter(({ since }) => since > oldest), ...this.#waitingWrites];
    await sleep(5 + Math.random() * 20);
  }
}

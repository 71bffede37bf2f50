/** Caches the results of reads until something is written, for clients that read a status again and again. */
import type { Query } from "../sql/operation.ts";
import type { Connection } from "./connection.ts";

/** Returns another number after each commit of another connection, including those of other processes. */
const DATA_VERSION: Query = { sql: "PRAGMA data_version", params: [], isSingle: true };

export class LastReads {
  #connection: Connection | undefined;
  #version: unknown;
  /** True if the version was read in this callback of the event loop. This process hears of other commits in a later one. */
  #isFresh = false;
  readonly #results = new Map<string, unknown>();

  /** Clears the cache, because this connection is about to write. */
  forget(): void {
    this.#results.clear();
  }

  /**
   * Returns the cached result of the read `name`, which depends on nothing but the tables, or calls `read`. Without a name,
   * it always calls `read`. `isAlone` means that no other process has the store open, so that only `connection` writes.
   */
  read<T>(connection: Connection, name: string | undefined, read: () => T, isAlone: boolean): T {
    if (name === undefined) return read();
    const isCurrent = connection === this.#connection && (isAlone || this.#isFresh);
    if (!isCurrent) this.#checkVersion(connection);
    if (!this.#results.has(name)) this.#results.set(name, read());
    return this.#results.get(name) as T;
  }

  #checkVersion(connection: Connection): void {
    const version = connection.execute(DATA_VERSION).rows[0]?.["data_version"];
    if (connection !== this.#connection || version !== this.#version) this.forget();
    this.#connection = connection;
    this.#version = version;
    this.#isFresh = true;
    process.nextTick(() => {
      this.#isFresh = false;
    });
  }
}

/** What was read and has not changed since: for reads that are made again and again, as by those who watch a status. */
import type { Query } from "../sql/operation.ts";
import type { Connection } from "./connection.ts";

/** Another number after every commit that was made over another connection, also by another process. */
const ELSEWHERE: Query = { sql: "PRAGMA data_version", params: [], isSingle: true };

export class LastReads {
  #connection: Connection | undefined;
  #version: unknown;
  /** It was asked within this callback of the event loop: a commit elsewhere is announced in another one. */
  #isFresh = false;
  readonly #results = new Map<string, unknown>();

  /** Something is being written over this connection. */
  forget(): void {
    this.#results.clear();
  }

  /**
   * `name`: what `look` looks for, which depends on nothing but the tables; without one it always looks. `isAlone`: no
   * other process has the store open, and this connection is the only one here that writes.
   */
  of<T>(connection: Connection, name: string | undefined, read: () => T, isAlone: boolean): T {
    if (name === undefined) return read();
    const isKnown = connection === this.#connection && (isAlone || this.#isFresh);
    if (!isKnown) this.#lookElsewhere(connection);
    if (!this.#results.has(name)) this.#results.set(name, read());
    return this.#results.get(name) as T;
  }

  #lookElsewhere(connection: Connection): void {
    const version = connection.execute(ELSEWHERE).rows[0]?.["data_version"];
    if (connection !== this.#connection || version !== this.#version) this.forget();
    this.#connection = connection;
    this.#version = version;
    this.#isFresh = true;
    process.nextTick(() => {
      this.#isFresh = false;
    });
  }
}

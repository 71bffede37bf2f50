/** The store's file and the one connection that reads and writes it; it is opened again where it has failed. */
import type { Logger } from "portico";
import { type Connection, connect } from "./connection.ts";
import { storeUnavailable } from "./failures.ts";
import { refusePart } from "./migrate.ts";
import { recoverOldJournal } from "./old-journal.ts";
import { SoleUse } from "./sole-use.ts";

export interface StoreFileOptions {
  file: string;
  log: Logger;
  /** Whether other processes use the file too; `private`: no other process knows of it yet. */
  sharing: "alone" | "shared" | "private";
  /** It may hold a part of another store. */
  isPart: boolean;
  /** Another process has opened the file, which was in sole use until then. */
  onShared(): void;
  /** The connection was given up. */
  onDropped(): void;
}

export class StoreFile {
  readonly #options: StoreFileOptions;
  #current: Connection | undefined;
  #opening: Promise<Connection> | undefined;
  /** From the first statement of a transaction until it is durable. */
  #transaction: Promise<void> | undefined;
  #soleUse: SoleUse | undefined;
  #isClosed = false;

  constructor(options: StoreFileOptions) {
    this.#options = options;
  }

  /** No other process has the file open. */
  get inSoleUse(): boolean {
    return this.#soleUse?.isAlone ?? false;
  }

  /** Runs `work` in one turn of the event loop, while no transaction is open. */
  async use<T>(work: (connection: Connection) => T): Promise<Awaited<T>> {
    while (this.#transaction || !this.#current) await (this.#transaction ?? this.#open());
    return await work(this.#current);
  }

  /** Runs a transaction, whose end may come in a later turn: until then no other caller uses the connection. */
  transact(work: (connection: Connection) => Promise<void>): Promise<void> {
    return this.use((connection) => {
      this.#transaction = work(connection).finally(() => {
        this.#transaction = undefined;
      });
      return this.#transaction;
    });
  }

  async #open(): Promise<void> {
    if (this.#isClosed)
      throw storeUnavailable("The store is closed because the gateway is stopping.");
    this.#opening ??= this.#connect().finally(() => {
      this.#opening = undefined;
    });
    this.#current = await this.#opening;
  }

  async #connect(): Promise<Connection> {
    const { file, log, isPart } = this.#options;
    const connection = await connect(file);
    try {
      if (!isPart) refusePart(connection);
      await this.#beginUse();
      // where another process uses the file, it has seen to the old journal
      if (this.inSoleUse) recoverOldJournal(connection, file, log);
      if (this.#options.sharing === "shared") await this.#soleUse?.share();
      return connection;
    } catch (error) {
      connection.close();
      throw error;
    }
  }

  async #beginUse(): Promise<void> {
    const { file, sharing } = this.#options;
    if (sharing === "private" || this.#soleUse) return;
    // under this name earlier versions look for it too
    this.#soleUse = await SoleUse.begin(`${file}-accepted-lock`, () => void this.#letOthersIn());
  }

  async #letOthersIn(): Promise<void> {
    try {
      await this.#soleUse?.share();
    } catch (error) {
      this.#options.log.warn({ err: error }, "store: another process waits for the file");
    }
    this.#options.onShared();
  }

  /** The next call opens the file again: a connection that saw an I/O error may hold a broken view of it. */
  drop(connection: Connection): void {
    if (this.#current !== connection) return;
    this.#current = undefined;
    this.#options.onDropped();
    try {
      connection.close();
    } catch (error) {
      this.#options.log.debug({ err: error }, "store: closing a connection failed");
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#opening?.catch(() => {});
    this.#soleUse?.end();
    this.#soleUse = undefined;
    this.#current?.closeWhole();
    this.#current = undefined;
  }
}

/** The store's file and the one connection that reads and writes it. After a failure, the next call opens it again. */
import type { Logger } from "portico";
import { type Connection, connect } from "./connection.ts";
import { storeUnavailable } from "./failures.ts";
import { refuseIncomplete } from "./migrate.ts";
import { recoverOldJournal } from "./old-journal.ts";
import { SoleUse } from "./sole-use.ts";

export interface StoreFileOptions {
  file: string;
  log: Logger;
  /** Whether other processes use the file too; `private` means that no other process can know of it yet. */
  sharing: "alone" | "shared" | "private";
  /** Whether the file may hold an incomplete copy of another store. */
  acceptsIncomplete: boolean;
  /** Called when another process opens the file, which was in sole use until then. */
  onShared(): void;
  /** Called when the connection is dropped after a failure. */
  onDropped(): void;
}

export class StoreFile {
  readonly #options: StoreFileOptions;
  #current: Connection | undefined;
  #opening: Promise<Connection> | undefined;
  /** Set from the first statement of a transaction until it is durable. */
  #transaction: Promise<void> | undefined;
  #soleUse: SoleUse | undefined;
  #isClosed = false;

  constructor(options: StoreFileOptions) {
    this.#options = options;
  }

  /** Whether no other process has the file open. */
  get inSoleUse(): boolean {
    return this.#soleUse?.isAlone ?? false;
  }

  /** Runs `work` in one turn of the event loop, while no transaction is open. */
  async use<T>(work: (connection: Connection) => T): Promise<Awaited<T>> {
    while (this.#transaction || !this.#current) await (this.#transaction ?? this.#open());
    return await work(this.#current);
  }

  /** Runs a transaction, which may end in a later turn. Until then, no other caller uses the connection. */
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
    const { file, log, acceptsIncomplete } = this.#options;
    const connection = await connect(file);
    try {
      if (!acceptsIncomplete) refuseIncomplete(connection);
      await this.#beginUse();
      // If another process uses the file, it has already read the old journal.
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
    // Earlier versions use the same name for the lock.
    this.#soleUse = await SoleUse.begin(`${file}-accepted-lock`, () => void this.#shareFile());
  }

  async #shareFile(): Promise<void> {
    try {
      await this.#soleUse?.share();
    } catch (error) {
      this.#options.log.warn({ err: error }, "store: another process waits for the file");
    }
    this.#options.onShared();
  }

  /** Drops a connection that saw an I/O error, since its view of the file may be wrong. The next call opens the file again. */
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
    this.#current?.checkpointAndClose();
    this.#current = undefined;
  }
}

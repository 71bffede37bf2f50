/**
 * What was accepted and is not in the tables yet. A write that can be done again by what it was called with is durable
 * once that stands in the journal's file: one small write and a sync, where its rows and their indexes take a dozen
 * pages. It goes into the tables with the next write, before the next read, or a moment later, many at a time; after a
 * crash at the next start.
 *
 * Only as long as nobody else uses the store: when a second process opens it, all goes into the tables at once again.
 */
import { existsSync, unlinkSync } from "node:fs";
import type { Logger } from "portico";
import type { Again, Replay } from "../../sql/engine.ts";
import { SharedTransaction } from "../../sql/transaction.ts";
import { perform, type Write } from "../batch.ts";
import type { Connection } from "../connection.ts";
import { JournalFile, readEntries } from "./file.ts";
import { SoleUse } from "./sole-use.ts";
import { type Accepted, doneIn, noteDone, performReads, writeEach } from "./tables.ts";

/** So that bringing them into the tables never holds the event loop for long: some milliseconds. */
const MOST = 256;
/** More writes at a time than this share the tables' pages as well, and are done sooner at once than twice. */
export const MOST_AT_ONCE = 8;
const HAND_OVER_AGAIN_MS = 100;
/** Characters that the time of an entry takes, at most. */
const AROUND = 64;

export interface JournalOptions {
  /** The store's. */
  file: string;
  log: Logger;
  replay: Replay;
  /** Whether other processes are to use the file too; `private`: nobody knows of it yet. */
  sharing: "alone" | "shared" | "private";
  /** Another process has opened the store, and waits for `share`. */
  asked(): void;
}

export interface JournalWrite extends Write {
  again: (() => Again<unknown> | undefined) | undefined;
}
/** What is written down of a write. */
export interface Noted {
  again: Again<unknown>;
  text: string;
}

export class Journal {
  readonly #options: JournalOptions;
  readonly #path: string;
  #state: "unopened" | "opening" | "open" | "off";
  #opening: Promise<void> | undefined;
  #isStarted = false;
  #isClosed = false;
  #hasFailed = false;
  #file: JournalFile | undefined;
  #use: SoleUse | undefined;
  #accepted: Accepted[] = [];
  /** Their rows as they will be written; undefined where that has to be worked out anew. */
  #gathered: SharedTransaction | undefined;
  /** Of the newest entry, and of the newest that is in the tables. */
  #last = 0;
  #done = 0;

  constructor(options: JournalOptions) {
    this.#options = options;
    this.#path = `${options.file}-accepted`;
    this.#state = options.sharing === "alone" ? "unopened" : "off";
  }

  /** No other process has the store open. */
  get inSoleUse(): boolean {
    return this.#use?.isAlone ?? false;
  }

  /** Something has to go into the tables. */
  get isWaiting(): boolean {
    return this.#last > this.#done;
  }

  /** So much that it goes into the tables before anything else is accepted. */
  get isFull(): boolean {
    return this.#accepted.length >= MOST;
  }

  /** Its file has failed: what waits is on the disk for certain once it is in the tables. */
  get isDoubtful(): boolean {
    return this.#hasFailed && this.isWaiting;
  }

  /** With a new connection. The first one brings into the tables what a process has accepted that was killed. */
  async start(connection: Connection): Promise<void> {
    if (this.#isStarted || this.#options.sharing === "private") return;
    this.#use ??= await SoleUse.begin(`${this.#path}-lock`, this.#options.asked);
    if (this.#use.isAlone && existsSync(this.#path)) {
      this.#recover(connection);
      unlinkSync(this.#path);
    }
    if (this.#options.sharing === "shared") await this.#use.share();
    if (!this.#use.isAlone) this.#state = "off";
    this.#isStarted = true;
  }

  #recover(connection: Connection): void {
    const { replay, log } = this.#options;
    connection.synchronize("FULL");
    connection.exec("BEGIN IMMEDIATE");
    try {
      const done = doneIn(connection);
      const entries = readEntries(this.#path).filter(({ number }) => number > done);
      const accepted = entries.map(({ number, text }) => ({
        number,
        ...(JSON.parse(text) as Omit<Accepted, "number">),
      }));
      writeEach(connection, accepted, replay, log);
      noteDone(connection, accepted.at(-1)?.number ?? done);
      connection.exec("COMMIT");
      log.info(
        { entries: accepted.length },
        "store: what the last process had accepted is in the tables",
      );
    } catch (error) {
      if (connection.inTransaction) connection.exec("ROLLBACK");
      throw error;
    }
  }

  /** The entries' texts, where all of these can be accepted. `isAwaited`: somebody here waits for work of that kind. */
  noted(
    writes: readonly JournalWrite[],
    isAwaited: (kind: string) => boolean,
  ): Noted[] | undefined {
    if (this.#state === "off" || writes.length === 0 || writes.length > MOST_AT_ONCE)
      return undefined;
    const agains = writes.map(({ again }) => again?.());
    const canWait = (one: Again<unknown> | undefined) =>
      one !== undefined && !one.kinds.some(isAwaited);
    if (!agains.every((one): one is Again<unknown> => canWait(one))) return undefined;
    if (this.#state === "unopened") this.#opening = this.#open();
    if (!this.#file) return undefined;
    try {
      const entries = agains.map((again) => ({ again, text: JSON.stringify(again.entry) }));
      return this.#file.hasRoom(entries.map(({ text }) => text.length + AROUND))
        ? entries
        : undefined;
    } catch {
      return undefined; // one of them cannot be written at all
    }
  }

  async #open(): Promise<void> {
    this.#state = "opening";
    try {
      this.#file = await JournalFile.create(this.#path);
    } catch (error) {
      this.#options.log.debug({ err: error }, "store: it goes without its journal");
    }
    if (this.#state === "opening") this.#state = this.#file ? "open" : "off";
  }

  /** Does the writes as far as their results go, and writes down what they were called with. Returns what to tell once that is on the disk. */
  accept(
    connection: Connection,
    writes: readonly JournalWrite[],
    noted: readonly Noted[],
    clock: () => number,
  ): (() => void)[] {
    const tell: (() => void)[] = [];
    const entries: { number: number; text: string }[] = [];
    // not before: whoever had the journal until then may have gone on
    if (this.#last === 0) this.#last = this.#done = doneIn(connection);
    for (const [i, { operation, resolve }] of writes.entries()) {
      const { again, text } = noted[i]!;
      const now = clock();
      const value = performReads(connection, this.#current(connection).perform(operation, now));
      tell.push(() => resolve(value));
      if (again.isNothing(value)) continue;
      const number = ++this.#last;
      this.#accepted.push({ number, now, entry: again.entry });
      entries.push({ number, text: `{"now":${now},"entry":${text}}` });
    }
    if (entries.length > 0) this.#file?.write(entries);
    return tell;
  }

  /** Undefined where it is done; the other way runs in another thread. */
  sync(atOnce: boolean): Promise<void> | undefined {
    if (!atOnce) return this.#file?.sync();
    this.#file?.syncNow();
    return undefined;
  }

  /** What came after `last` is not on the disk, and nobody was told of it: it never goes into the tables, also not after a crash. */
  fail(last: number): void {
    this.#accepted = this.#accepted.filter(({ number }) => number <= last);
    this.#gathered = undefined;
    this.#state = "off";
    this.#hasFailed = true;
    try {
      this.#file?.takeBack();
    } catch (error) {
      this.#options.log.debug({ err: error }, "store: its journal could not be written again");
    }
  }

  get last(): number {
    return this.#last;
  }

  /** Within a transaction. `singly`: what cannot be written is left out. Returns which kinds of work came with it. */
  apply(connection: Connection, singly: boolean): ReadonlySet<string> {
    const { replay, log } = this.#options;
    let touched: ReadonlySet<string> = new Set<string>();
    if (!this.isWaiting) return touched;
    if (singly) touched = writeEach(connection, this.#accepted, replay, log);
    else {
      const shared = this.#current(connection);
      this.#gathered = undefined;
      perform(connection, shared.end());
      touched = shared.touched;
    }
    noteDone(connection, this.#last);
    return touched;
  }

  /** Looks at the tables as they will be: in a transaction that ends as if it had not been, and so needs no room on the disk. */
  lookBeyond<T>(connection: Connection, look: () => T): T {
    connection.exec("BEGIN IMMEDIATE");
    try {
      this.apply(connection, true);
      return look();
    } finally {
      if (connection.inTransaction) connection.exec("ROLLBACK");
    }
  }

  /** After the commit. `isDurable`: it is on the disk. */
  applied(isDurable: boolean): void {
    this.#accepted = [];
    this.#gathered = undefined;
    this.#done = this.#last;
    if (isDurable) this.#file?.rewind();
  }

  #current(connection: Connection): SharedTransaction {
    if (this.#gathered) return this.#gathered;
    const shared = new SharedTransaction(true);
    for (const { now, entry } of this.#accepted) {
      performReads(
        connection,
        shared.perform((tx) => this.#options.replay(tx, entry), now),
      );
    }
    this.#gathered = shared;
    return shared;
  }

  /**
   * Another process has opened the store: it is let in once all that was accepted is in the tables, for which `gathered` sees.
   * From now on there is no journal.
   */
  async handOver(
    gathered: () => Promise<void>,
    use: (work: (connection: Connection) => boolean) => Promise<boolean>,
  ): Promise<void> {
    this.#state = "off";
    try {
      await this.#opening;
      await gathered();
      while (!this.#isClosed && !(await use((connection) => this.#remove(connection)))) {
        await new Promise((resolve) => setTimeout(resolve, HAND_OVER_AGAIN_MS).unref());
        await gathered();
      }
      await this.#use?.share();
    } catch (error) {
      this.#options.log.warn({ err: error }, "store: another process waits for it");
    }
  }

  /** What could not be brought into the tables stays in the file, for the next start. */
  async close(connection: Connection | undefined): Promise<void> {
    this.#isClosed = true;
    this.#state = "off";
    await this.#opening;
    if (!this.#remove(connection)) this.#file?.close();
    this.#file = undefined;
    this.#use?.end();
    this.#use = undefined;
  }

  #remove(connection: Connection | undefined): boolean {
    if (!this.#file) return true;
    if (!connection || !this.#isOnDisk(connection)) return false;
    this.#file.close();
    this.#file = undefined;
    unlinkSync(this.#path);
    return true;
  }

  #isOnDisk(connection: Connection): boolean {
    if (this.isWaiting) return false;
    try {
      connection.synchronize("FULL");
      noteDone(connection, this.#last);
      return true;
    } catch (error) {
      this.#options.log.debug({ err: error }, "store: its journal stays for now");
      return false;
    }
  }
}

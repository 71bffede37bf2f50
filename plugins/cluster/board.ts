/** Messages between gateways, as short-lived values of the store that they share. */
import type { Logger } from "portico";
import type { Store } from "portico/store";
import type { Message } from "./messages.ts";

const NAMESPACE = "cluster";
const LOOK_MS = 400;
/** Messages within this time are written together. */
const COLLECT_MS = 30;
/** Longer than any pause between two readings. */
const RETENTION_MS = 5_000;
const MAX_WAITING = 1_000;

interface BoardOptions {
  store: () => Store;
  /** The id of this gateway, whose own messages have already reached its workers. */
  gateway: string;
  receive(message: Message): void;
  log: Logger;
  progress?: BoardProgress;
}

/** How far a gateway has read and written. The next version continues from it, so a reload misses and repeats no message. */
interface BoardProgress {
  /** The keys of messages that have been read and still exist; undefined before the first reading. */
  readKeys?: Set<string>;
  /** The keys of this gateway's messages, with the times at which it deletes them. */
  readonly ownKeys: { key: string; until: number }[];
  /** How many keys this process has written. */
  count: number;
}

export class Board {
  readonly #options: BoardOptions;
  readonly #progress: BoardProgress;
  #waiting: Message[] = [];
  #timer: NodeJS.Timeout | undefined;
  #isFailing = false;
  #isClosed = false;

  constructor(options: BoardOptions) {
    this.#options = options;
    this.#progress = options.progress ?? Board.newProgress();
  }

  static newProgress(): BoardProgress {
    return { ownKeys: [], count: 0 };
  }

  static readonly lookMs = LOOK_MS;

  put(message: Message): void {
    // Past the limit, observers miss messages. That is acceptable: no state depends on them.
    if (this.#isClosed || this.#waiting.length >= MAX_WAITING) return;
    this.#waiting.push(message);
    this.#timer ??= setTimeout(() => void this.#write(), COLLECT_MS).unref();
  }

  /** Writes the last messages. The store is still open, since it closes after the plugins that need it. */
  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    if (this.#waiting.length > 0) await this.#write();
  }

  /** Reads the messages that others have written since the last reading, and deletes this gateway's old ones. */
  async look(signal?: AbortSignal): Promise<void> {
    const keys = await this.#attempt(({ kv }) => kv.list(NAMESPACE));
    // After a reload, the next version may have read a newer list.
    if (!keys || signal?.aborted) return;
    for (const key of this.#takeNewKeys(keys)) {
      if (key.split(" ")[1] === this.#options.gateway) continue;
      const messages = await this.#attempt(({ kv }) => kv.get<Message[]>(NAMESPACE, key));
      for (const message of messages ?? []) this.#options.receive(message);
    }
    const { ownKeys } = this.#progress;
    while (ownKeys[0] && ownKeys[0].until < performance.now()) {
      const { key } = ownKeys.shift()!;
      await this.#attempt(({ kv }) => kv.delete(NAMESPACE, key));
    }
  }

  /** Returns the keys that this process has not read yet, and marks them as read. */
  #takeNewKeys(keys: readonly string[]): string[] {
    const { readKeys } = this.#progress;
    this.#progress.readKeys = new Set(keys);
    // A gateway ignores the messages that are older than its start.
    return readKeys ? keys.filter((key) => !readKeys.has(key)) : [];
  }

  async #write(): Promise<void> {
    this.#timer = undefined;
    const messages = this.#waiting;
    this.#waiting = [];
    await this.#attempt(async (store) => {
      const time = String(store.now()).padStart(14, "0");
      const key = `${time} ${this.#options.gateway} ${process.pid} ${++this.#progress.count}`;
      this.#progress.ownKeys.push({ key, until: performance.now() + RETENTION_MS });
      await store.kv.set(NAMESPACE, key, messages, { ttlMs: 4 * RETENTION_MS });
    });
  }

  /** Returns undefined instead of rejecting: no caller waits for the result, and the store may be closed or being replaced. */
  async #attempt<T>(work: (store: Store) => Promise<T>): Promise<T | undefined> {
    try {
      const result = await work(this.#options.store());
      this.#isFailing = false;
      return result;
    } catch (error) {
      if (!this.#isFailing)
        this.#options.log.warn(
          { err: error },
          "messages from other gateways do not arrive, because the store does not respond",
        );
      this.#isFailing = true;
      return undefined;
    }
  }
}

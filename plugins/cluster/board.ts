/** Messages between gateways, as short-lived values of the store that they share. */
import type { Logger } from "portico";
import type { Store } from "portico/store";
import type { Message } from "./messages.ts";

const NAMESPACE = "cluster";
const LOOK_MS = 400;
/** Messages of one moment go together. */
const COLLECT_MS = 30;
/** Longer than any pause between two looks. */
const KEPT_MS = 5_000;
const MOST_WAITING = 1_000;

interface BoardOptions {
  store: () => Store;
  /** Of this gateway: its own messages have gone to its workers already. */
  gateway: string;
  hear(message: Message): void;
  log: Logger;
}

export class Board {
  readonly #options: BoardOptions;
  readonly #seen = new Set<string>();
  /** Own keys, and when they go. */
  readonly #own: { key: string; until: number }[] = [];
  #waiting: Message[] = [];
  #timer: NodeJS.Timeout | undefined;
  #count = 0;
  #isFailing = false;
  #isNew = true;
  #isClosed = false;

  constructor(options: BoardOptions) {
    this.#options = options;
  }

  static readonly lookMs = LOOK_MS;

  put(message: Message): void {
    // Past the limit, observers miss messages. That is acceptable: no state depends on them.
    if (this.#isClosed || this.#waiting.length >= MOST_WAITING) return;
    this.#waiting.push(message);
    this.#timer ??= setTimeout(() => void this.#write(), COLLECT_MS).unref();
  }

  /** What was put up last is still written: the store outlives who needs it. */
  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    if (this.#waiting.length > 0) await this.#write();
  }

  /** Reads what others have put up since the last look, and takes own things down. */
  async look(): Promise<void> {
    const keys = await this.#attempt(({ kv }) => kv.list(NAMESPACE));
    if (!keys) return;
    const now = new Set(keys);
    for (const key of this.#seen) if (!now.has(key)) this.#seen.delete(key);
    const fresh = keys.filter((key) => !this.#seen.has(key));
    for (const key of fresh) this.#seen.add(key);
    const isFirst = this.#isNew;
    this.#isNew = false;
    // What was said before this one came is not for it.
    for (const key of isFirst ? [] : fresh) {
      if (key.split(" ")[1] === this.#options.gateway) continue;
      const messages = await this.#attempt(({ kv }) => kv.get<Message[]>(NAMESPACE, key));
      for (const message of messages ?? []) this.#options.hear(message);
    }
    while (this.#own[0] && this.#own[0].until < performance.now()) {
      const { key } = this.#own.shift()!;
      await this.#attempt(({ kv }) => kv.delete(NAMESPACE, key));
    }
  }

  async #write(): Promise<void> {
    this.#timer = undefined;
    const messages = this.#waiting;
    this.#waiting = [];
    await this.#attempt(async (store) => {
      const key = `${String(store.now()).padStart(14, "0")} ${this.#options.gateway} ${process.pid} ${++this.#count}`;
      this.#own.push({ key, until: performance.now() + KEPT_MS });
      await store.kv.set(NAMESPACE, key, messages, { ttlMs: 4 * KEPT_MS });
    });
  }

  /** Nobody waits for what is tried here, and the store may be gone: in a stop, or for a moment while it is replaced. */
  async #attempt<T>(work: (store: Store) => Promise<T>): Promise<T | undefined> {
    try {
      const result = await work(this.#options.store());
      this.#isFailing = false;
      return result;
    } catch (error) {
      if (!this.#isFailing)
        this.#options.log.warn(
          { err: error },
          "no messages of other gateways arrive: the store does not respond",
        );
      this.#isFailing = true;
      return undefined;
    }
  }
}

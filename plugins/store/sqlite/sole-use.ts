/**
 * Determines whether this process is the only one that uses the store. Each process holds a lock on an empty file next to
 * the store. The first process holds it exclusively, until another one asks for it by touching that file. From then on, all
 * processes share the lock.
 */
import { type FSWatcher, utimesSync, watch } from "node:fs";
import { type FileLock, openLock } from "./connection.ts";

const ASK_INTERVAL_MS = 10;
/** The time that the other process has to respond. */
const ASK_TIMEOUT_MS = 2_000;

export class SoleUse {
  readonly #path: string;
  readonly #lock: FileLock;
  #watcher: FSWatcher | undefined;

  private constructor(path: string, lock: FileLock) {
    this.#path = path;
    this.#lock = lock;
  }

  /** Takes the lock, or gives up after `ASK_TIMEOUT_MS`. Calls `onRequest` when another process wants to use the store too. */
  static async begin(path: string, onRequest: () => void): Promise<SoleUse> {
    const use = new SoleUse(path, await openLock(path));
    await use.#askUntil(() => use.#takeExclusive(onRequest) || use.#lock.take("shared"));
    return use;
  }

  get isAlone(): boolean {
    return this.#watcher !== undefined;
  }

  /** Shares the lock, so that other processes may use the store too. */
  async share(): Promise<void> {
    if (!this.isAlone) return;
    this.#unwatch();
    this.#lock.release();
    await this.#askUntil(() => this.#lock.take("shared"));
  }

  end(): void {
    this.#unwatch();
    this.#lock.close();
  }

  /** Takes the lock exclusively, except if the file cannot be watched for requests of other processes. */
  #takeExclusive(onRequest: () => void): boolean {
    if (!this.#lock.take("exclusive")) return false;
    try {
      this.#watcher = watch(this.#path, { persistent: false }, onRequest).on("error", onRequest);
      return true;
    } catch {
      this.#lock.release();
      return false;
    }
  }

  #unwatch(): void {
    this.#watcher?.close();
    this.#watcher = undefined;
  }

  async #askUntil(take: () => boolean): Promise<void> {
    const deadline = performance.now() + ASK_TIMEOUT_MS;
    while (!take() && performance.now() < deadline) {
      const now = new Date();
      utimesSync(this.#path, now, now);
      await new Promise((resolve) => setTimeout(resolve, ASK_INTERVAL_MS));
    }
  }
}

/**
 * Whether this process alone uses the store. Each holds a lock on an empty file beside it: the first one for itself alone,
 * until another one asks by touching that file. From then on all share it.
 */
import { type FSWatcher, utimesSync, watch } from "node:fs";
import { type FileLock, openLock } from "./connection.ts";

const ASK_EVERY_MS = 10;
/** The time that the other process has to answer, in ms. */
const ASK_FOR_MS = 2_000;

export class SoleUse {
  readonly #path: string;
  readonly #lock: FileLock;
  #watcher: FSWatcher | undefined;

  private constructor(path: string, lock: FileLock) {
    this.#path = path;
    this.#lock = lock;
  }

  /** `asked`: another process wants to use it too. */
  static async begin(path: string, onRequest: () => void): Promise<SoleUse> {
    const use = new SoleUse(path, await openLock(path));
    await use.#until(() => use.#takeAlone(onRequest) || use.#lock.take("shared"));
    return use;
  }

  get isAlone(): boolean {
    return this.#watcher !== undefined;
  }

  /** From now on others may use it as well. */
  async share(): Promise<void> {
    if (!this.isAlone) return;
    this.#unwatch();
    this.#lock.leave();
    await this.#until(() => this.#lock.take("shared"));
  }

  end(): void {
    this.#unwatch();
    this.#lock.close();
  }

  /** If requests of other processes could not be noticed, the file counts as shared. */
  #takeAlone(onRequest: () => void): boolean {
    if (!this.#lock.take("alone")) return false;
    try {
      this.#watcher = watch(this.#path, { persistent: false }, onRequest).on("error", onRequest);
      return true;
    } catch {
      this.#lock.leave();
      return false;
    }
  }

  #unwatch(): void {
    this.#watcher?.close();
    this.#watcher = undefined;
  }

  async #until(take: () => boolean): Promise<void> {
    const late = performance.now() + ASK_FOR_MS;
    while (!take() && performance.now() < late) {
      const now = new Date();
      utimesSync(this.#path, now, now);
      await new Promise((resolve) => setTimeout(resolve, ASK_EVERY_MS));
    }
  }
}

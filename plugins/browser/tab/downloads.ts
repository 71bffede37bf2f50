/** Downloads that a tab begins, until a caller fetches them. */
import type { Download, Page } from "../drivers/playwright.ts";

/** Those that nobody asked for are kept for a while, and only so many: a page could fill the disk with them. */
const UNCLAIMED_MS = 30_000;
const UNCLAIMED = 5;

interface NextDownload {
  promise: Promise<Download>;
  /** Waits no longer. */
  cancel(): void;
}

export class Downloads {
  #unclaimed: { download: Download; at: number }[] = [];
  #waiters: ((download: Download) => void)[] = [];

  constructor(page: Page) {
    page.on("download", (download) => this.#take(download));
  }

  /** The next one, or one that began in the last seconds and was not fetched. */
  next(): NextDownload {
    this.#prune();
    const waiting = this.#unclaimed.shift();
    return waiting === undefined
      ? this.fresh()
      : { promise: Promise.resolve(waiting.download), cancel() {} };
  }

  /** The next one to begin from now on. */
  fresh(): NextDownload {
    let waiter: (download: Download) => void = () => {};
    const promise = new Promise<Download>((resolve) => (waiter = resolve));
    this.#waiters.push(waiter);
    const cancel = (): void => {
      this.#waiters = this.#waiters.filter((one) => one !== waiter);
    };
    return { promise, cancel };
  }

  #take(download: Download): void {
    const waiter = this.#waiters.shift();
    if (waiter !== undefined) {
      waiter(download);
      return;
    }
    this.#unclaimed.push({ download, at: Date.now() });
    this.#prune();
    setTimeout(() => this.#prune(), UNCLAIMED_MS + 100).unref();
  }

  #prune(): void {
    const oldest = Date.now() - UNCLAIMED_MS;
    while (
      this.#unclaimed.length > UNCLAIMED ||
      (this.#unclaimed[0]?.at ?? Number.POSITIVE_INFINITY) < oldest
    ) {
      const { download } = this.#unclaimed.shift()!;
      void download.cancel().catch(() => {});
      void download.delete().catch(() => {});
    }
  }
}

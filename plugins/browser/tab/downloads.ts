/** Keeps the downloads that a tab begins until a caller fetches them. */
import type { Download, Page } from "../drivers/playwright.ts";

/**
 * Limits for downloads that no caller has requested: their age in ms and their number. Without them, a page could fill
 * the disk.
 */
const UNCLAIMED_MS = 30_000;
const MAX_UNCLAIMED = 5;

interface NextDownload {
  promise: Promise<Download>;
  /** Stops waiting. */
  cancel(): void;
}

export class Downloads {
  #unclaimed: { download: Download; at: number }[] = [];
  #waiters: ((download: Download) => void)[] = [];

  constructor(page: Page) {
    page.on("download", (download) => this.#receive(download));
  }

  /** Returns an unclaimed download that began in the last 30 s, or else waits for the next one. */
  next(): NextDownload {
    this.#prune();
    const unclaimed = this.#unclaimed.shift();
    return unclaimed === undefined
      ? this.nextFromNow()
      : { promise: Promise.resolve(unclaimed.download), cancel() {} };
  }

  /** Waits for the next download that begins from now on. */
  nextFromNow(): NextDownload {
    let waiter: (download: Download) => void = () => {};
    const promise = new Promise<Download>((resolve) => (waiter = resolve));
    this.#waiters.push(waiter);
    const cancel = (): void => {
      this.#waiters = this.#waiters.filter((other) => other !== waiter);
    };
    return { promise, cancel };
  }

  #receive(download: Download): void {
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
      this.#unclaimed.length > MAX_UNCLAIMED ||
      (this.#unclaimed[0]?.at ?? Number.POSITIVE_INFINITY) < oldest
    ) {
      const { download } = this.#unclaimed.shift()!;
      void download.cancel().catch(() => {});
      void download.delete().catch(() => {});
    }
  }
}

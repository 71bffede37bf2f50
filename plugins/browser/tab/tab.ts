/** One tab under control of the automation library: its page, its refs, its logs, and the queue of its actions. */
import { setMaxListeners } from "node:events";
import { parseUrl } from "portico/strings";
import { errors } from "../errors.ts";
import { attempt, remainingMs, withTimeout } from "../deadline.ts";
import { Dialogs } from "./dialogs.ts";
import { Downloads } from "./downloads.ts";
import type { CDPSession, FileChooser, Page, Request } from "../drivers/playwright.ts";
import { type RefCounter, RefTable } from "../snapshot/refs.ts";
import { TabWatch } from "./watch.ts";

/** The lines of a returned snapshot, and the document that it showed. */
export interface SnapshotRecord {
  document: string;
  lines: string[];
}

interface TabOptions {
  targetId: string;
  page: Page;
  cdp: CDPSession;
  /** The counter that all tabs of a profile share. */
  refCounter: RefCounter;
  onClose(tab: Tab): void;
  onNavigated(tab: Tab, url: string): void;
}

/** A pending navigation of a tab to another page. */
interface PendingNavigation {
  url: string;
  request: Request | undefined;
  since: number;
  ended: Promise<void>;
  end(): void;
}

function createPendingNavigation(
  url: string,
  request: Request | undefined,
  since: number,
): PendingNavigation {
  let end = (): void => {};
  const ended = new Promise<void>((resolve) => {
    end = resolve;
  });
  return { url, request, since, ended, end };
}

/** The time in ms within which an idle page responds, even on a busy machine. */
const RESPONSE_MS = 1_000;
/** The time in ms within which a navigation that a page requested begins, if at all. */
const REQUESTED_NAVIGATION_MS = 1_000;
/** The time in ms that a navigation may be pending before it is given up and the current page is used again. */
const MAX_PENDING_MS = 10_000;

/** A file chooser that has opened. `over` settles when it has its files. */
interface OpenedChooser {
  done: Promise<unknown>;
}

export class Tab {
  readonly targetId: string;
  readonly page: Page;
  /** A session of our own, whose overrides last as long as the tab. */
  readonly cdp: CDPSession;
  readonly refs: RefTable;
  readonly watch: TabWatch;
  readonly dialogs: Dialogs;
  readonly downloads: Downloads;
  /** The last snapshots by caller and view, for `diff`. */
  readonly lastSnapshots = new Map<string, SnapshotRecord>();
  /** The document of the last whole snapshot, and the time that the snapshot took. */
  lastWholeSnapshot: { document: string; ms: number } | undefined;
  /** The refs in the last snapshot, by key. */
  printedRefs: Readonly<Record<string, { role: string; name?: string; native: string }>> = {};
  /** The target of the last failed navigation. */
  failedNavigation: { url: string; at: number } | undefined;
  /** The number of navigations of the main frame. */
  navigationCount = 0;
  /** Listeners for windows that the page opens. A subscription to the library's own event would cost messages. */
  readonly popupListeners = new Set<(popup: Page) => void>();
  /** The number of windows that the page has requested. */
  windowRequestCount = 0;
  isCrashed = false;
  isClosed = false;
  readonly #ended = new AbortController();
  #queue: Promise<unknown> = Promise.resolve();
  #pendingNavigation: PendingNavigation | undefined;
  #chooser: { opened: Promise<OpenedChooser | undefined>; disarm(): void } | undefined;

  constructor(options: TabOptions) {
    const { page } = options;
    setMaxListeners(0, this.#ended.signal);
    this.targetId = options.targetId;
    this.page = page;
    this.cdp = options.cdp;
    this.refs = new RefTable(options.refCounter);
    this.watch = new TabWatch(page);
    this.dialogs = new Dialogs(page);
    this.downloads = new Downloads(page);
    page.on("crash", () => {
      this.isCrashed = true;
      this.#end();
    });
    page.on("close", () => {
      this.isClosed = true;
      options.onClose(this);
      this.#end();
    });
    page.on("framenavigated", (frame) => {
      if (frame !== page.mainFrame()) return;
      this.navigationCount += 1;
      this.#endNavigation();
      options.onNavigated(this, frame.url());
    });
    page.on("popup", (popup) => {
      for (const listener of this.popupListeners) listener(popup);
    });
    page.on("request", (request) => this.#beginNavigation(request));
    // This event arrives before the response to the input that caused it, the request only some time later.
    this.cdp.on("Page.frameRequestedNavigation", ({ frameId, url, disposition }) => {
      if (disposition !== "currentTab") this.windowRequestCount += 1;
      else if (frameId === this.targetId) this.#expectNavigation(url);
    });
    this.cdp.on("Page.windowOpen", () => {
      this.windowRequestCount += 1;
    });
    this.cdp.send("Page.enable").catch(() => {});
    page.on("requestfailed", (request) => this.#recordFailure(request));
    page.on("requestfinished", (request) => this.#endNavigation(request));
  }

  #end(): void {
    this.#endNavigation();
    this.#ended.abort();
  }

  /** A signal that is aborted when the tab closes or crashes. */
  get signal(): AbortSignal {
    return this.#ended.signal;
  }

  /** Returns the result of the work. Rejects as soon as the tab closes or crashes, whatever the work waits for. */
  async whileAlive<T>(work: Promise<T>): Promise<T> {
    work.catch(() => {});
    const { signal } = this.#ended;
    let end = (): void => {};
    const ended = new Promise<never>((_, reject) => {
      end = () => reject(new Error("Target closed"));
    });
    signal.addEventListener("abort", end);
    if (signal.aborted) end();
    try {
      return await Promise.race([work, ended]);
    } finally {
      signal.removeEventListener("abort", end);
    }
  }

  /** The tab's address; for an error page, the address that could not be loaded. */
  get url(): string {
    const url = this.page.url();
    return url.startsWith("chrome-error:") ? (this.failedNavigation?.url ?? url) : url;
  }

  /**
   * Records that the page requested a navigation. The request may follow or not (a mail address, a cancelled
   * navigation).
   */
  #expectNavigation(url: string): void {
    if (this.#pendingNavigation !== undefined) return;
    const expected = createPendingNavigation(url, undefined, Date.now());
    this.#pendingNavigation = expected;
    setTimeout(() => {
      if (this.#pendingNavigation === expected) this.#endNavigation();
    }, REQUESTED_NAVIGATION_MS).unref();
  }

  /** True for a request that navigates the main frame. */
  #isMainNavigation(request: Request): boolean {
    if (!request.isNavigationRequest()) return false;
    try {
      return request.frame() === this.page.mainFrame();
    } catch {
      // A request without a frame (of a service worker) does not navigate.
      return false;
    }
  }

  #recordFailure(request: Request): void {
    if (this.#isMainNavigation(request) && request.failure()?.errorText !== "net::ERR_ABORTED")
      this.failedNavigation = { url: request.url(), at: Date.now() };
    this.#endNavigation(request);
  }

  #beginNavigation(request: Request): void {
    if (!this.#isMainNavigation(request)) return;
    const previous = this.#pendingNavigation;
    this.#pendingNavigation = createPendingNavigation(
      request.url(),
      request,
      previous?.since ?? Date.now(),
    );
    previous?.end();
  }

  #endNavigation(request?: Request): void {
    if (
      this.#pendingNavigation === undefined ||
      (request !== undefined && request !== this.#pendingNavigation.request)
    )
      return;
    this.#pendingNavigation.end();
    this.#pendingNavigation = undefined;
  }

  /**
   * Waits until no navigation is pending, because the library does not inspect a page during one, even if the server
   * never responds. After a while, the navigation is given up. Rejects with a 504 if the caller's timeout ends first.
   */
  async waitUntilSettled(timeoutMs: number): Promise<void> {
    const start = Date.now();
    while (this.#pendingNavigation !== undefined) {
      const pending = this.#pendingNavigation;
      const { since, ended, url } = pending;
      const remaining = remainingMs(start, timeoutMs);
      const patience = Math.max(1, since + MAX_PENDING_MS - Date.now());
      await attempt(Math.min(remaining, patience), ended, undefined);
      if (this.#pendingNavigation !== pending) continue;
      if (patience > remaining) {
        const host = parseUrl(url)?.host ?? "elsewhere";
        throw errors.tabLeaving({ host });
      }
      await this.stopLoading();
    }
  }

  /**
   * Waits for the page of a navigation that began since the caller read `navigationCount`. Returns early if there was
   * none.
   */
  async waitForArrival(
    navigationCount: number,
    limitMs: number,
    needsRoundTrip: boolean,
  ): Promise<void> {
    const start = Date.now();
    // After one round trip to the page, the events that the action caused have arrived.
    if (needsRoundTrip)
      await attempt(RESPONSE_MS, this.cdp.send("Runtime.evaluate", { expression: "0" }), undefined);
    if (this.#pendingNavigation === undefined && this.navigationCount === navigationCount) return;
    while (this.#pendingNavigation !== undefined && Date.now() - start < limitMs) {
      await attempt(remainingMs(start, limitMs), this.#pendingNavigation.ended, undefined);
    }
    if (
      this.#pendingNavigation !== undefined ||
      this.isClosed ||
      this.navigationCount === navigationCount
    )
      return;
    await attempt(
      remainingMs(start, limitMs),
      this.page.waitForLoadState("domcontentloaded"),
      undefined,
    );
  }

  /** Gives up a pending navigation; the current page stays. */
  async stopLoading(): Promise<void> {
    this.#endNavigation();
    await attempt(1000, this.cdp.send("Page.stopLoading"), undefined);
  }

  /**
   * Runs work exclusively, because the input of two callers must not mix. The time in the queue counts against
   * `timeoutMs`.
   */
  async runExclusively<T>(timeoutMs: number, what: string, work: () => Promise<T>): Promise<T> {
    const previous = this.#queue;
    let done = (): void => {};
    this.#queue = new Promise<void>((resolve) => (done = resolve));
    try {
      await withTimeout(timeoutMs, what, previous, errors.tabBusy);
      return await work();
    } finally {
      // The next caller starts after this one has ended, and after the earlier one whose wait this one may have given
      // up.
      void previous.then(done, done);
    }
  }

  /** Passes the next file chooser within `forMs` to a handler. A second call replaces the first. */
  armChooser(handle: (chooser: FileChooser) => unknown, forMs: number): void {
    this.disarmChooser();
    let resolveOpened = (_answered?: OpenedChooser): void => {};
    const opened = new Promise<OpenedChooser | undefined>((resolve) => (resolveOpened = resolve));
    const onChooser = (chooser: FileChooser): void => {
      resolveOpened({ done: Promise.resolve(handle(chooser)) });
      this.disarmChooser();
    };
    const timer = setTimeout(() => this.disarmChooser(), forMs).unref();
    this.page.on("filechooser", onChooser);
    const disarm = (): void => {
      clearTimeout(timer);
      this.page.off("filechooser", onChooser);
      resolveOpened();
    };
    this.#chooser = { opened, disarm };
  }

  disarmChooser(): void {
    this.#chooser?.disarm();
    this.#chooser = undefined;
  }

  /**
   * Resolves when the armed file chooser opens, or with `undefined` when it is disarmed. `undefined` if none is armed.
   */
  get armedChooser(): Promise<OpenedChooser | undefined> | undefined {
    return this.#chooser?.opened;
  }

  /** Throws a 404 if the tab has crashed, because it no longer responds. */
  assertAlive(): void {
    if (!this.isCrashed) return;
    throw errors.tabCrashed();
  }
}

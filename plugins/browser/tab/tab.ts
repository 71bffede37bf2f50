/** One tab under the automation library: its page, its refs, what it said, and the queue of what is done to it. */
import { setMaxListeners } from "node:events";
import { parseUrl } from "portico/strings";
import { errors } from "../errors.ts";
import { attempt, remainingMs, within } from "../deadline.ts";
import { Dialogs } from "./dialogs.ts";
import { Downloads } from "./downloads.ts";
import type { CDPSession, FileChooser, Page, Request } from "../drivers/playwright.ts";
import { type RefCounter, RefTable } from "../snapshot/refs.ts";
import { TabWatch } from "./watch.ts";

/** A snapshot as it was answered, and which document of the tab it was of. */
export interface Shown {
  document: string;
  lines: string[];
}

interface TabOptions {
  targetId: string;
  page: Page;
  cdp: CDPSession;
  /** Shared by the tabs of a profile. */
  refCounter: RefCounter;
  onClose(tab: Tab): void;
  onNavigated(tab: Tab, url: string): void;
}

/** A tab on its way to another page. */
interface Leaving {
  url: string;
  request: Request | undefined;
  since: number;
  over: Promise<void>;
  end(): void;
}

function leaving(url: string, request: Request | undefined, since: number): Leaving {
  let end = (): void => {};
  const over = new Promise<void>((resolve) => {
    end = resolve;
  });
  return { url, request, since, over, end };
}

/** A page that is not busy echoes within this, on a machine that is. */
const ECHO_MS = 1_000;
/** A navigation that a page asks for has begun by then, or does not come. */
const WISH_MS = 1_000;
/** How long a tab may be on its way to another page before what it shows now is used again. */
const LEAVING_MS = 10_000;

/** A file chooser that opened; `over` when it has its files. */
interface Answered {
  over: Promise<unknown>;
}

export class Tab {
  readonly targetId: string;
  readonly page: Page;
  /** A session of our own: what is overridden on it holds for as long as the tab lives. */
  readonly cdp: CDPSession;
  readonly refs: RefTable;
  readonly watch: TabWatch;
  readonly dialogs: Dialogs;
  readonly downloads: Downloads;
  /** The last snapshot by caller and view, for `diff`. */
  readonly shown = new Map<string, Shown>();
  /** What the last whole snapshot of the page was like: which document, how long it took. */
  whole: { document: string; ms: number } | undefined;
  /** What the last snapshot printed, by key. */
  printed: Readonly<Record<string, { role: string; name?: string; native: string }>> = {};
  /** Where the last navigation that failed was to end. */
  failed: { url: string; at: number } | undefined;
  /** How often the main frame has changed its address. */
  moves = 0;
  /** Told of each window that the page opens. Not the library's own event: subscribing to that takes messages. */
  readonly popupListeners = new Set<(popup: Page) => void>();
  /** How often the page has asked for another window. */
  windows = 0;
  crashed = false;
  closed = false;
  readonly #ended = new AbortController();
  #queue: Promise<unknown> = Promise.resolve();
  #leaving: Leaving | undefined;
  #chooser: { opened: Promise<Answered | undefined>; disarm(): void } | undefined;

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
      this.crashed = true;
      this.#end();
    });
    page.on("close", () => {
      this.closed = true;
      options.onClose(this);
      this.#end();
    });
    page.on("framenavigated", (frame) => {
      if (frame !== page.mainFrame()) return;
      this.moves += 1;
      this.#endLeaving();
      options.onNavigated(this, frame.url());
    });
    page.on("popup", (popup) => {
      for (const listener of this.popupListeners) listener(popup);
    });
    page.on("request", (request) => this.#beginLeaving(request));
    // Arrives before the answer to the input that caused it, the request only some time after.
    this.cdp.on("Page.frameRequestedNavigation", ({ frameId, url, disposition }) => {
      if (disposition !== "currentTab") this.windows += 1;
      else if (frameId === this.targetId) this.#expectLeaving(url);
    });
    this.cdp.on("Page.windowOpen", () => {
      this.windows += 1;
    });
    this.cdp.send("Page.enable").catch(() => {});
    page.on("requestfailed", (request) => this.#fail(request));
    page.on("requestfinished", (request) => this.#endLeaving(request));
  }

  #end(): void {
    this.#endLeaving();
    this.#ended.abort();
  }

  /** Aborted when the tab closes or crashes. */
  get signal(): AbortSignal {
    return this.#ended.signal;
  }

  /** The work's result; rejects as soon as the tab closes or crashes, whatever the work waits for. */
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

  /** Its address; of an error page the address that could not be loaded. */
  get url(): string {
    const url = this.page.url();
    return url.startsWith("chrome-error:") ? (this.failed?.url ?? url) : url;
  }

  /** The page wants to go elsewhere; the request for it follows, or not (a mail address, a cancelled one). */
  #expectLeaving(url: string): void {
    if (this.#leaving !== undefined) return;
    const expected = leaving(url, undefined, Date.now());
    this.#leaving = expected;
    setTimeout(() => {
      if (this.#leaving === expected) this.#endLeaving();
    }, WISH_MS).unref();
  }

  /** True for a request that is to bring the tab another page. */
  #leadsElsewhere(request: Request): boolean {
    if (!request.isNavigationRequest()) return false;
    try {
      return request.frame() === this.page.mainFrame();
    } catch {
      // A request without a frame of its own (a service worker's) leads nowhere.
      return false;
    }
  }

  #fail(request: Request): void {
    if (this.#leadsElsewhere(request) && request.failure()?.errorText !== "net::ERR_ABORTED")
      this.failed = { url: request.url(), at: Date.now() };
    this.#endLeaving(request);
  }

  #beginLeaving(request: Request): void {
    if (!this.#leadsElsewhere(request)) return;
    const before = this.#leaving;
    this.#leaving = leaving(request.url(), request, before?.since ?? Date.now());
    before?.end();
  }

  #endLeaving(request?: Request): void {
    if (this.#leaving === undefined || (request !== undefined && request !== this.#leaving.request))
      return;
    this.#leaving.end();
    this.#leaving = undefined;
  }

  /**
   * The library refuses to look at a page that is on its way to another one, even where the server never answers: the
   * navigation is waited for a while, then given up. 504 where the caller's own time ends first.
   */
  async settled(timeoutMs: number): Promise<void> {
    const start = Date.now();
    while (this.#leaving !== undefined) {
      const now = this.#leaving;
      const { since, over, url } = now;
      const rest = remainingMs(start, timeoutMs);
      const patience = Math.max(1, since + LEAVING_MS - Date.now());
      await attempt(Math.min(rest, patience), over, undefined);
      if (this.#leaving !== now) continue;
      if (patience > rest) {
        const host = parseUrl(url)?.host ?? "elsewhere";
        throw errors.tabLeaving({ host });
      }
      await this.stopLoading();
    }
  }

  /** Waits for the page that something has led to since `moves` was read; not at all where it led nowhere. */
  async arrived(moves: number, limitMs: number, echo: boolean): Promise<void> {
    const start = Date.now();
    // One round trip through the page: the events that the action caused have arrived by then.
    if (echo)
      await attempt(ECHO_MS, this.cdp.send("Runtime.evaluate", { expression: "0" }), undefined);
    if (this.#leaving === undefined && this.moves === moves) return;
    while (this.#leaving !== undefined && Date.now() - start < limitMs) {
      await attempt(remainingMs(start, limitMs), this.#leaving.over, undefined);
    }
    if (this.#leaving !== undefined || this.closed || this.moves === moves) return;
    await attempt(
      remainingMs(start, limitMs),
      this.page.waitForLoadState("domcontentloaded"),
      undefined,
    );
  }

  /** Gives up a navigation that is under way; the page before it stays. */
  async stopLoading(): Promise<void> {
    this.#endLeaving();
    await attempt(1000, this.cdp.send("Page.stopLoading"), undefined);
  }

  /** One thing at a time: input of two callers must not mix. The wait counts against the caller's own time. */
  async exclusive<T>(timeoutMs: number, what: string, work: () => Promise<T>): Promise<T> {
    const before = this.#queue;
    let done = (): void => {};
    this.#queue = new Promise<void>((resolve) => (done = resolve));
    try {
      await within(timeoutMs, `Waiting for an earlier action in this tab (for ${what})`, before);
      return await work();
    } finally {
      // The next one starts when this one has ended, and not before the one that this one may have given up on.
      void before.then(done, done);
    }
  }

  /** Hands the next file chooser to `take`; a second call replaces the first. */
  armChooser(take: (chooser: FileChooser) => unknown, forMs: number): void {
    this.disarmChooser();
    let tell = (_answered?: Answered): void => {};
    const opened = new Promise<Answered | undefined>((resolve) => (tell = resolve));
    const once = (chooser: FileChooser): void => {
      tell({ over: Promise.resolve(take(chooser)) });
      this.disarmChooser();
    };
    const late = setTimeout(() => this.disarmChooser(), forMs).unref();
    this.page.on("filechooser", once);
    const disarm = (): void => {
      clearTimeout(late);
      this.page.off("filechooser", once);
      tell();
    };
    this.#chooser = { opened, disarm };
  }

  disarmChooser(): void {
    this.#chooser?.disarm();
    this.#chooser = undefined;
  }

  /** Undefined where no file chooser is armed; resolves when it opens, and with undefined when it is disarmed. */
  get armedChooser(): Promise<Answered | undefined> | undefined {
    return this.#chooser?.opened;
  }

  /** 404 for a tab that has crashed: nothing in it answers any more. */
  assertAlive(): void {
    if (!this.crashed) return;
    throw errors.tabCrashed();
  }
}

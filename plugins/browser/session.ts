/** The browser of one profile: whether it runs, its tabs, and what comes back when it dies. */
import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { type Guard, type Logger, PorticoError } from "portico";
import { Cdp, type CdpSession } from "./cdp.ts";
import { attempt, pause, within } from "./deadline.ts";
import type { Attachment } from "./connect/drivers.ts";
import { applyToContext, applyToTab, CONTEXT_KEYS, type Overrides, TAB_KEYS } from "./tab/emulation.ts";
import { isGone } from "./failures.ts";
import {
  type Browser,
  type BrowserContext,
  type Library,
  libraryUnavailable,
  type Page,
  type Route,
} from "./playwright.ts";
import type { Profile } from "./profiles.ts";
import { Tab } from "./tab/tab.ts";

export interface TabInfo {
  targetId: string;
  title: string;
  url: string;
  type: string;
}

export interface SessionDeps {
  attach(profile: Profile, asked: { headless?: boolean }): Promise<Attachment>;
  /** The automation library; rejects with `library_unavailable`. */
  library(): Promise<Library>;
  guard: Guard;
  maxTabs(): number;
  /** The policy forbids more than our own ports. */
  strict(): boolean;
  log: Logger;
  onNavigated(profile: Profile, tab: Tab, url: string): void;
}

/** What is there only while the browser runs. */
interface Running {
  attachment: Attachment;
  /** Commands to the browser as a whole. */
  cdp: CdpSession;
  raw?: Cdp;
  browser?: Browser;
  context?: BrowserContext;
  tabs: Map<string, Tab>;
  /** Tabs whose registration is under way. */
  coming: Map<Page, Promise<Tab | undefined>>;
}

function apart(browser: Browser, { ownContext }: Attachment): Promise<BrowserContext> {
  const server = ownContext?.proxyUrl;
  return browser.newContext(server === undefined ? {} : { proxy: { server } });
}

export class Session {
  readonly profile: Profile;
  /** Set by `/set/*`; gone when the browser is stopped, kept when it dies. */
  overrides: Overrides = {};
  /** True while a trace is recorded. */
  tracing = false;
  readonly #deps: SessionDeps;
  #running: Running | undefined;
  #starting: Promise<Running> | undefined;
  /** Target ids, the last used last. */
  #used: string[] = [];
  /** Goes on over restarts of the browser, so that a remembered ref can never hit. */
  readonly #refCounter = { last: 0 };

  constructor(profile: Profile, deps: SessionDeps) {
    this.profile = profile;
    this.#deps = deps;
  }

  get running(): boolean {
    return this.#running !== undefined;
  }

  get attachment(): Attachment | undefined {
    return this.#running?.attachment;
  }

  /** Starts the browser, or joins a start that is under way; nothing where it runs. */
  async start(asked: { headless?: boolean } = {}): Promise<Attachment> {
    if (this.#running !== undefined) return this.#running.attachment;
    this.#starting ??= this.#open(asked).finally(() => (this.#starting = undefined));
    return (await this.#starting).attachment;
  }

  async #open(asked: { headless?: boolean }): Promise<Running> {
    // Loading the library takes as long as starting the browser: both at once.
    const loading = this.#deps.library().catch((error: { code?: string }) => {
      if (error.code === "library_unavailable") return undefined;
      throw error;
    });
    loading.catch(() => {});
    const attachment = await this.#deps.attach(this.profile, asked);
    try {
      const library = await loading;
      const running =
        library === undefined ? await this.#connectRaw(attachment) : await this.#connect(library, attachment);
      this.#running = running;
      void attachment.exited?.then(() => this.#lost(running));
      if (running.context !== undefined) await this.#restore(running);
      return running;
    } catch (error) {
      this.#running = undefined;
      await attachment.release();
      throw error;
    }
  }

  async #connectRaw(attachment: Attachment): Promise<Running> {
    const { headers, connectTimeoutMs } = attachment;
    const raw = await Cdp.connect(attachment.wsUrl, { timeoutMs: connectTimeoutMs, headers });
    const running: Running = { attachment, raw, cdp: raw, tabs: new Map(), coming: new Map() };
    raw.onClose(() => this.#lost(running));
    return running;
  }

  async #connect(library: Library, attachment: Attachment): Promise<Running> {
    const artifactsDir = join(this.profile.dir, "artifacts");
    await rm(artifactsDir, { recursive: true, force: true });
    await mkdir(artifactsDir, { recursive: true, mode: 0o700 });
    const { headers, isLocal, noDefaults, connectTimeoutMs } = attachment;
    const browser = await library.connect(attachment.pipe ?? attachment.wsUrl, {
      headers,
      isLocal,
      noDefaults,
      timeoutMs: connectTimeoutMs,
      artifactsDir,
    });
    const context = attachment.ownContext === undefined ? browser.contexts()[0] : await apart(browser, attachment);
    if (context === undefined)
      throw new PorticoError("browser_not_running", "The browser shows no window that can be controlled.");
    const cdp = (await browser.newBrowserCDPSession()) as unknown as CdpSession;
    const running: Running = { attachment, browser, context, cdp, tabs: new Map(), coming: new Map() };
    browser.on("disconnected", () => this.#lost(running));
    if (attachment.egress === "best-effort" && this.#deps.strict())
      await context.route("**/*", (route) => this.#judge(route));
    context.on("page", (page) => void this.#register(running, page));
    await Promise.all(context.pages().map((page) => this.#register(running, page)));
    return running;
  }

  /** Where no proxy of ours stands between, each request is judged before it leaves; what it leads to is not seen here. */
  async #judge(route: Route): Promise<void> {
    try {
      const url = route.request().url();
      if (/^https?:/.test(url)) await this.#deps.guard.checkUrl(url);
      await route.continue();
    } catch {
      await route.abort("blockedbyclient").catch(() => {});
    }
  }

  /** After a browser that died: what was set still holds. */
  async #restore(running: Running): Promise<void> {
    for (const key of CONTEXT_KEYS) {
      if (this.overrides[key] !== undefined) await applyToContext(running.context!, key, this.overrides);
    }
  }

  #register(running: Running, page: Page): Promise<Tab | undefined> {
    const under = running.coming.get(page);
    if (under !== undefined) return under;
    const work = this.#addTab(running, page)
      .catch((error: unknown) => {
        if (!isGone(error))
          this.#deps.log.warn({ err: error, profile: this.profile.name }, "a tab could not be taken over");
        return undefined;
      })
      .finally(() => setTimeout(() => running.coming.delete(page), 0));
    running.coming.set(page, work);
    return work;
  }

  async #addTab(running: Running, page: Page): Promise<Tab | undefined> {
    if (running.tabs.size + running.coming.size >= this.#deps.maxTabs()) {
      await attempt(3000, page.close(), undefined);
      return undefined;
    }
    const cdp = await running.context!.newCDPSession(page);
    const { targetInfo } = await cdp.send("Target.getTargetInfo");
    const { targetId } = targetInfo;
    const tab = new Tab({
      targetId,
      page,
      cdp,
      refCounter: this.#refCounter,
      onClose: (closed) => this.#forget(running, closed),
      onNavigated: (moved, url) => this.#deps.onNavigated(this.profile, moved, url),
    });
    if (page.isClosed()) return undefined;
    running.tabs.set(targetId, tab);
    for (const key of TAB_KEYS) {
      if (this.overrides[key] !== undefined) await attempt(3000, applyToTab(tab, key, this.overrides), undefined);
    }
    return tab;
  }

  #forget(running: Running, tab: Tab): void {
    running.tabs.delete(tab.targetId);
    this.#used = this.#used.filter((id) => id !== tab.targetId);
  }

  /** The browser died or the connection broke: everything that hung on it goes, and the next start is a clean one. */
  #lost(running: Running): void {
    if (this.#running !== running) return;
    this.#running = undefined;
    this.tracing = false;
    this.#deps.log.warn({ profile: this.profile.name }, "the browser is gone");
    void this.#close(running);
  }

  async #close(running: Running): Promise<void> {
    running.raw?.close();
    // Only the connection is closed: a browser that we did not start stays as it is.
    if (running.browser?.isConnected()) await attempt(2000, running.browser.close(), undefined);
    await running.attachment
      .release()
      .catch((error: unknown) => this.#deps.log.warn({ err: error }, "the browser did not end cleanly"));
    await rm(join(this.profile.dir, "artifacts"), { recursive: true, force: true }).catch(() => {});
  }

  /** Stops a browser that was started here, lets go of any other. False where none ran. */
  async stop(): Promise<boolean> {
    await this.#starting?.catch(() => {});
    const running = this.#running;
    this.#running = undefined;
    this.overrides = {};
    this.tracing = false;
    this.#used = [];
    if (running === undefined) return false;
    await this.#close(running);
    return true;
  }

  #require(): Running {
    if (this.#running !== undefined) return this.#running;
    throw new PorticoError(
      "browser_not_running",
      `The browser of profile ${this.profile.name} is not running: start it with POST /start (or 'portico browser start').`,
    );
  }

  /** The library's context; 501 without the library, 409 where nothing runs. */
  get context(): BrowserContext {
    const { context } = this.#require();
    if (context === undefined) throw libraryUnavailable();
    return context;
  }

  /** Commands to the browser as a whole. */
  get cdp(): CdpSession {
    return this.#require().cdp;
  }

  /** All tabs that are under control, with what the browser itself says of them: a page that hangs does not matter. */
  async tabs(): Promise<TabInfo[]> {
    const running = this.#require();
    const { targetInfos } = await within(
      5000,
      "Listing the tabs",
      running.cdp.send<{ targetInfos: TabInfo[] }>("Target.getTargets"),
    );
    const pages = targetInfos.filter(({ type, url }) => type === "page" && !url.startsWith("devtools://"));
    if (running.context !== undefined) {
      // A window that has just opened is known to the browser a moment before it is known to us.
      for (let i = 0; i < 20 && pages.some(({ targetId }) => !running.tabs.has(targetId)); i++) {
        if (running.coming.size === 0 && i > 2) break;
        await attempt(500, Promise.all([...running.coming.values(), pause(15)]), undefined);
      }
    }
    const order = [...running.tabs.keys()];
    return pages
      .filter(({ targetId }) => running.context === undefined || running.tabs.has(targetId))
      .sort((a, b) => order.indexOf(a.targetId) - order.indexOf(b.targetId))
      .map(({ targetId, title, url, type }) => ({ targetId, title, url, type }));
  }

  /** Every tab under the library. */
  get libraryTabs(): Tab[] {
    return [...this.#require().tabs.values()];
  }

  /** The full id for a unique prefix, or of the last used tab. 404 `tab_not_found`. */
  async targetId(given?: string): Promise<string> {
    const running = this.#require();
    const known =
      given === undefined
        ? this.#used.findLast((id) => running.tabs.has(id))
        : running.tabs.has(given)
          ? given
          : undefined;
    if (known !== undefined) return known;
    const ids = (await this.tabs()).map(({ targetId }) => targetId);
    if (given === undefined) {
      const last = this.#used.findLast((id) => ids.includes(id)) ?? ids[0];
      if (last !== undefined) return last;
      throw new PorticoError("tab_not_found", "No tab is open: open one with POST /tabs/open.");
    }
    const fitting = ids.filter((id) => id.toLowerCase().startsWith(given.toLowerCase()));
    if (given !== "" && fitting.length === 1) return fitting[0]!;
    const message =
      fitting.length > 1 && given !== ""
        ? `${fitting.length} tabs have an id that begins with ${JSON.stringify(given)}: give more of it.`
        : `There is no tab ${JSON.stringify(given.slice(0, 80))}: list them with GET /tabs.`;
    throw new PorticoError("tab_not_found", message, { param: "targetId" });
  }

  /** The tab that a caller means; it is the last used one from now on. 501 without the library. */
  async tab(given?: string): Promise<Tab> {
    const running = this.#require();
    if (running.context === undefined) throw libraryUnavailable();
    const targetId = await this.targetId(given);
    const tab = running.tabs.get(targetId);
    if (tab === undefined)
      throw new PorticoError("tab_not_found", "The tab was closed a moment ago: list the tabs with GET /tabs.");
    this.used(targetId);
    return tab;
  }

  used(targetId: string): void {
    if (this.#used.at(-1) === targetId) return;
    this.#used = [...this.#used.filter((id) => id !== targetId), targetId];
  }

  /** The empty tab that a browser of our own starts with. */
  firstTab(): Tab | undefined {
    const { attachment, tabs } = this.#require();
    const [only] = tabs.values();
    if (attachment.pid === undefined || tabs.size !== 1 || only?.url !== "about:blank") return undefined;
    this.used(only.targetId);
    return only;
  }

  /** A new empty tab under the library, with the profile's overrides on it. */
  async newTab(): Promise<Tab> {
    const running = this.#require();
    if (running.tabs.size >= this.#deps.maxTabs()) {
      throw new PorticoError(
        "conflict",
        `${running.tabs.size} tabs are open, which is the most (browser.maxTabs): close some first.`,
      );
    }
    const page = await within(15_000, "Opening a tab", this.context.newPage());
    const known = [...running.tabs.values()].find((tab) => tab.page === page);
    const tab = known ?? (await within(10_000, "Opening a tab", this.#register(running, page)));
    if (tab === undefined) throw new PorticoError("tab_not_found", "The new tab was closed before it could be used.");
    this.used(tab.targetId);
    return tab;
  }

  /** A session of one tab without the library. */
  async rawTab(targetId: string): Promise<CdpSession & { detach(): Promise<void> }> {
    const running = this.#require();
    const tab = running.tabs.get(targetId);
    if (tab !== undefined) {
      return {
        send: (method, params) => tab.cdp.send(method as never, params as never) as never,
        detach: async () => {},
      };
    }
    return running.raw!.attach(targetId);
  }

  /** Sets an override everywhere. A value that the browser refuses leaves everything as it was. */
  async override<K extends keyof Overrides>(key: K, value: Overrides[K] | undefined): Promise<void> {
    const { context } = this;
    const next: Overrides = { ...this.overrides };
    if (value === undefined) delete next[key];
    else next[key] = value;
    if (CONTEXT_KEYS.includes(key)) await within(10_000, "Setting the override", applyToContext(context, key, next));
    else {
      for (const tab of this.libraryTabs) {
        // A tab that hangs takes it over when it answers again; it must not hold up the others.
        const trial = within(3000, "Setting the override", applyToTab(tab, key, next));
        await trial.catch((error: { code?: string }) => {
          if (error.code === "invalid_request_error") throw error;
        });
      }
    }
    this.overrides = next;
  }
}

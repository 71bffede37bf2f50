/** The browser of one profile: starts and stops it, and restores its settings after a crash. */
import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import type { Logger } from "portico";
import type { Guard } from "portico/egress";
import { errors } from "../errors.ts";
import { Cdp, type CdpSession } from "../drivers/cdp.ts";
import { attempt, withTimeout } from "../deadline.ts";
import type { Attachment } from "../drivers/attach.ts";
import { applyToContext, applyToTab, CONTEXT_KEYS, type Overrides } from "../tab/emulation.ts";
import { isRunning } from "../drivers/process-record.ts";
import { OpenTabs, type OpenTabsOptions, type TabMemory } from "./open-tabs.ts";
import {
  type Browser,
  type BrowserContext,
  type Library,
  libraryUnavailableError,
} from "../drivers/playwright.ts";
import { TaskQueues } from "../task-queues.ts";
import type { Profile } from "../profiles.ts";
import { RequestCheck } from "./request-check.ts";
import type { Tab } from "../tab/tab.ts";

interface SessionDeps {
  attach(profile: Profile, options: { headless?: boolean }): Promise<Attachment>;
  /** Loads the automation library. Rejects with `library_unavailable`. */
  library(): Promise<Library>;
  guard: Guard;
  maxTabs(): number;
  /** True if the policy forbids more than our own ports. */
  isStrict(): boolean;
  log: Logger;
  onNavigated(profile: Profile, tab: Tab, url: string): void;
}

/** The state that exists only while the browser runs. */
interface RunningBrowser {
  attachment: Attachment;
  /** Sends commands to the browser as a whole. */
  cdp: CdpSession;
  raw?: Cdp;
  browser?: Browser;
  context?: BrowserContext;
  tabs: OpenTabs;
  requestCheck: RequestCheck;
}

async function createOwnContext(
  browser: Browser,
  { ownContext }: Attachment,
): Promise<BrowserContext> {
  const server = ownContext?.proxyUrl;
  if (server === undefined) return browser.newContext();
  return browser.newContext({ proxy: { server } }).catch((error: Error) => {
    // The browser of another gateway keeps its proxy: that gateway's policy applies, and ours checks each request.
    if (/proxyServer/.test(error.message)) return browser.newContext();
    throw error;
  });
}

/** The time in ms within which a live browser responds. */
const ALIVE_RESPONSE_MS = 1_000;

export class Session {
  readonly profile: Profile;
  /** Set by `/set/*`; discarded when the browser is stopped, kept when it crashes. */
  overrides: Overrides = {};
  /** True while a trace is recorded. */
  isTracing = false;
  /** Serializes operations on traces and on the state of the whole browser. */
  readonly queues = new TaskQueues();
  readonly #deps: SessionDeps;
  #running: RunningBrowser | undefined;
  #starting: Promise<RunningBrowser> | undefined;
  /** The next start waits for this, because it uses the same port and directories. */
  #closing: Promise<void> | undefined;
  #lastOverride: Promise<unknown> = Promise.resolve();
  readonly #memory: TabMemory = { refs: { last: 0 }, usedIds: [] };

  constructor(profile: Profile, deps: SessionDeps) {
    this.profile = profile;
    this.#deps = deps;
  }

  get isRunning(): boolean {
    return this.#running !== undefined;
  }

  get attachment(): Attachment | undefined {
    return this.#running?.attachment;
  }

  /**
   * Asks the browser itself, because the operating system reports a dead browser late: on a busy machine, not before
   * its last thread has ended. A browser that hangs counts as alive.
   */
  async isAlive(): Promise<boolean> {
    const running = this.#running;
    if (running === undefined) return false;
    const response = running.cdp.send("Browser.getVersion").then(
      () => true,
      () => false,
    );
    const { pid } = running.attachment;
    const isResponsive = await attempt(ALIVE_RESPONSE_MS, response, undefined);
    if (!(isResponsive ?? (pid === undefined || (await isRunning(pid))))) this.#handleLoss(running);
    return this.#running !== undefined;
  }

  /** Starts the browser, or joins a start in progress. Does nothing if it runs. */
  async start(options: { headless?: boolean } = {}): Promise<Attachment> {
    if (await this.isAlive()) return this.#running!.attachment;
    this.#starting ??= this.#openBrowser(options).finally(() => (this.#starting = undefined));
    return (await this.#starting).attachment;
  }

  async #openBrowser(options: { headless?: boolean }): Promise<RunningBrowser> {
    await this.#closing;
    // Loading the library takes as long as starting the browser, so both run at once.
    const loading = this.#deps.library().catch((error: { code?: string }) => {
      if (error.code === "library_unavailable") return undefined;
      throw error;
    });
    loading.catch(() => {});
    const attachment = await this.#deps.attach(this.profile, options);
    try {
      const library = await loading;
      const running =
        library === undefined
          ? await this.#connectRaw(attachment)
          : await this.#connect(library, attachment);
      this.#running = running;
      await running.requestCheck.applyPolicy();
      void attachment.exited?.then(() => this.#handleLoss(running));
      if (running.context !== undefined) await this.#restore(running);
      return running;
    } catch (error) {
      this.#running = undefined;
      await attachment.release();
      throw error;
    }
  }

  async #connectRaw(attachment: Attachment): Promise<RunningBrowser> {
    const { headers, connectTimeoutMs } = attachment;
    const { clients, wsUrl } = attachment;
    const raw = clients
      ? new Cdp(await clients.openBrowser())
      : await Cdp.connect(wsUrl!, { timeoutMs: connectTimeoutMs, headers });
    const running: RunningBrowser = {
      attachment,
      raw,
      cdp: raw,
      tabs: this.#openTabs({ attachment, cdp: raw }),
      requestCheck: new RequestCheck({ ...this.#deps, attachment }),
    };
    raw.onClose(() => this.#handleLoss(running));
    return running;
  }

  async #connect(library: Library, attachment: Attachment): Promise<RunningBrowser> {
    const artifactsDir = join(this.profile.dir, "artifacts");
    await rm(artifactsDir, { recursive: true, force: true });
    await mkdir(artifactsDir, { recursive: true, mode: 0o700 });
    const { headers, isLocal, noDefaults, connectTimeoutMs } = attachment;
    const browser = await library.connect(attachment.clients?.primary ?? attachment.wsUrl!, {
      headers,
      isLocal,
      noDefaults,
      timeoutMs: connectTimeoutMs,
      artifactsDir,
    });
    const context =
      attachment.ownContext === undefined
        ? browser.contexts()[0]
        : await createOwnContext(browser, attachment);
    if (context === undefined) throw errors.noWindow();
    const cdp = (await browser.newBrowserCDPSession()) as unknown as CdpSession;
    const tabs = this.#openTabs({ attachment, cdp, context });
    const requestCheck = new RequestCheck({ ...this.#deps, attachment, context });
    const running: RunningBrowser = {
      attachment,
      browser,
      context,
      cdp,
      tabs,
      requestCheck,
    };
    browser.on("disconnected", () => this.#handleLoss(running));
    await tabs.adoptPages();
    return running;
  }

  #openTabs(connection: Pick<OpenTabsOptions, "attachment" | "cdp" | "context">): OpenTabs {
    const { maxTabs, log, onNavigated } = this.#deps;
    const { profile } = this;
    return new OpenTabs({
      ...connection,
      profile,
      maxTabs,
      log,
      onNavigated,
      memory: this.#memory,
      overrides: () => this.overrides,
    });
  }

  /** Applies a changed policy to open connections and later requests. */
  async applyPolicy(): Promise<void> {
    const running = this.#running;
    if (running === undefined) return;
    await Promise.all([running.attachment.proxy?.recheck(), running.requestCheck.applyPolicy()]);
  }

  /** Applies the overrides that were set before the previous browser crashed. */
  async #restore(running: RunningBrowser): Promise<void> {
    for (const key of CONTEXT_KEYS) {
      if (this.overrides[key] !== undefined)
        await applyToContext(running.context!, key, this.overrides);
    }
  }

  /**
   * Handles a crash of the browser or a broken connection: discards the running state, so that the next start is a
   * clean one.
   */
  #handleLoss(running: RunningBrowser): void {
    if (this.#running !== running) return;
    this.#running = undefined;
    this.isTracing = false;
    this.#deps.log.warn({ profile: this.profile.name }, "the browser has exited");
    this.#closing = this.#close(running);
  }

  async #close(running: RunningBrowser): Promise<void> {
    running.raw?.close();
    // This closes only the connection; a browser that we did not start continues to run.
    if (running.browser?.isConnected()) await attempt(2000, running.browser.close(), undefined);
    await running.attachment
      .release()
      .catch((error: unknown) =>
        this.#deps.log.warn({ err: error }, "the browser did not shut down cleanly"),
      );
    await rm(join(this.profile.dir, "artifacts"), { recursive: true, force: true }).catch(() => {});
  }

  /** Stops a browser that was started here and disconnects from any other. Resolves with false if none ran. */
  async stop(): Promise<boolean> {
    await this.#starting?.catch(() => {});
    const running = this.#running;
    this.#running = undefined;
    this.overrides = {};
    this.isTracing = false;
    this.#memory.usedIds = [];
    if (running !== undefined) this.#closing = this.#close(running);
    // A browser that crashed may still be closing.
    await this.#closing;
    return running !== undefined;
  }

  #requireRunning(): RunningBrowser {
    if (this.#running !== undefined) return this.#running;
    throw errors.notRunning({ profile: this.profile.name });
  }

  /** The library's context. Throws a 501 without the library, a 409 if the browser does not run. */
  get context(): BrowserContext {
    const { context } = this.#requireRunning();
    if (context === undefined) throw libraryUnavailableError();
    return context;
  }

  /** Sends commands to the browser as a whole. */
  get cdp(): CdpSession {
    return this.#requireRunning().cdp;
  }

  get tabs(): OpenTabs {
    return this.#requireRunning().tabs;
  }

  /** Returns a DevTools session of one tab that also works without the library. */
  async attachRawTab(targetId: string): Promise<CdpSession & { detach(): Promise<void> }> {
    const running = this.#requireRunning();
    const tab = running.tabs.find(targetId);
    if (tab !== undefined) {
      return {
        send: (method, params) => tab.cdp.send(method as never, params as never) as never,
        detach: async () => {},
      };
    }
    return running.raw!.attach(targetId);
  }

  /** Sets an override on all tabs. Calls run one after the other, since each builds on the result of the one before. */
  async setOverride<K extends keyof Overrides>(
    key: K,
    value: Overrides[K] | undefined,
  ): Promise<void> {
    const work = this.#lastOverride.then(() => this.#applyOverride(key, value));
    this.#lastOverride = work.catch(() => {});
    return work;
  }

  /** Keeps the previous overrides if the browser refuses the value. */
  async #applyOverride<K extends keyof Overrides>(
    key: K,
    value: Overrides[K] | undefined,
  ): Promise<void> {
    const { context } = this;
    const next: Overrides = { ...this.overrides };
    if (value === undefined) delete next[key];
    else next[key] = value;
    if (CONTEXT_KEYS.includes(key))
      await withTimeout(10_000, "Setting the override", applyToContext(context, key, next));
    else {
      for (const tab of this.tabs.all) {
        // A tab that hangs applies the override when it responds again; it must not delay the others.
        const work = withTimeout(3000, "Setting the override", applyToTab(tab, key, next));
        await work.catch(async (error: { code?: string }) => {
          if (error.code !== "invalid_request_error") return;
          // Tabs before this one may have accepted the value.
          const restored = this.tabs.all.map((each) => applyToTab(each, key, this.overrides));
          await attempt(3000, Promise.all(restored), undefined);
          throw error;
        });
      }
    }
    this.overrides = next;
  }
}

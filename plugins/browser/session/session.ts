/** The browser of one profile: whether it runs, and what comes back when it dies. */
import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import type { Logger } from "portico";
import type { Guard } from "portico/egress";
import { errors } from "../errors.ts";
import { Cdp, type CdpSession } from "../drivers/cdp.ts";
import { attempt, within } from "../deadline.ts";
import type { Attachment } from "../drivers/attach.ts";
import { applyToContext, applyToTab, CONTEXT_KEYS, type Overrides } from "../tab/emulation.ts";
import { isRunning } from "../drivers/process-record.ts";
import { OpenTabs, type OpenTabsOptions, type TabMemory } from "./open-tabs.ts";
import {
  type Browser,
  type BrowserContext,
  type Library,
  libraryUnavailable,
} from "../drivers/playwright.ts";
import { Turns } from "../turns.ts";
import type { Profile } from "../profiles.ts";
import { RequestJudge } from "./request-judge.ts";
import type { Tab } from "../tab/tab.ts";

interface SessionDeps {
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
  tabs: OpenTabs;
  judge: RequestJudge;
}

async function apart(browser: Browser, { ownContext }: Attachment): Promise<BrowserContext> {
  const server = ownContext?.proxyUrl;
  if (server === undefined) return browser.newContext();
  return browser.newContext({ proxy: { server } }).catch((error: Error) => {
    // The browser of another gateway keeps the proxy that it has: its policy holds, and ours judges each request.
    if (/proxyServer/.test(error.message)) return browser.newContext();
    throw error;
  });
}

/** A browser that lives answers within this. */
const ANSWER_MS = 1_000;

export class Session {
  readonly profile: Profile;
  /** Set by `/set/*`; gone when the browser is stopped, kept when it dies. */
  overrides: Overrides = {};
  /** True while a trace is recorded. */
  tracing = false;
  /** Traces and states of the whole browser. */
  readonly turns = new Turns();
  readonly #deps: SessionDeps;
  #running: Running | undefined;
  #starting: Promise<Running> | undefined;
  /** The next browser has the port and the directories of the one before. */
  #closing: Promise<void> | undefined;
  #overriding: Promise<unknown> = Promise.resolve();
  readonly #memory: TabMemory = { refs: { last: 0 }, used: [] };

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

  /**
   * Asks the browser itself: the system reports a dead browser a moment later, and on a busy machine not before its last
   * thread has ended. One that hangs is alive.
   */
  async isAlive(): Promise<boolean> {
    const running = this.#running;
    if (running === undefined) return false;
    const answered = running.cdp.send("Browser.getVersion").then(
      () => true,
      () => false,
    );
    const { pid } = running.attachment;
    const answer = await attempt(ANSWER_MS, answered, undefined);
    if (!(answer ?? (pid === undefined || (await isRunning(pid))))) this.#lost(running);
    return this.#running !== undefined;
  }

  /** Starts the browser, or joins a start that is under way; nothing where it runs. */
  async start(asked: { headless?: boolean } = {}): Promise<Attachment> {
    if (await this.isAlive()) return this.#running!.attachment;
    this.#starting ??= this.#open(asked).finally(() => (this.#starting = undefined));
    return (await this.#starting).attachment;
  }

  async #open(asked: { headless?: boolean }): Promise<Running> {
    await this.#closing;
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
        library === undefined
          ? await this.#connectRaw(attachment)
          : await this.#connect(library, attachment);
      this.#running = running;
      await running.judge.follow();
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
    const { clients, wsUrl } = attachment;
    const raw = clients
      ? new Cdp(await clients.browser())
      : await Cdp.connect(wsUrl!, { timeoutMs: connectTimeoutMs, headers });
    const running: Running = {
      attachment,
      raw,
      cdp: raw,
      tabs: this.#openTabs({ attachment, cdp: raw }),
      judge: new RequestJudge({ ...this.#deps, attachment }),
    };
    raw.onClose(() => this.#lost(running));
    return running;
  }

  async #connect(library: Library, attachment: Attachment): Promise<Running> {
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
        : await apart(browser, attachment);
    if (context === undefined) throw errors.noWindow();
    const cdp = (await browser.newBrowserCDPSession()) as unknown as CdpSession;
    const tabs = this.#openTabs({ attachment, cdp, context });
    const judge = new RequestJudge({ ...this.#deps, attachment, context });
    const running: Running = { attachment, browser, context, cdp, tabs, judge };
    browser.on("disconnected", () => this.#lost(running));
    await tabs.takeOver();
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

  /** After a change of the policy: open connections and later requests are judged by it. */
  async recheck(): Promise<void> {
    const running = this.#running;
    if (running === undefined) return;
    await Promise.all([running.attachment.proxy?.recheck(), running.judge.follow()]);
  }

  /** After a browser that died: what was set still holds. */
  async #restore(running: Running): Promise<void> {
    for (const key of CONTEXT_KEYS) {
      if (this.overrides[key] !== undefined)
        await applyToContext(running.context!, key, this.overrides);
    }
  }

  /** The browser died or the connection broke: everything that hung on it goes, and the next start is a clean one. */
  #lost(running: Running): void {
    if (this.#running !== running) return;
    this.#running = undefined;
    this.tracing = false;
    this.#deps.log.warn({ profile: this.profile.name }, "the browser has exited");
    this.#closing = this.#close(running);
  }

  async #close(running: Running): Promise<void> {
    running.raw?.close();
    // Only the connection is closed: a browser that we did not start stays as it is.
    if (running.browser?.isConnected()) await attempt(2000, running.browser.close(), undefined);
    await running.attachment
      .release()
      .catch((error: unknown) =>
        this.#deps.log.warn({ err: error }, "the browser did not end cleanly"),
      );
    await rm(join(this.profile.dir, "artifacts"), { recursive: true, force: true }).catch(() => {});
  }

  /** Stops a browser that was started here, lets go of any other. False where none ran. */
  async stop(): Promise<boolean> {
    await this.#starting?.catch(() => {});
    const running = this.#running;
    this.#running = undefined;
    this.overrides = {};
    this.tracing = false;
    this.#memory.used = [];
    if (running !== undefined) this.#closing = this.#close(running);
    // One that died by itself may still be on its way out.
    await this.#closing;
    return running !== undefined;
  }

  #require(): Running {
    if (this.#running !== undefined) return this.#running;
    throw errors.notRunning({ profile: this.profile.name });
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

  get tabs(): OpenTabs {
    return this.#require().tabs;
  }

  /** A session of one tab without the library. */
  async rawTab(targetId: string): Promise<CdpSession & { detach(): Promise<void> }> {
    const running = this.#require();
    const tab = running.tabs.find(targetId);
    if (tab !== undefined) {
      return {
        send: (method, params) => tab.cdp.send(method as never, params as never) as never,
        detach: async () => {},
      };
    }
    return running.raw!.attach(targetId);
  }

  /** Sets an override everywhere, one after the other: each builds upon those before it. */
  async override<K extends keyof Overrides>(
    key: K,
    value: Overrides[K] | undefined,
  ): Promise<void> {
    const setting = this.#overriding.then(() => this.#override(key, value));
    this.#overriding = setting.catch(() => {});
    return setting;
  }

  /** A value that the browser refuses leaves everything as it was. */
  async #override<K extends keyof Overrides>(
    key: K,
    value: Overrides[K] | undefined,
  ): Promise<void> {
    const { context } = this;
    const next: Overrides = { ...this.overrides };
    if (value === undefined) delete next[key];
    else next[key] = value;
    if (CONTEXT_KEYS.includes(key))
      await within(10_000, "Setting the override", applyToContext(context, key, next));
    else {
      for (const tab of this.tabs.all) {
        // A tab that hangs takes it over when it answers again; it must not hold up the others.
        const trial = within(3000, "Setting the override", applyToTab(tab, key, next));
        await trial.catch(async (error: { code?: string }) => {
          if (error.code !== "invalid_request_error") return;
          await attempt(3000, applyToTab(tab, key, this.overrides), undefined);
          throw error;
        });
      }
    }
    this.overrides = next;
  }
}

/** The tabs of a running browser: which there are, which one is meant, and how each comes under control. */
import type { Logger, PorticoError } from "portico";
import { errors } from "../errors.ts";
import type { CdpSession } from "../drivers/cdp.ts";
import type { Attachment } from "../drivers/attach.ts";
import { attempt, pause, within } from "../deadline.ts";
import { isGone } from "../failures.ts";
import { type BrowserContext, libraryUnavailable, type Page } from "../drivers/playwright.ts";
import { sanitizeText } from "../snapshot/text.ts";
import type { Profile } from "../profiles.ts";
import type { RefCounter } from "../snapshot/refs.ts";
import { applyToTab, type Overrides, TAB_KEYS } from "../tab/emulation.ts";
import { Tab } from "../tab/tab.ts";

export interface TabInfo {
  targetId: string;
  title: string;
  url: string;
  type: string;
}

/** What outlives a browser that dies. */
export interface TabMemory {
  /** Goes on, so that a remembered ref can never hit. */
  readonly refs: RefCounter;
  /** Target ids, the last used last. */
  used: string[];
}

export interface OpenTabsOptions {
  profile: Profile;
  attachment: Attachment;
  /** Commands to the browser as a whole. */
  cdp: CdpSession;
  /** Absent without the library: then tabs can be listed, and nothing else. */
  context?: BrowserContext;
  memory: TabMemory;
  overrides(): Overrides;
  maxTabs(): number;
  log: Logger;
  onNavigated(profile: Profile, tab: Tab, url: string): void;
}

export class OpenTabs {
  readonly #options: OpenTabsOptions;
  readonly #tabs = new Map<string, Tab>();
  #firstIsTaken = false;
  /** Those whose registration is under way. */
  readonly #coming = new Map<Page, Promise<Tab | undefined>>();
  /** Those that were closed because they were one too many. */
  readonly #surplus = new WeakSet<Page>();

  constructor(options: OpenTabsOptions) {
    this.#options = options;
  }

  /** Takes over what is open, and what opens from now on. */
  async takeOver(): Promise<void> {
    const { context } = this.#options;
    if (context === undefined) return;
    context.on("page", (page) => void this.#register(page, false));
    await Promise.all(context.pages().map((page) => this.#register(page, true)));
  }

  #register(page: Page, wasThere: boolean): Promise<Tab | undefined> {
    const under = this.#coming.get(page);
    if (under !== undefined) return under;
    const { log, profile } = this.#options;
    const work = this.#add(page, wasThere)
      .catch((error: unknown) => {
        if (!isGone(error))
          log.warn({ err: error, profile: profile.name }, "a tab could not be taken over");
        return undefined;
      })
      .finally(() => setTimeout(() => this.#coming.delete(page), 0));
    this.#coming.set(page, work);
    return work;
  }

  async #add(page: Page, wasThere: boolean): Promise<Tab | undefined> {
    const { context, memory, profile, onNavigated, overrides } = this.#options;
    if (await this.#isSurplus(page, wasThere)) {
      this.#surplus.add(page);
      await attempt(3000, page.close(), undefined);
      return undefined;
    }
    const cdp = await context!.newCDPSession(page);
    const { targetInfo } = await cdp.send("Target.getTargetInfo");
    const { targetId } = targetInfo;
    const tab = new Tab({
      targetId,
      page,
      cdp,
      refCounter: memory.refs,
      onClose: () => this.#forget(targetId),
      onNavigated: (moved, url) => onNavigated(profile, moved, url),
    });
    if (page.isClosed()) return undefined;
    this.#tabs.set(targetId, tab);
    for (const key of TAB_KEYS) {
      if (overrides()[key] !== undefined)
        await attempt(3000, applyToTab(tab, key, overrides()), undefined);
    }
    return tab;
  }

  /** All tabs, those on their way included; one that waits for its overrides is in both lists. */
  get #count(): number {
    const pages = new Set(this.#coming.keys());
    for (const { page } of this.#tabs.values()) pages.add(page);
    return pages.size;
  }

  /** True for a tab beyond the limit that may be closed: in a browser that others use, only a window of a page. */
  async #isSurplus(page: Page, wasThere: boolean): Promise<boolean> {
    const { attachment, maxTabs, profile } = this.#options;
    if (this.#count < maxTabs()) return false;
    if (attachment.pid !== undefined || attachment.ownContext !== undefined) return true;
    return profile.driver !== "extension" && !wasThere && (await page.opener()) !== null;
  }

  #forget(targetId: string): void {
    const { memory } = this.#options;
    this.#tabs.delete(targetId);
    memory.used = memory.used.filter((id) => id !== targetId);
  }

  /** All that are under control, with what the browser itself says of them: a page that hangs does not matter. */
  async list(): Promise<TabInfo[]> {
    const { cdp, context } = this.#options;
    const { targetInfos } = await within(
      5000,
      "Listing the tabs",
      cdp.send<{ targetInfos: TabInfo[] }>("Target.getTargets"),
    );
    const pages = targetInfos.filter(
      ({ type, url }) => type === "page" && !url.startsWith("devtools://"),
    );
    if (context !== undefined) {
      // A window that has just opened is known to the browser a moment before it is known to us.
      for (let i = 0; i < 20 && pages.some(({ targetId }) => !this.#tabs.has(targetId)); i++) {
        if (this.#coming.size === 0 && i > 2) break;
        await attempt(500, Promise.all([...this.#coming.values(), pause(15)]), undefined);
      }
    }
    const order = [...this.#tabs.keys()];
    return pages
      .filter(({ targetId }) => context === undefined || this.#tabs.has(targetId))
      .sort((a, b) => order.indexOf(a.targetId) - order.indexOf(b.targetId))
      .map(({ targetId, title, url, type }) => ({
        targetId,
        title: sanitizeText(title),
        url,
        type,
      }));
  }

  /** Every tab under the library. */
  get all(): Tab[] {
    return [...this.#tabs.values()];
  }

  find(targetId: string): Tab | undefined {
    return this.#tabs.get(targetId);
  }

  /** The full id for a unique prefix, or of the last used tab. 404 `tab_not_found`. */
  async targetId(given?: string): Promise<string> {
    const { used } = this.#options.memory;
    const known =
      given === undefined
        ? used.findLast((id) => this.#tabs.has(id))
        : this.#tabs.get(given)?.targetId;
    if (known !== undefined) return known;
    const ids = (await this.list()).map(({ targetId }) => targetId);
    if (given === undefined) {
      const last = used.findLast((id) => ids.includes(id)) ?? ids[0];
      if (last !== undefined) return last;
      throw errors.noTabOpen();
    }
    const fitting = ids.filter((id) => id.toLowerCase().startsWith(given.toLowerCase()));
    if (given !== "" && fitting.length === 1) return fitting[0]!;
    const isAmbiguous = given !== "" && fitting.length > 1;
    throw isAmbiguous
      ? errors.severalTabs(
          { count: fitting.length, tab: JSON.stringify(given) },
          { param: "targetId" },
        )
      : errors.unknownTab({ tab: JSON.stringify(given.slice(0, 80)) }, { param: "targetId" });
  }

  /** The tab that a caller means; it is the last used one from now on. 501 without the library. */
  async get(given?: string): Promise<Tab> {
    if (this.#options.context === undefined) throw libraryUnavailable();
    const targetId = await this.targetId(given);
    const tab = this.#tabs.get(targetId);
    if (tab === undefined) throw errors.tabJustClosed();
    this.use(targetId);
    return tab;
  }

  /** It is the last used one from now on. */
  use(targetId: string): void {
    const { memory } = this.#options;
    if (memory.used.at(-1) === targetId) return;
    memory.used = [...memory.used.filter((id) => id !== targetId), targetId];
  }

  /** The empty tab that a browser of our own starts with: for the first who asks, and for nobody after that. */
  takeFirst(): Tab | undefined {
    const [only] = this.#tabs.values();
    if (
      this.#firstIsTaken ||
      this.#options.attachment.pid === undefined ||
      this.#tabs.size !== 1 ||
      only?.url !== "about:blank"
    )
      return undefined;
    this.#firstIsTaken = true;
    this.use(only.targetId);
    return only;
  }

  /** A new empty tab under the library, with the profile's overrides on it. 409 `conflict` where that is one too many. */
  async open(): Promise<Tab> {
    const { context, maxTabs } = this.#options;
    if (context === undefined) throw libraryUnavailable();
    if (this.#count >= maxTabs()) throw this.#tooMany();
    const page = await within(15_000, "Opening a tab", context.newPage());
    const known = this.all.find((tab) => tab.page === page);
    const tab = known ?? (await within(10_000, "Opening a tab", this.#register(page, false)));
    // Another one may have opened at the same time.
    if (tab === undefined && this.#surplus.has(page)) throw this.#tooMany();
    if (tab === undefined) throw errors.newTabClosed();
    this.use(tab.targetId);
    return tab;
  }

  #tooMany(): PorticoError {
    const most = this.#options.maxTabs();
    return errors.tooManyTabs({ most });
  }
}

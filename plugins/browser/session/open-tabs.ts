/**
 * The tabs of a running browser: lists them, selects the one that a caller means, and brings new ones under control.
 */
import type { Logger, PorticoError } from "portico";
import { errors } from "../errors.ts";
import type { CdpSession } from "../drivers/cdp.ts";
import type { Attachment } from "../drivers/attach.ts";
import { attempt, pause, withTimeout } from "../deadline.ts";
import { isGone } from "../failures.ts";
import { type BrowserContext, libraryUnavailableError, type Page } from "../drivers/playwright.ts";
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

/** The data about tabs that survives a crash of the browser. */
export interface TabMemory {
  /** Continues across restarts, so that an old ref can never match a new element. */
  readonly refs: RefCounter;
  /** Target ids, the most recently used last. */
  usedIds: string[];
}

export interface OpenTabsOptions {
  profile: Profile;
  attachment: Attachment;
  /** Sends commands to the browser as a whole. */
  cdp: CdpSession;
  /** Absent without the library; then tabs can only be listed. */
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
  #isFirstTaken = false;
  /** Pages whose registration is in progress. */
  readonly #registrations = new Map<Page, Promise<Tab | undefined>>();
  /** Pages that were closed because they exceeded the limit. */
  readonly #surplusPages = new WeakSet<Page>();

  constructor(options: OpenTabsOptions) {
    this.#options = options;
  }

  /** Brings the open pages under control, and those that open from now on. */
  async adoptPages(): Promise<void> {
    const { context } = this.#options;
    if (context === undefined) return;
    context.on("page", (page) => void this.#register(page, false));
    await Promise.all(context.pages().map((page) => this.#register(page, true)));
  }

  #register(page: Page, isExisting: boolean): Promise<Tab | undefined> {
    const registration = this.#registrations.get(page);
    if (registration !== undefined) return registration;
    const { log, profile } = this.#options;
    const newRegistration = this.#add(page, isExisting)
      .catch((error: unknown) => {
        if (!isGone(error))
          log.warn(
            { err: error, profile: profile.name },
            "the gateway could not take control of a tab",
          );
        return undefined;
      })
      .finally(() => setTimeout(() => this.#registrations.delete(page), 0));
    this.#registrations.set(page, newRegistration);
    return newRegistration;
  }

  async #add(page: Page, isExisting: boolean): Promise<Tab | undefined> {
    const { context, memory, profile, onNavigated, overrides } = this.#options;
    if (await this.#isSurplus(page, isExisting)) {
      this.#surplusPages.add(page);
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
      onNavigated: (navigatedTab, url) => onNavigated(profile, navigatedTab, url),
    });
    if (page.isClosed()) return undefined;
    this.#tabs.set(targetId, tab);
    for (const key of TAB_KEYS) {
      if (overrides()[key] !== undefined)
        await attempt(3000, applyToTab(tab, key, overrides()), undefined);
    }
    return tab;
  }

  /** Counts all tabs, including those being registered; a tab that waits for its overrides is in both collections. */
  get #tabCount(): number {
    const pages = new Set(this.#registrations.keys());
    for (const { page } of this.#tabs.values()) pages.add(page);
    return pages.size;
  }

  /**
   * True for a tab beyond the limit that may be closed. In a browser that others use too, only a window that a page
   * opened may be closed.
   */
  async #isSurplus(page: Page, isExisting: boolean): Promise<boolean> {
    const { attachment, maxTabs, profile } = this.#options;
    if (this.#tabCount < maxTabs()) return false;
    if (attachment.pid !== undefined || attachment.ownContext !== undefined) return true;
    return profile.driver !== "extension" && !isExisting && (await page.opener()) !== null;
  }

  #forget(targetId: string): void {
    const { memory } = this.#options;
    this.#tabs.delete(targetId);
    memory.usedIds = memory.usedIds.filter((id) => id !== targetId);
  }

  /**
   * Lists all tabs under control, with the browser's own data about them, so that a page that hangs does not matter.
   */
  async list(): Promise<TabInfo[]> {
    const { cdp, context } = this.#options;
    const { targetInfos } = await withTimeout(
      5000,
      "Listing the tabs",
      cdp.send<{ targetInfos: TabInfo[] }>("Target.getTargets"),
    );
    const pages = targetInfos.filter(
      ({ type, url }) => type === "page" && !url.startsWith("devtools://"),
    );
    if (context !== undefined) {
      // The browser lists a window that has just opened a moment before we have registered it.
      for (let i = 0; i < 20 && pages.some(({ targetId }) => !this.#tabs.has(targetId)); i++) {
        if (this.#registrations.size === 0 && i > 2) break;
        await attempt(500, Promise.all([...this.#registrations.values(), pause(15)]), undefined);
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

  /** All tabs that are under control of the library. */
  get all(): Tab[] {
    return [...this.#tabs.values()];
  }

  find(targetId: string): Tab | undefined {
    return this.#tabs.get(targetId);
  }

  /** Returns the full id for a unique prefix, or of the last used tab. Rejects with a 404 `tab_not_found`. */
  async targetId(idOrPrefix?: string): Promise<string> {
    const { usedIds } = this.#options.memory;
    const knownId =
      idOrPrefix === undefined
        ? usedIds.findLast((id) => this.#tabs.has(id))
        : this.#tabs.get(idOrPrefix)?.targetId;
    if (knownId !== undefined) return knownId;
    const ids = (await this.list()).map(({ targetId }) => targetId);
    if (idOrPrefix === undefined) {
      const fallbackId = usedIds.findLast((id) => ids.includes(id)) ?? ids[0];
      if (fallbackId !== undefined) return fallbackId;
      throw errors.noTabOpen();
    }
    const matchingIds = ids.filter((id) => id.toLowerCase().startsWith(idOrPrefix.toLowerCase()));
    if (idOrPrefix !== "" && matchingIds.length === 1) return matchingIds[0]!;
    const isAmbiguous = idOrPrefix !== "" && matchingIds.length > 1;
    throw isAmbiguous
      ? errors.severalTabs(
          { count: matchingIds.length, tab: JSON.stringify(idOrPrefix) },
          { param: "targetId" },
        )
      : errors.unknownTab({ tab: JSON.stringify(idOrPrefix.slice(0, 80)) }, { param: "targetId" });
  }

  /** Returns the tab that a caller means, and makes it the last used one. Rejects with a 501 without the library. */
  async get(idOrPrefix?: string): Promise<Tab> {
    if (this.#options.context === undefined) throw libraryUnavailableError();
    const targetId = await this.targetId(idOrPrefix);
    const tab = this.#tabs.get(targetId);
    if (tab === undefined) throw errors.tabJustClosed();
    this.markUsed(targetId);
    return tab;
  }

  /** Makes a tab the last used one. */
  markUsed(targetId: string): void {
    const { memory } = this.#options;
    if (memory.usedIds.at(-1) === targetId) return;
    memory.usedIds = [...memory.usedIds.filter((id) => id !== targetId), targetId];
  }

  /** Returns the empty tab that a browser of our own starts with to the first caller, and `undefined` after that. */
  claimFirstTab(): Tab | undefined {
    const [only] = this.#tabs.values();
    if (
      this.#isFirstTaken ||
      this.#options.attachment.pid === undefined ||
      this.#tabs.size !== 1 ||
      only?.url !== "about:blank"
    )
      return undefined;
    this.#isFirstTaken = true;
    this.markUsed(only.targetId);
    return only;
  }

  /** Opens an empty tab with the profile's overrides. Rejects with a 409 `conflict` if that exceeds the limit. */
  async open(): Promise<Tab> {
    const { context, maxTabs } = this.#options;
    if (context === undefined) throw libraryUnavailableError();
    if (this.#tabCount >= maxTabs()) throw this.#tooManyTabsError();
    const page = await withTimeout(15_000, "Opening a tab", context.newPage());
    const existingTab = this.all.find((tab) => tab.page === page);
    const tab =
      existingTab ?? (await withTimeout(10_000, "Opening a tab", this.#register(page, false)));
    // Another tab may have opened at the same time.
    if (tab === undefined && this.#surplusPages.has(page)) throw this.#tooManyTabsError();
    if (tab === undefined) throw errors.newTabClosed();
    this.markUsed(tab.targetId);
    return tab;
  }

  #tooManyTabsError(): PorticoError {
    const maxTabs = this.#options.maxTabs();
    return errors.tooManyTabs({ most: maxTabs });
  }
}

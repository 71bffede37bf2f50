/**
 * Serves the one DevTools client of the relay. The user's browser allows a single debugging session per tab; this class
 * presents them as a whole browser: a root session, one session for each tab, and further sessions (aliases) that share
 * a tab's.
 */
import { randomUUID } from "node:crypto";
import { MAX_MESSAGE_BYTES } from "../drivers/cdp.ts";
import { checkMessage } from "../drivers/debugging/rules.ts";
import { closeSocket, readMessages, type WebSocket } from "../net/web-socket.ts";
import type { AttachedTab, Hello } from "./link.ts";

/** The operations of the relay that the client uses. */
export interface RelayTabs {
  allTabs(): AttachedTab[];
  browser(): Hello;
  /** Fetches the current titles and addresses from the browser. */
  refresh(): Promise<AttachedTab[]>;
  open(): Promise<AttachedTab>;
  close(tab: AttachedTab): Promise<unknown>;
  focus(tab: AttachedTab): Promise<unknown>;
  command(
    tab: AttachedTab,
    sessionId: string | undefined,
    method: string,
    params: object,
  ): Promise<unknown>;
}

interface Request {
  id: number;
  method: string;
  params?: Record<string, unknown>;
  sessionId?: string;
}

interface Alias {
  tabId: number;
  /** The domains enabled in this session. It receives only their events. */
  domains: Set<string>;
}

/** The browser context id of the user's own profile. The library ignores targets without one. */
const BROWSER_CONTEXT_ID = "portico-relay";
const BROWSER_TARGET_ID = "portico-relay-browser";
/** Commands that the browser does not accept from an extension. They are reported as successful, which does no harm. */
const IGNORED_METHODS = new Set([
  "Target.setDiscoverTargets",
  "Browser.setDownloadBehavior",
  "Page.setDownloadBehavior",
  // The browser asks its user instead.
  "Browser.grantPermissions",
  "Browser.resetPermissions",
]);

const domainOf = (method: string): string => method.slice(0, method.indexOf("."));

export class CdpClient {
  readonly #socket: WebSocket;
  readonly #tabs: RelayTabs;
  /** Maps a tab id to the tab's session and to the attachment that the session belongs to. */
  readonly #tabSessions = new Map<number, { sessionId: string; tab: AttachedTab }>();
  readonly #aliases = new Map<string, Alias>();
  readonly #browserSessions = new Set<string>();
  /** Maps the browser's session ids of frames and workers to the ids of their tabs. */
  readonly #childSessions = new Map<string, number>();
  /** Buffers the events of sessions whose requested frame tree has not arrived yet. */
  readonly #bufferedEvents = new Map<string, { method: string; params: object }[]>();
  #isAutoAttaching = false;

  constructor(socket: WebSocket, tabs: RelayTabs) {
    this.#socket = socket;
    this.#tabs = tabs;
    readMessages(socket, {
      json: (message) => {
        const request = message as Request;
        if (typeof request.method !== "string") throw new TypeError("not a request");
        void this.#handleRequest(request);
      },
    });
  }

  /** Announces a tab. If its debugger was attached again, the old session ends and a new one begins. */
  announceTab(tab: AttachedTab): void {
    const entry = this.#tabSessions.get(tab.tabId);
    if (entry?.tab.attachment === tab.attachment) {
      entry.tab = tab;
      return;
    }
    if (entry !== undefined) this.announceDetached(tab.tabId);
    if (!this.#isAutoAttaching) return;
    const sessionId = `tab-${tab.tabId}-${randomUUID().slice(0, 8)}`;
    this.#tabSessions.set(tab.tabId, { sessionId, tab });
    this.#sendEvent(undefined, "Target.attachedToTarget", {
      sessionId,
      targetInfo: this.#targetInfo(tab),
      waitingForDebugger: false,
    });
    // A background tab does not render, so actions would wait for it forever.
    const focus = this.#tabs.command(tab, undefined, "Emulation.setFocusEmulationEnabled", {
      enabled: true,
    });
    focus.catch(() => {});
  }

  announceDetached(tabId: number): void {
    const entry = this.#tabSessions.get(tabId);
    if (entry === undefined) return;
    this.#tabSessions.delete(tabId);
    for (const [session, alias] of this.#aliases)
      if (alias.tabId === tabId) this.#aliases.delete(session);
    for (const [session, owner] of this.#childSessions)
      if (owner === tabId) this.#childSessions.delete(session);
    const { sessionId, tab } = entry;
    this.#sendEvent(undefined, "Target.detachedFromTarget", { sessionId, targetId: tab.targetId });
  }

  /** Forwards an event of a tab, or of a frame or worker in it (`child` is its session). */
  forwardEvent(
    tabId: number,
    child: string | undefined,
    method: string,
    params: Record<string, unknown>,
  ): void {
    if (method === "Target.attachedToTarget")
      this.#childSessions.set(String(params["sessionId"]), tabId);
    if (method === "Target.detachedFromTarget")
      this.#childSessions.delete(String(params["sessionId"]));
    const sessionId = child ?? this.#tabSessions.get(tabId)?.sessionId;
    const events = sessionId === undefined ? undefined : this.#bufferedEvents.get(sessionId);
    if (events !== undefined) events.push({ method, params });
    else if (sessionId !== undefined) this.#sendEvent(sessionId, method, params);
    if (child !== undefined) return;
    for (const [session, alias] of this.#aliases) {
      if (alias.tabId === tabId && alias.domains.has(domainOf(method)))
        this.#sendEvent(session, method, params);
    }
  }

  close(reason: string): void {
    closeSocket(this.#socket, 1001, reason);
  }

  async #handleRequest({ id, method, params = {}, sessionId }: Request): Promise<void> {
    let response: object;
    // Events of the extension can overtake responses, and the library drops events of frames that it does not know yet.
    const isBuffering =
      method === "Page.getFrameTree" &&
      sessionId !== undefined &&
      !this.#bufferedEvents.has(sessionId);
    if (isBuffering) this.#bufferedEvents.set(sessionId, []);
    try {
      const error = checkMessage(id, method, params);
      response =
        error === undefined
          ? { result: (await this.#execute(method, params, sessionId)) ?? {} }
          : { error };
    } catch (error) {
      response = { error: { code: -32000, message: (error as Error).message } };
    }
    this.#send({ id, ...response, sessionId });
    if (!isBuffering) return;
    const events = this.#bufferedEvents.get(sessionId) ?? [];
    this.#bufferedEvents.delete(sessionId);
    for (const event of events) this.#sendEvent(sessionId, event.method, event.params);
  }

  async #execute(
    method: string,
    params: Record<string, unknown>,
    sessionId: string | undefined,
  ): Promise<unknown> {
    if (method === "Browser.getVersion") return this.#version();
    if (IGNORED_METHODS.has(method)) return {};
    if (sessionId === undefined || this.#browserSessions.has(sessionId))
      return this.#executeOnBrowser(method, params);
    const alias = this.#aliases.get(sessionId);
    if (alias !== undefined) return this.#executeOnAlias(alias, sessionId, method, params);
    const child = this.#childSessions.get(sessionId);
    if (child !== undefined)
      return this.#tabs.command(this.#findTab(child), sessionId, method, params);
    for (const { sessionId: tabSessionId, tab } of this.#tabSessions.values()) {
      if (tabSessionId === sessionId) return this.#executeOnTab(tab, method, params);
    }
    throw new Error("Session with given id not found.");
  }

  #executeOnTab(tab: AttachedTab, method: string, params: Record<string, unknown>): unknown {
    if (method === "Target.getTargetInfo") return { targetInfo: this.#targetInfo(tab) };
    return this.#tabs.command(tab, undefined, method, params);
  }

  #executeOnAlias(
    alias: Alias,
    sessionId: string,
    method: string,
    params: Record<string, unknown>,
  ): unknown {
    const domain = domainOf(method);
    if (method === "Target.detachFromTarget") return void this.#aliases.delete(sessionId);
    if (method.endsWith(".enable")) alias.domains.add(domain);
    // The tab's own session may still need the domain.
    if (method.endsWith(".disable")) return void alias.domains.delete(domain);
    return this.#executeOnTab(this.#findTab(alias.tabId), method, params);
  }

  async #executeOnBrowser(method: string, params: Record<string, unknown>): Promise<unknown> {
    switch (method) {
      case "Target.setAutoAttach":
        this.#isAutoAttaching = params["autoAttach"] === true;
        for (const tab of this.#tabs.allTabs()) this.announceTab(tab);
        return {};
      case "Target.getTargets":
        return { targetInfos: (await this.#tabs.refresh()).map((tab) => this.#targetInfo(tab)) };
      case "Target.getTargetInfo":
        return {
          targetInfo:
            params["targetId"] === undefined
              ? BROWSER_TARGET_INFO
              : this.#targetInfo(this.#findTarget(params)),
        };
      case "Target.attachToBrowserTarget": {
        const sessionId = `browser-${randomUUID()}`;
        this.#browserSessions.add(sessionId);
        return { sessionId };
      }
      case "Target.attachToTarget": {
        const sessionId = `alias-${randomUUID()}`;
        this.#aliases.set(sessionId, { tabId: this.#findTarget(params).tabId, domains: new Set() });
        return { sessionId };
      }
      case "Target.detachFromTarget": {
        const session = String(params["sessionId"]);
        this.#aliases.delete(session);
        this.#browserSessions.delete(session);
        return {};
      }
      case "Target.createTarget": {
        const tab = await this.#tabs.open();
        const url = String(params["url"] ?? "about:blank");
        if (url !== "about:blank")
          await this.#tabs.command(tab, undefined, "Page.navigate", { url });
        return { targetId: tab.targetId };
      }
      case "Target.closeTarget":
        await this.#tabs.close(this.#findTarget(params));
        return { success: true };
      case "Target.activateTarget":
        await this.#tabs.focus(this.#findTarget(params));
        return {};
    }
    if (domainOf(method) === "Storage") return this.#executeStorageCommand(method, params);
    throw new Error(
      `${method} is not possible in a person's own browser, which is controlled through the extension.`,
    );
  }

  /** Sends a storage command to any tab: cookies belong to the whole browser. */
  #executeStorageCommand(method: string, params: Record<string, unknown>): unknown {
    const tab = this.#tabs.allTabs()[0];
    if (tab === undefined) throw new Error("No tab is attached.");
    const { browserContextId: _ours, ...rest } = params;
    return this.#tabs.command(tab, undefined, method, rest);
  }

  #findTab(tabId: number): AttachedTab {
    const tab = this.#tabs.allTabs().find((candidate) => candidate.tabId === tabId);
    if (tab === undefined) throw new Error("Target closed");
    return tab;
  }

  #findTarget(params: Record<string, unknown>): AttachedTab {
    const tab = this.#tabs.allTabs().find(({ targetId }) => targetId === params["targetId"]);
    if (tab === undefined) throw new Error("No target with given id found");
    return tab;
  }

  #targetInfo(tab: AttachedTab): object {
    const { targetId, title, url } = tab;
    return {
      targetId,
      type: "page",
      title,
      url,
      attached: true,
      canAccessOpener: false,
      browserContextId: BROWSER_CONTEXT_ID,
    };
  }

  #version(): object {
    const { userAgent } = this.#tabs.browser();
    const product = /(?:Headless)?Chrome\/[\d.]+/.exec(userAgent)?.[0] ?? "Chrome/0";
    return { protocolVersion: "1.3", product, revision: "", userAgent, jsVersion: "" };
  }

  #sendEvent(sessionId: string | undefined, method: string, params: object): void {
    this.#send({ method, params, sessionId });
  }

  /** Disconnects a client that does not read before the buffered messages fill the memory. */
  #send(message: object): void {
    if (this.#socket.bufferedAmount > MAX_MESSAGE_BYTES) this.#socket.terminate();
    else if (this.#socket.readyState === this.#socket.OPEN)
      this.#socket.send(JSON.stringify(message));
  }
}

const BROWSER_TARGET_INFO = {
  targetId: BROWSER_TARGET_ID,
  type: "browser",
  title: "",
  url: "",
  attached: true,
  canAccessOpener: false,
};

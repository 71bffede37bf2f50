/**
 * The one DevTools client of the relay. A tab has a single debugging session in the person's browser; this makes a
 * whole browser of it: a root session, one session for each tab, and further ones (aliases) that share a tab's.
 */
import { randomUUID } from "node:crypto";
import { MAX_MESSAGE_BYTES } from "../drivers/cdp.ts";
import { refusalOf } from "../drivers/debugging/rules.ts";
import { closeSocket, readMessages, type WebSocket } from "../net/web-socket.ts";
import type { AttachedTab, Hello } from "./link.ts";

/** What the client needs of the relay. */
export interface Tabs {
  all(): AttachedTab[];
  browser(): Hello;
  /** Titles and addresses as the browser has them now. */
  fresh(): Promise<AttachedTab[]>;
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
  /** Domains that were enabled here: only their events are wanted. */
  domains: Set<string>;
}

/** One name for the person's own profile; the library skips targets without one. */
const CONTEXT = "portico-relay";
const BROWSER_TARGET = "portico-relay-browser";
/** Commands that the person's browser does not take from an extension, and that do no harm when they count as done. */
const IGNORED = new Set([
  "Target.setDiscoverTargets",
  "Browser.setDownloadBehavior",
  "Page.setDownloadBehavior",
  // The browser asks the person instead.
  "Browser.grantPermissions",
  "Browser.resetPermissions",
]);

const domainOf = (method: string): string => method.slice(0, method.indexOf("."));

export class CdpClient {
  readonly #socket: WebSocket;
  readonly #tabs: Tabs;
  /** tabId → the tab's session and the attachment that it is of. */
  readonly #main = new Map<number, { sessionId: string; tab: AttachedTab }>();
  readonly #aliases = new Map<string, Alias>();
  readonly #browserSessions = new Set<string>();
  /** Sessions of frames and workers, which the person's browser has named. */
  readonly #children = new Map<string, number>();
  /** Events of sessions whose frame tree was requested and has not arrived yet. */
  readonly #held = new Map<string, { method: string; params: object }[]>();
  #attaching = false;

  constructor(socket: WebSocket, tabs: Tabs) {
    this.#socket = socket;
    this.#tabs = tabs;
    readMessages(socket, {
      json: (message) => {
        const request = message as Request;
        if (typeof request.method !== "string") throw new TypeError("not a request");
        void this.#take(request);
      },
    });
  }

  /** A tab came, or came back with a new debugger: then it is another session. */
  attached(tab: AttachedTab): void {
    const known = this.#main.get(tab.tabId);
    if (known?.tab.attachment === tab.attachment) {
      known.tab = tab;
      return;
    }
    if (known !== undefined) this.detached(tab.tabId);
    if (!this.#attaching) return;
    const sessionId = `tab-${tab.tabId}-${randomUUID().slice(0, 8)}`;
    this.#main.set(tab.tabId, { sessionId, tab });
    this.#event(undefined, "Target.attachedToTarget", {
      sessionId,
      targetInfo: this.#info(tab),
      waitingForDebugger: false,
    });
    // A tab behind others draws nothing, and actions would wait for it for ever.
    const focus = this.#tabs.command(tab, undefined, "Emulation.setFocusEmulationEnabled", {
      enabled: true,
    });
    focus.catch(() => {});
  }

  detached(tabId: number): void {
    const known = this.#main.get(tabId);
    if (known === undefined) return;
    this.#main.delete(tabId);
    for (const [session, alias] of this.#aliases)
      if (alias.tabId === tabId) this.#aliases.delete(session);
    for (const [session, owner] of this.#children)
      if (owner === tabId) this.#children.delete(session);
    const { sessionId, tab } = known;
    this.#event(undefined, "Target.detachedFromTarget", { sessionId, targetId: tab.targetId });
  }

  /** Something happened in a tab, or in a frame or worker of it. */
  happened(
    tabId: number,
    child: string | undefined,
    method: string,
    params: Record<string, unknown>,
  ): void {
    if (method === "Target.attachedToTarget")
      this.#children.set(String(params["sessionId"]), tabId);
    if (method === "Target.detachedFromTarget") this.#children.delete(String(params["sessionId"]));
    const own = child ?? this.#main.get(tabId)?.sessionId;
    const events = own === undefined ? undefined : this.#held.get(own);
    if (events !== undefined) events.push({ method, params });
    else if (own !== undefined) this.#event(own, method, params);
    if (child !== undefined) return;
    for (const [session, alias] of this.#aliases) {
      if (alias.tabId === tabId && alias.domains.has(domainOf(method)))
        this.#event(session, method, params);
    }
  }

  close(reason: string): void {
    closeSocket(this.#socket, 1001, reason);
  }

  async #take({ id, method, params = {}, sessionId }: Request): Promise<void> {
    let answer: object;
    // In the extension, events can overtake answers. The library drops what it hears of frames that it does not know.
    const holding =
      method === "Page.getFrameTree" && sessionId !== undefined && !this.#held.has(sessionId);
    if (holding) this.#held.set(sessionId, []);
    try {
      const error = refusalOf(id, method, params);
      answer =
        error === undefined
          ? { result: (await this.#run(method, params, sessionId)) ?? {} }
          : { error };
    } catch (error) {
      answer = { error: { code: -32000, message: (error as Error).message } };
    }
    this.#send({ id, ...answer, sessionId });
    if (!holding) return;
    const events = this.#held.get(sessionId) ?? [];
    this.#held.delete(sessionId);
    for (const event of events) this.#event(sessionId, event.method, event.params);
  }

  async #run(
    method: string,
    params: Record<string, unknown>,
    sessionId: string | undefined,
  ): Promise<unknown> {
    if (method === "Browser.getVersion") return this.#version();
    if (IGNORED.has(method)) return {};
    if (sessionId === undefined || this.#browserSessions.has(sessionId))
      return this.#onBrowser(method, params);
    const alias = this.#aliases.get(sessionId);
    if (alias !== undefined) return this.#onAlias(alias, sessionId, method, params);
    const child = this.#children.get(sessionId);
    if (child !== undefined) return this.#tabs.command(this.#tab(child), sessionId, method, params);
    for (const { sessionId: own, tab } of this.#main.values()) {
      if (own === sessionId) return this.#onTab(tab, method, params);
    }
    throw new Error("Session with given id not found.");
  }

  #onTab(tab: AttachedTab, method: string, params: Record<string, unknown>): unknown {
    if (method === "Target.getTargetInfo") return { targetInfo: this.#info(tab) };
    return this.#tabs.command(tab, undefined, method, params);
  }

  #onAlias(
    alias: Alias,
    sessionId: string,
    method: string,
    params: Record<string, unknown>,
  ): unknown {
    const domain = domainOf(method);
    if (method === "Target.detachFromTarget") return void this.#aliases.delete(sessionId);
    if (method.endsWith(".enable")) alias.domains.add(domain);
    // The tab's own session may still want the domain.
    if (method.endsWith(".disable")) return void alias.domains.delete(domain);
    return this.#onTab(this.#tab(alias.tabId), method, params);
  }

  async #onBrowser(method: string, params: Record<string, unknown>): Promise<unknown> {
    switch (method) {
      case "Target.setAutoAttach":
        this.#attaching = params["autoAttach"] === true;
        for (const tab of this.#tabs.all()) this.attached(tab);
        return {};
      case "Target.getTargets":
        return { targetInfos: (await this.#tabs.fresh()).map((tab) => this.#info(tab)) };
      case "Target.getTargetInfo":
        return {
          targetInfo: params["targetId"] === undefined ? BROWSER : this.#info(this.#target(params)),
        };
      case "Target.attachToBrowserTarget": {
        const sessionId = `browser-${randomUUID()}`;
        this.#browserSessions.add(sessionId);
        return { sessionId };
      }
      case "Target.attachToTarget": {
        const sessionId = `alias-${randomUUID()}`;
        this.#aliases.set(sessionId, { tabId: this.#target(params).tabId, domains: new Set() });
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
        await this.#tabs.close(this.#target(params));
        return { success: true };
      case "Target.activateTarget":
        await this.#tabs.focus(this.#target(params));
        return {};
    }
    if (domainOf(method) === "Storage") return this.#storage(method, params);
    throw new Error(`${method} is not possible in a person's own browser, through its extension.`);
  }

  /** Cookies are the browser's, and any of its tabs can speak of them. */
  #storage(method: string, params: Record<string, unknown>): unknown {
    const tab = this.#tabs.all()[0];
    if (tab === undefined) throw new Error("No tab is attached.");
    const { browserContextId: _ours, ...rest } = params;
    return this.#tabs.command(tab, undefined, method, rest);
  }

  #tab(tabId: number): AttachedTab {
    const tab = this.#tabs.all().find((one) => one.tabId === tabId);
    if (tab === undefined) throw new Error("Target closed");
    return tab;
  }

  #target(params: Record<string, unknown>): AttachedTab {
    const tab = this.#tabs.all().find(({ targetId }) => targetId === params["targetId"]);
    if (tab === undefined) throw new Error("No target with given id found");
    return tab;
  }

  #info(tab: AttachedTab): object {
    const { targetId, title, url } = tab;
    return {
      targetId,
      type: "page",
      title,
      url,
      attached: true,
      canAccessOpener: false,
      browserContextId: CONTEXT,
    };
  }

  #version(): object {
    const { userAgent } = this.#tabs.browser();
    const product = /(?:Headless)?Chrome\/[\d.]+/.exec(userAgent)?.[0] ?? "Chrome/0";
    return { protocolVersion: "1.3", product, revision: "", userAgent, jsVersion: "" };
  }

  #event(sessionId: string | undefined, method: string, params: object): void {
    this.#send({ method, params, sessionId });
  }

  /** A client that does not read is cut off before what it asked for fills the memory. */
  #send(message: object): void {
    if (this.#socket.bufferedAmount > MAX_MESSAGE_BYTES) this.#socket.terminate();
    else if (this.#socket.readyState === this.#socket.OPEN)
      this.#socket.send(JSON.stringify(message));
  }
}

const BROWSER = {
  targetId: BROWSER_TARGET,
  type: "browser",
  title: "",
  url: "",
  attached: true,
  canAccessOpener: false,
};

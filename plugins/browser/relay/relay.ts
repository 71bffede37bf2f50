/** What the relay knows: the extension (or that it is away for a moment), the attached tabs, and the one client. */
import type { Logger } from "portico";
import { errors } from "../errors.ts";
import { closeSocket, type WebSocket } from "../net/web-socket.ts";
import { Absence, type AwayMs } from "./absence.ts";
import { CdpClient, type Tabs } from "./client.ts";
import {
  type Ask,
  type AttachedTab,
  type ExtensionEvent,
  checkTab,
  checkTabs,
  ExtensionLink,
  type Hello,
  NotTaken,
} from "./link.ts";

/** The last tab may be about to come back (a navigation can throw the debugger out). */
const EMPTY_MS = 1_000;

export class Relay implements Tabs {
  readonly #log: Logger;
  readonly #tabs = new Map<number, AttachedTab>();
  /** Tabs on which a client may have left something (overrides, interceptions). */
  readonly #used = new Set<number>();
  #link: ExtensionLink | undefined;
  /** It has said hello: before that it is asked for nothing. */
  #greeted = false;
  #instance = "";
  #hello: Hello | undefined;
  #client: CdpClient | undefined;
  #clientComing = false;
  /** The client that waits until the tabs are clean. */
  #waiting: WebSocket | undefined;
  #cleaning: Promise<unknown> = Promise.resolve();
  readonly #absence: Absence;
  #empty: NodeJS.Timeout | undefined;
  #clicks = 0;

  constructor(log: Logger, awayMs?: AwayMs) {
    this.#log = log;
    this.#absence = new Absence(() => {
      log.info("the extension did not reconnect: its tabs are no longer available");
      for (const tabId of [...this.#tabs.keys()]) this.#forget(tabId);
    }, awayMs);
  }

  get connected(): boolean {
    return this.#link !== undefined;
  }

  /** Goes up with every tab that is handed over. */
  get clicks(): number {
    return this.#clicks;
  }

  /** Those of an extension that is away for a moment included. */
  all(): AttachedTab[] {
    return [...this.#tabs.values()];
  }

  /** Those that are known to be there. */
  present(): AttachedTab[] {
    return this.#greeted ? this.all() : [];
  }

  browser(): Hello {
    return this.#hello ?? { version: "", userAgent: "", tabs: [] };
  }

  /** 409 where another browser's extension is connected already. */
  checkExtension(instance: string): void {
    if (!this.#isTaken(instance)) return;
    throw errors.otherExtension();
  }

  #isTaken(instance: string): boolean {
    return this.#link !== undefined && (instance === "" || instance !== this.#instance);
  }

  /** A page of the connected extension's says that its browser runs. */
  takePresence(socket: WebSocket): void {
    this.#absence.takePresence(socket);
  }

  takeExtension(socket: WebSocket, instance: string): void {
    // Another one may have come since this one was checked.
    if (this.#isTaken(instance)) {
      closeSocket(socket, 4409, "Another browser's extension is connected.");
      return;
    }
    // The same browser again: its old worker has died, whether or not its socket has noticed.
    this.#link?.close(4409, "The extension has connected again.");
    const link = new ExtensionLink(socket, {
      onEvent: (event) => {
        if (this.#link === link) this.#happened(event);
      },
      onClose: () => {
        if (this.#link === link) this.#lost();
      },
    });
    this.#link = link;
    this.#instance = instance;
    this.#absent();
  }

  #lost(): void {
    this.#link = undefined;
    this.#absent();
  }

  /** Until it has said hello, which it does soon or not at all. */
  #absent(): void {
    this.#greeted = false;
    if (this.#tabs.size === 0) return;
    this.#log.debug("the extension has disconnected");
    this.#absence.begin();
  }

  #happened(event: ExtensionEvent): void {
    if (event.event === "hello") this.#greet(event);
    else if (event.event === "attached") this.#add(event.tab);
    else if (event.event === "detached") this.#forget(event.tabId);
    else this.#inTab(event.tabId, event.sessionId, event.method, event.params ?? {});
  }

  #greet(hello: Hello): void {
    const still = new Set(hello.tabs.map(({ tabId }) => tabId));
    this.#hello = hello;
    this.#greeted = true;
    for (const tabId of [...this.#tabs.keys()]) if (!still.has(tabId)) this.#forget(tabId);
    for (const tab of hello.tabs) {
      // A gateway that was restarted does not know what the one before it has left there.
      if (!this.#tabs.has(tab.tabId)) this.#used.add(tab.tabId);
      this.#add(tab);
    }
    this.#absence.over();
    if (this.#client === undefined) this.#clean();
  }

  #add(tab: AttachedTab): void {
    const known = this.#tabs.get(tab.tabId);
    if (known === undefined) {
      this.#clicks += 1;
      this.#log.info({ tabs: this.#tabs.size + 1 }, "a tab was attached to the relay");
    }
    if (known?.attachment !== tab.attachment && known !== undefined) this.#used.delete(tab.tabId);
    clearTimeout(this.#empty);
    this.#tabs.set(tab.tabId, tab);
    this.#client?.attached(tab);
  }

  #forget(tabId: number): void {
    if (!this.#tabs.delete(tabId)) return;
    this.#used.delete(tabId);
    this.#log.info({ tabs: this.#tabs.size }, "a tab was detached from the relay");
    this.#client?.detached(tabId);
    if (this.#tabs.size > 0) return;
    clearTimeout(this.#empty);
    this.#empty = setTimeout(
      () => this.#client?.close(errors.nothingAttached().message.slice(0, 120)),
      EMPTY_MS,
    ).unref();
  }

  #inTab(
    tabId: number,
    sessionId: string | undefined,
    method: string,
    params: Record<string, unknown>,
  ): void {
    const tab = this.#tabs.get(tabId);
    if (tab === undefined) return;
    const { frame } = params as { frame?: { id: string; parentId?: string; url: string } };
    if (
      method === "Page.frameNavigated" &&
      frame?.parentId === undefined &&
      frame?.id === tab.targetId
    )
      tab.url = frame.url;
    this.#client?.happened(tabId, sessionId, method, params);
  }

  /** Asks the extension; waits for it where it is away for a moment, and asks again what it had not taken. */
  async #ask<T>(request: Ask): Promise<T> {
    for (;;) {
      await this.settled();
      const link = this.#greeted ? this.#link : undefined;
      if (link === undefined) throw new Error("Target closed: the extension is not connected.");
      try {
        return await link.ask<T>(request);
      } catch (error) {
        if (!(error instanceof NotTaken)) throw error;
        if (this.#link === link) this.#lost();
      }
    }
  }

  /** Its browser may have exited, or only its worker. */
  get isAway(): boolean {
    return this.#absence.isOn;
  }

  /** Waits while the extension is disconnected, until it is back or its tabs are given up. */
  settled(): Promise<void> {
    return this.#absence.ended();
  }

  async fresh(): Promise<AttachedTab[]> {
    if (this.#tabs.size === 0) return [];
    const told = checkTabs.parse(await this.#ask({ ask: "list" }));
    for (const one of told) {
      const known = one === null ? undefined : this.#tabs.get(one.tabId);
      if (known !== undefined && one !== null)
        Object.assign(known, { title: one.title, url: one.url });
    }
    return this.all();
  }

  async open(): Promise<AttachedTab> {
    const tab = checkTab.parse(await this.#ask({ ask: "open" }));
    this.#add(tab);
    return this.#tabs.get(tab.tabId) ?? tab;
  }

  async close({ tabId }: AttachedTab): Promise<void> {
    await this.#ask({ ask: "close", tabId });
    this.#forget(tabId);
  }

  focus({ tabId }: AttachedTab): Promise<unknown> {
    return this.#ask({ ask: "focus", tabId });
  }

  command(
    { tabId }: AttachedTab,
    sessionId: string | undefined,
    method: string,
    params: object,
  ): Promise<unknown> {
    this.#used.add(tabId);
    return this.#ask({ ask: "command", tabId, method, params, sessionId });
  }

  /** 409 where no tab is attached, or another client controls them. Keeps the place for the one that comes now. */
  reserveClient(): () => void {
    if (this.#client !== undefined || this.#clientComing) {
      throw errors.otherClient();
    }
    if (this.#tabs.size === 0) throw errors.nothingAttached();
    this.#clientComing = true;
    return () => (this.#clientComing = false);
  }

  async takeClient(socket: WebSocket): Promise<void> {
    const early: string[] = [];
    const keep = (data: unknown): void => void early.push(String(data));
    socket.on("message", keep);
    this.#waiting = socket;
    this.#clean();
    await this.#cleaning;
    this.#waiting = undefined;
    socket.off("message", keep);
    this.#clientComing = false;
    if (socket.readyState !== socket.OPEN) return;
    const client = new CdpClient(socket, this);
    this.#client = client;
    socket.once("close", () => {
      if (this.#client !== client) return;
      this.#client = undefined;
      this.#clean();
    });
    for (const text of early) socket.emit("message", text);
  }

  /** Takes away what a client has left on the tabs, so that the person gets them back as they were. */
  #clean(): void {
    const tabs = this.all().filter(({ tabId }) => this.#used.has(tabId));
    this.#cleaning = this.#cleaning.then(() =>
      Promise.allSettled(tabs.map((tab) => this.#cleanTab(tab))),
    );
  }

  async #cleanTab({ tabId }: AttachedTab): Promise<void> {
    const fresh = checkTab.parse(await this.#ask({ ask: "reset", tabId }));
    this.#used.delete(tabId);
    this.#add(fresh);
  }

  /** Settles when the tabs are as the last client found them. */
  async idle(): Promise<void> {
    await this.#cleaning;
  }

  get hasClient(): boolean {
    return this.#client !== undefined || this.#clientComing;
  }

  /** Ends both connections: the gateway stops, or its secret has changed. */
  end(reason: string): void {
    clearTimeout(this.#empty);
    this.#absence.leave(reason);
    if (this.#waiting !== undefined) closeSocket(this.#waiting, 1001, reason);
    this.#client?.close(reason);
    this.#link?.close(1001, reason);
  }
}

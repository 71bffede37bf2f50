/** The state of the relay: the extension (or that it is away for a moment), the attached tabs, and the one client. */
import type { Logger } from "portico";
import { errors } from "../errors.ts";
import { closeSocket, type WebSocket } from "../net/web-socket.ts";
import { Absence, type AwayMs } from "./absence.ts";
import { CdpClient, type RelayTabs } from "./client.ts";
import {
  type ExtensionRequest,
  type AttachedTab,
  type ExtensionEvent,
  checkTab,
  checkTabs,
  ExtensionLink,
  type Hello,
  NotAcceptedError,
} from "./link.ts";

/**
 * The delay in ms before the client is closed after the last tab: a navigation can detach the debugger for a moment.
 */
const NO_TABS_DELAY_MS = 1_000;

export class Relay implements RelayTabs {
  readonly #log: Logger;
  readonly #tabs = new Map<number, AttachedTab>();
  /** Tabs on which a client may have left overrides or interceptions. */
  readonly #changedTabs = new Set<number>();
  #link: ExtensionLink | undefined;
  /** True once the extension has sent its hello; no requests are sent before that. */
  #hasHello = false;
  #instance = "";
  #hello: Hello | undefined;
  #client: CdpClient | undefined;
  #isClientReserved = false;
  /** The socket of a client that waits until the tabs are clean. */
  #waitingClient: WebSocket | undefined;
  #cleaning: Promise<unknown> = Promise.resolve();
  readonly #absence: Absence;
  #noTabsTimer: NodeJS.Timeout | undefined;
  #attachCount = 0;

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

  /** The number of tabs that have been attached so far. */
  get attachCount(): number {
    return this.#attachCount;
  }

  /** Returns all tabs, including those of an extension that is away for a moment. */
  allTabs(): AttachedTab[] {
    return [...this.#tabs.values()];
  }

  /** Returns the attached tabs, or none while the extension is away. */
  availableTabs(): AttachedTab[] {
    return this.#hasHello ? this.allTabs() : [];
  }

  browser(): Hello {
    return this.#hello ?? { version: "", userAgent: "", tabs: [] };
  }

  /** Throws a 409 if another browser's extension is connected. */
  checkExtension(instance: string): void {
    if (!this.#isOtherExtension(instance)) return;
    throw errors.otherExtension();
  }

  #isOtherExtension(instance: string): boolean {
    return this.#link !== undefined && (instance === "" || instance !== this.#instance);
  }

  /** Adopts the socket by which a page of the extension shows that its browser runs. */
  adoptPresence(socket: WebSocket): void {
    this.#absence.adoptPresence(socket);
  }

  adoptExtension(socket: WebSocket, instance: string): void {
    // Another extension may have connected since `checkExtension`.
    if (this.#isOtherExtension(instance)) {
      closeSocket(socket, 4409, "Another browser's extension is connected.");
      return;
    }
    // The same browser reconnects: its old worker has died, even if its socket does not show that yet.
    this.#link?.close(4409, "The extension has connected again.");
    const link = new ExtensionLink(socket, {
      onEvent: (event) => {
        if (this.#link === link) this.#handleEvent(event);
      },
      onClose: () => {
        if (this.#link === link) this.#handleDisconnect();
      },
    });
    this.#link = link;
    this.#instance = instance;
    this.#markAway();
  }

  #handleDisconnect(): void {
    this.#link = undefined;
    this.#markAway();
  }

  /** Marks the extension as away until its hello arrives. */
  #markAway(): void {
    this.#hasHello = false;
    if (this.#tabs.size === 0) return;
    this.#log.debug("the extension has disconnected");
    this.#absence.begin();
  }

  #handleEvent(event: ExtensionEvent): void {
    if (event.event === "hello") this.#handleHello(event);
    else if (event.event === "attached") this.#add(event.tab);
    else if (event.event === "detached") this.#forget(event.tabId);
    else this.#handleTabEvent(event.tabId, event.sessionId, event.method, event.params ?? {});
  }

  #handleHello(hello: Hello): void {
    const currentIds = new Set(hello.tabs.map(({ tabId }) => tabId));
    this.#hello = hello;
    this.#hasHello = true;
    for (const tabId of [...this.#tabs.keys()]) if (!currentIds.has(tabId)) this.#forget(tabId);
    for (const tab of hello.tabs) {
      // A restarted gateway does not know what the previous one left in the tab.
      if (!this.#tabs.has(tab.tabId)) this.#changedTabs.add(tab.tabId);
      this.#add(tab);
    }
    this.#absence.end();
    if (this.#client === undefined) this.#clean();
  }

  #add(tab: AttachedTab): void {
    const previous = this.#tabs.get(tab.tabId);
    if (previous === undefined) {
      this.#attachCount += 1;
      this.#log.info({ tabs: this.#tabs.size + 1 }, "a tab was attached to the relay");
    }
    if (previous?.attachment !== tab.attachment && previous !== undefined)
      this.#changedTabs.delete(tab.tabId);
    clearTimeout(this.#noTabsTimer);
    this.#tabs.set(tab.tabId, tab);
    this.#client?.announceTab(tab);
  }

  #forget(tabId: number): void {
    if (!this.#tabs.delete(tabId)) return;
    this.#changedTabs.delete(tabId);
    this.#log.info({ tabs: this.#tabs.size }, "a tab was detached from the relay");
    this.#client?.announceDetached(tabId);
    if (this.#tabs.size > 0) return;
    clearTimeout(this.#noTabsTimer);
    this.#noTabsTimer = setTimeout(
      () => this.#client?.close(errors.nothingAttached().message.slice(0, 120)),
      NO_TABS_DELAY_MS,
    ).unref();
  }

  #handleTabEvent(
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
    this.#client?.forwardEvent(tabId, sessionId, method, params);
  }

  /** Sends a request to the extension. Waits while it is away, and repeats a request that it had not accepted. */
  async #request<T>(request: ExtensionRequest): Promise<T> {
    for (;;) {
      await this.waitWhileAway();
      const link = this.#hasHello ? this.#link : undefined;
      if (link === undefined) throw new Error("Target closed: the extension is not connected.");
      try {
        return await link.request<T>(request);
      } catch (error) {
        if (!(error instanceof NotAcceptedError)) throw error;
        if (this.#link === link) this.#handleDisconnect();
      }
    }
  }

  /** True while the extension is disconnected: its browser may have exited, or only its worker. */
  get isAway(): boolean {
    return this.#absence.isOn;
  }

  /** Waits while the extension is disconnected, until it returns or its tabs are given up. */
  waitWhileAway(): Promise<void> {
    return this.#absence.waitUntilEnded();
  }

  async refresh(): Promise<AttachedTab[]> {
    if (this.#tabs.size === 0) return [];
    const listedTabs = checkTabs.parse(await this.#request({ ask: "list" }));
    for (const listedTab of listedTabs) {
      const tab = listedTab === null ? undefined : this.#tabs.get(listedTab.tabId);
      if (tab !== undefined && listedTab !== null)
        Object.assign(tab, { title: listedTab.title, url: listedTab.url });
    }
    return this.allTabs();
  }

  async open(): Promise<AttachedTab> {
    const tab = checkTab.parse(await this.#request({ ask: "open" }));
    this.#add(tab);
    return this.#tabs.get(tab.tabId) ?? tab;
  }

  async close({ tabId }: AttachedTab): Promise<void> {
    await this.#request({ ask: "close", tabId });
    this.#forget(tabId);
  }

  focus({ tabId }: AttachedTab): Promise<unknown> {
    return this.#request({ ask: "focus", tabId });
  }

  command(
    { tabId }: AttachedTab,
    sessionId: string | undefined,
    method: string,
    params: object,
  ): Promise<unknown> {
    this.#changedTabs.add(tabId);
    return this.#request({ ask: "command", tabId, method, params, sessionId });
  }

  /**
   * Reserves the relay for the client that connects now, and returns a function that releases it. Throws a 409 if no
   * tab is attached or another client controls the tabs.
   */
  reserveClient(): () => void {
    if (this.#client !== undefined || this.#isClientReserved) {
      throw errors.otherClient();
    }
    if (this.#tabs.size === 0) throw errors.nothingAttached();
    this.#isClientReserved = true;
    return () => (this.#isClientReserved = false);
  }

  async adoptClient(socket: WebSocket): Promise<void> {
    const earlyMessages: string[] = [];
    const bufferMessage = (data: unknown): void => void earlyMessages.push(String(data));
    socket.on("message", bufferMessage);
    this.#waitingClient = socket;
    this.#clean();
    await this.#cleaning;
    this.#waitingClient = undefined;
    socket.off("message", bufferMessage);
    this.#isClientReserved = false;
    if (socket.readyState !== socket.OPEN) return;
    const client = new CdpClient(socket, this);
    this.#client = client;
    socket.once("close", () => {
      if (this.#client !== client) return;
      this.#client = undefined;
      this.#clean();
    });
    for (const text of earlyMessages) socket.emit("message", text);
  }

  /** Resets the tabs that a client has changed, so that the user gets them back in their original state. */
  #clean(): void {
    const tabs = this.allTabs().filter(({ tabId }) => this.#changedTabs.has(tabId));
    this.#cleaning = this.#cleaning.then(() =>
      Promise.allSettled(tabs.map((tab) => this.#cleanTab(tab))),
    );
  }

  async #cleanTab({ tabId }: AttachedTab): Promise<void> {
    const cleanTab = checkTab.parse(await this.#request({ ask: "reset", tabId }));
    this.#changedTabs.delete(tabId);
    this.#add(cleanTab);
  }

  /** Resolves when the changes of the last client have been reset. */
  async waitUntilClean(): Promise<void> {
    await this.#cleaning;
  }

  get hasClient(): boolean {
    return this.#client !== undefined || this.#isClientReserved;
  }

  /** Closes all connections, because the gateway stops or its secret has changed. */
  end(reason: string): void {
    clearTimeout(this.#noTabsTimer);
    this.#absence.close(reason);
    if (this.#waitingClient !== undefined) closeSocket(this.#waitingClient, 1001, reason);
    this.#client?.close(reason);
    this.#link?.close(1001, reason);
  }
}

/** `portico/nodes`: the services `nodes` (a gateway's nodes) and `nodeHost` (in the process of `portico node`). */
import type { BrowserRequest, BrowserResponse } from "portico/browser";

declare module "portico" {
  interface Services {
    nodes: NodesService;
    nodeHost: NodeHostService;
  }
}

/** On a gateway: the browsers on other machines. */
export interface NodesService {
  readonly mode: "auto" | "off";
  /** A node is connected, or was since the start: a browser that is missing here may be looked for there. */
  readonly any: boolean;
  /**
   * Has a node answer a browser request, as the control API would here: files lie on this machine afterwards.
   * Without a name the node that is longest connected is meant. Rejects with 503 `node_unavailable`, or with the
   * node's own error.
   */
  request(
    node: string | undefined,
    request: BrowserRequest,
    options: NodeRequestOptions,
  ): Promise<BrowserResponse>;
  list(): NodeStatus[];
}

export interface NodeRequestOptions {
  /** Until the answer begins, ms. */
  deadlineMs: number;
  /** A profile that the node does not have means its default one. */
  orDefaultProfile?: boolean;
}

export interface NodeStatus {
  name: string;
  state: "connected" | "gone";
  /** ISO 8601; null while it is disconnected. */
  connectedSince: string | null;
  lastSeen: string;
  version: string;
  /** `linux`, `darwin`, `win32` */
  platform: string;
  address: string;
  /** False where `nodeHost.browserProxy.enabled` (or `browser.enabled`) is false on the node. */
  browser: boolean;
  profiles: string[];
  inFlight: number;
}

/** In the process of `portico node`. */
export interface NodeHostService {
  /** Connects, and again whenever the connection ends. Rejects where the gateway refuses this node at the first try. */
  connect(options: NodeHostOptions): Promise<void>;
}

export interface NodeHostOptions {
  gateway?: string;
  token?: string;
  name?: string;
  /** One line for the person in front of it, whenever something changes. */
  say(line: string): void;
}

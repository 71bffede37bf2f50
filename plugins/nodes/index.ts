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
  /** True if a node is connected, or was since the start. Then a browser that this machine lacks may be on a node. */
  readonly any: boolean;
  /**
   * Sends a browser request to a node, and returns the answer as the local control API would: with files on this machine.
   * Without a name, uses the node that has been connected longest and has a browser. Rejects with 503 `node_unavailable`,
   * or with the node's own error.
   */
  request(
    node: string | undefined,
    request: BrowserRequest,
    options: NodeRequestOptions,
  ): Promise<BrowserResponse>;
  list(): NodeStatus[];
}

export interface NodeRequestOptions {
  /** The time until the answer must begin, in ms. */
  deadlineMs: number;
  /** If the node does not have the profile, it uses its default profile. */
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
  /**
   * Connects, and reconnects whenever the connection ends. Rejects if the gateway refuses this node at the first attempt.
   */
  connect(options: NodeHostOptions): Promise<void>;
}

export interface NodeHostOptions {
  gateway?: string;
  token?: string;
  name?: string;
  /** Prints one line for the user, whenever the state of the connection changes. */
  say(line: string): void;
}

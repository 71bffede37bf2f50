/** The nodes of a gateway: who is connected, who was, and who answers which request. */
import type { PluginContext } from "portico";
import type { BrowserRequest, BrowserResponse, WebSocket } from "portico/browser";
import { errors } from "../errors.ts";
import type { NodesService, NodeStatus } from "../index.ts";
import type { NodesConfig } from "../schema.ts";
import { checkFromNode, type FromNode, type Hello, type ToNode } from "../wire.ts";
import type { NodeSocket } from "../node-socket.ts";
import type { NodeClient } from "./node-client.ts";

/** For errors that pass by themselves. */
const SOON = { headers: { "retry-after": "2" } } as const;
/** How many disconnected nodes are remembered. */
const REMEMBERED = 100;
const FAREWELL = [1001, "the gateway is stopping"] as const;
const CREDENTIALS_CHANGED = [1008, "the gateway's credentials have changed"] as const;
const NAME_IN_USE = [4409, "another node has this name"] as const;

interface Known {
  name: string;
  identity: string;
  address: string;
  connectedAt: number;
  lastSeen: number;
  hello: Hello;
  now: { client: NodeClient; nodeSocket: NodeSocket } | undefined;
}

interface Classes {
  NodeSocket: typeof import("../node-socket.ts").NodeSocket;
  NodeClient: typeof import("./node-client.ts").NodeClient;
}

export interface ConnectingNode {
  name: string;
  identity: string;
  address: string;
}

interface RegistryOptions {
  ctx: PluginContext;
  config(): NodesConfig;
}

export class Registry implements NodesService {
  readonly #options: RegistryOptions;
  readonly #nodes = new Map<string, Known>();
  /** Every connection, those that have not said what they are included. */
  readonly #sockets = new Map<NodeSocket, ConnectingNode>();
  #isClosed = false;

  constructor(options: RegistryOptions) {
    this.#options = options;
  }

  get mode(): "auto" | "off" {
    return this.#options.config().browser.mode;
  }

  get any(): boolean {
    return this.#nodes.size > 0;
  }

  /** 409 `node_name_in_use` where another machine has the name. */
  admit(node: ConnectingNode): void {
    if (!this.#isTaken(node)) return;
    throw errors.nameInUse({ name: node.name });
  }

  #isTaken({ name, identity }: ConnectingNode): boolean {
    return [...this.#sockets.values()].some(
      (other) => other.name === name && other.identity !== identity,
    );
  }

  /** Loads what a connection needs; the answer takes connections over. */
  async prepare(): Promise<(node: ConnectingNode, socket: WebSocket) => void> {
    const [{ NodeSocket }, { NodeClient }] = await Promise.all([
      import("../node-socket.ts"),
      import("./node-client.ts"),
    ]);
    return (node, socket) => this.#connect(node, socket, { NodeSocket, NodeClient });
  }

  /** The node counts once it has said what it is. */
  #connect(node: ConnectingNode, socket: WebSocket, { NodeSocket, NodeClient }: Classes): void {
    const { ctx, config } = this.#options;
    const { name } = node;
    let known: Known | undefined;
    const nodeSocket: NodeSocket<FromNode> = new NodeSocket(socket, {
      parse: checkFromNode.parse,
      message: (message) => {
        if (!this.#sockets.has(nodeSocket)) return;
        if (message.t === "hello")
          known = this.#greet(node, message, { client, nodeSocket }, known);
        else if (message.t === "navigated") this.#navigated(message);
        else client.answered(message);
      },
      chunk: (chunk) => client.chunk(chunk),
      closed: (code) => {
        this.#sockets.delete(nodeSocket);
        client.ended();
        if (known?.now?.nodeSocket !== nodeSocket) return;
        known.now = undefined;
        known.lastSeen = nodeSocket.lastSeen;
        ctx.log.info({ node: name, code }, `node ${name} has disconnected`);
      },
    });
    const client = new NodeClient({
      name,
      nodeSocket,
      tmp: ctx.paths.tmp,
      whyProtected: ctx.whyProtected,
      maxFileBytes: () => config().maxFileBytes,
    });
    // Another one may have come since this one was admitted.
    if (this.#isTaken(node)) {
      nodeSocket.close(...NAME_IN_USE);
      return;
    }
    this.#sockets.set(nodeSocket, node);
    if (this.#isClosed) nodeSocket.close(...FAREWELL);
    else this.#welcome(nodeSocket);
  }

  #welcome(nodeSocket: NodeSocket): void {
    const { ctx, config } = this.#options;
    const { heartbeatMs, maxFileBytes } = config();
    nodeSocket.watch(heartbeatMs);
    void nodeSocket.send({
      t: "welcome",
      version: ctx.version,
      heartbeatMs,
      maxFileBytes,
    } satisfies ToNode);
  }

  #greet(
    node: ConnectingNode,
    hello: Hello,
    now: NonNullable<Known["now"]>,
    known: Known | undefined,
  ): Known {
    const { name } = node;
    const clean = cleanHello(hello);
    if (known !== undefined) {
      known.hello = clean;
      return known;
    }
    const before = this.#nodes.get(name)?.now;
    const fresh: Known = {
      ...node,
      connectedAt: Date.now(),
      lastSeen: Date.now(),
      hello: clean,
      now,
    };
    this.#nodes.delete(name);
    this.#nodes.set(name, fresh);
    // The same node came back before its old connection was known to be dead.
    before?.nodeSocket.terminate();
    for (const [other, { now: there }] of this.#nodes) {
      if (this.#nodes.size <= REMEMBERED) break;
      if (there === undefined) this.#nodes.delete(other);
    }
    this.#options.ctx.log.info({ node: name, version: clean.version }, `node ${name} is connected`);
    return fresh;
  }

  #navigated({ profile, targetId, url }: Extract<FromNode, { t: "navigated" }>): void {
    const { ctx } = this.#options;
    if (!ctx.declared("browser:navigated") || !ctx.hasListeners("browser:navigated")) return;
    void ctx.emit("browser:navigated", {
      profile: String(profile),
      targetId: String(targetId),
      url: String(url),
    });
  }

  async request(
    name: string | undefined,
    request: BrowserRequest,
    { deadlineMs, orDefaultProfile = false }: { deadlineMs: number; orDefaultProfile?: boolean },
  ): Promise<BrowserResponse> {
    const { now, hello, name: found } = this.#find(name);
    if (!hello.browser) {
      throw errors.nodeWithoutBrowser({ name: found }, SOON);
    }
    const answer = await now.client.request(request, { deadlineMs, orDefaultProfile });
    return request.route === "/" && "body" in answer
      ? { body: { ...answer.body, node: found } }
      : answer;
  }

  #find(name: string | undefined): Known & { now: NonNullable<Known["now"]> } {
    if (this.mode === "off") throw errors.nodesOff(SOON);
    const all = [...this.#nodes.values()];
    const isThere = (node: Known): node is Known & { now: NonNullable<Known["now"]> } =>
      node.now !== undefined;
    if (name === undefined) {
      const connected = all.filter(isThere);
      const first = connected.find(({ hello }) => hello.browser) ?? connected[0];
      if (first !== undefined) return first;
      const names = all.map((node) => node.name).join(", ");
      throw names === "" ? errors.noNode(SOON) : errors.noNodeAnyMore({ names }, SOON);
    }
    const node = this.#nodes.get(name);
    if (node !== undefined && isThere(node)) return node;
    const lastSeen =
      node === undefined ? "" : ` (last seen ${new Date(node.lastSeen).toISOString()})`;
    throw errors.nodeNotConnected({ name, lastSeen }, SOON);
  }

  list(): NodeStatus[] {
    return [...this.#nodes.values()]
      .map(({ name, now, hello, address, connectedAt, lastSeen }): NodeStatus => {
        const { version, platform, browser, profiles } = hello;
        const state = now === undefined ? "gone" : "connected";
        return {
          name,
          state,
          connectedSince: now === undefined ? null : new Date(connectedAt).toISOString(),
          lastSeen: new Date(now?.nodeSocket.lastSeen ?? lastSeen).toISOString(),
          version,
          platform,
          address,
          browser,
          profiles,
          inFlight: now?.client.inFlight ?? 0,
        };
      })
      .sort((a, b) => a.name.localeCompare(b.name));
  }

  /** The settings have changed: the nodes that are connected go by the new ones. */
  welcomeAgain(): void {
    for (const nodeSocket of this.#sockets.keys()) this.#welcome(nodeSocket);
  }

  /** Who came in by credentials that may no longer hold has to show the new ones. */
  credentialsChanged(): void {
    for (const nodeSocket of this.#sockets.keys()) {
      this.#sockets.delete(nodeSocket);
      nodeSocket.close(...CREDENTIALS_CHANGED);
    }
  }

  /** The gateway stops, or the plugin is reloaded: the nodes come again. */
  close(): void {
    this.#isClosed = true;
    for (const nodeSocket of this.#sockets.keys()) nodeSocket.close(...FAREWELL);
  }
}

function cleanHello({ version, platform, browser, profiles }: Hello): Hello {
  const names = Array.isArray(profiles) ? profiles : [];
  return {
    t: "hello",
    version: String(version).slice(0, 64),
    platform: String(platform).slice(0, 32),
    browser: browser === true,
    profiles: names.filter((name) => typeof name === "string").slice(0, 200),
  };
}

/** The nodes of a gateway: those that are or were connected. Routes each request to a node. */
import type { PluginContext } from "portico";
import type { BrowserRequest, BrowserResponse, WebSocket } from "portico/browser";
import { errors } from "../errors.ts";
import type { NodesService, NodeStatus } from "../index.ts";
import type { NodesConfig } from "../schema.ts";
import { checkFromNode, type FromNode, type Hello, type ToNode } from "../wire.ts";
import type { NodeSocket } from "../node-socket.ts";
import type { NodeClient } from "./node-client.ts";

/** Options of errors that are temporary. */
const SOON = { headers: { "retry-after": "2" } } as const;
/** The number of nodes above which the registry forgets disconnected ones. */
const MAX_REMEMBERED = 100;
const FAREWELL = [1001, "the gateway is stopping"] as const;
const CREDENTIALS_CHANGED = [1008, "the gateway's credentials have changed"] as const;
const NAME_IN_USE = [4409, "another node has this name"] as const;

interface RegisteredNode {
  name: string;
  identity: string;
  address: string;
  connectedAt: number;
  lastSeen: number;
  hello: Hello;
  connection: { client: NodeClient; nodeSocket: NodeSocket } | undefined;
}

type ConnectedNode = RegisteredNode & { connection: NonNullable<RegisteredNode["connection"]> };

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
  readonly #nodes = new Map<string, RegisteredNode>();
  /** Every connection, including those whose node has not sent its hello yet. */
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

  /** Throws 409 `node_name_in_use` if another machine is connected under the name. */
  admit(node: ConnectingNode): void {
    if (!this.#isTaken(node)) return;
    throw errors.nameInUse({ name: node.name });
  }

  #isTaken({ name, identity }: ConnectingNode): boolean {
    return [...this.#sockets.values()].some(
      (other) => other.name === name && other.identity !== identity,
    );
  }

  /** Loads the modules that a connection needs. Resolves with a function that registers a connection. */
  async prepare(): Promise<(node: ConnectingNode, socket: WebSocket) => void> {
    const [{ NodeSocket }, { NodeClient }] = await Promise.all([
      import("../node-socket.ts"),
      import("./node-client.ts"),
    ]);
    return (node, socket) => this.#connect(node, socket, { NodeSocket, NodeClient });
  }

  /** Registers a connection. The node becomes available when it has sent its hello. */
  #connect(node: ConnectingNode, socket: WebSocket, { NodeSocket, NodeClient }: Classes): void {
    const { ctx, config } = this.#options;
    const { name } = node;
    let registered: RegisteredNode | undefined;
    const nodeSocket: NodeSocket<FromNode> = new NodeSocket(socket, {
      parse: checkFromNode.parse,
      message: (message) => {
        if (!this.#sockets.has(nodeSocket)) return;
        if (message.t === "hello")
          registered = this.#greet(node, message, { client, nodeSocket }, registered);
        else if (message.t === "navigated") this.#emitNavigated(message);
        else client.handleAnswer(message);
      },
      chunk: (chunk) => client.handleChunk(chunk),
      closed: (code) => {
        this.#sockets.delete(nodeSocket);
        client.connectionEnded();
        if (registered?.connection?.nodeSocket !== nodeSocket) return;
        registered.connection = undefined;
        registered.lastSeen = nodeSocket.lastSeen;
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
    // Another node may have taken the name since this one was admitted.
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
    connection: NonNullable<RegisteredNode["connection"]>,
    registered: RegisteredNode | undefined,
  ): RegisteredNode {
    const { name } = node;
    const cleanedHello = cleanHello(hello);
    if (registered !== undefined) {
      registered.hello = cleanedHello;
      return registered;
    }
    const previousConnection = this.#nodes.get(name)?.connection;
    const newNode: RegisteredNode = {
      ...node,
      connectedAt: Date.now(),
      lastSeen: Date.now(),
      hello: cleanedHello,
      connection,
    };
    this.#nodes.delete(name);
    this.#nodes.set(name, newNode);
    // If the node reconnected before its old connection was found dead, the old one is still open.
    previousConnection?.nodeSocket.terminate();
    for (const [otherName, { connection: otherConnection }] of this.#nodes) {
      if (this.#nodes.size <= MAX_REMEMBERED) break;
      if (otherConnection === undefined) this.#nodes.delete(otherName);
    }
    this.#options.ctx.log.info(
      { node: name, version: cleanedHello.version },
      `node ${name} is connected`,
    );
    return newNode;
  }

  #emitNavigated({ profile, targetId, url }: Extract<FromNode, { t: "navigated" }>): void {
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
    const { connection, hello, name: nodeName } = this.#findConnected(name);
    if (!hello.browser) {
      throw errors.nodeWithoutBrowser({ name: nodeName }, SOON);
    }
    const answer = await connection.client.request(request, { deadlineMs, orDefaultProfile });
    return request.route === "/" && "body" in answer
      ? { body: { ...answer.body, node: nodeName } }
      : answer;
  }

  #findConnected(name: string | undefined): ConnectedNode {
    if (this.mode === "off") throw errors.nodesOff(SOON);
    const all = [...this.#nodes.values()];
    const isConnected = (node: RegisteredNode): node is ConnectedNode =>
      node.connection !== undefined;
    if (name === undefined) {
      const connected = all.filter(isConnected);
      const first = connected.find(({ hello }) => hello.browser) ?? connected[0];
      if (first !== undefined) return first;
      const names = all.map((node) => node.name).join(", ");
      throw names === "" ? errors.noNode(SOON) : errors.noNodeAnyMore({ names }, SOON);
    }
    const node = this.#nodes.get(name);
    if (node !== undefined && isConnected(node)) return node;
    const lastSeen =
      node === undefined ? "" : ` (last seen ${new Date(node.lastSeen).toISOString()})`;
    throw errors.nodeNotConnected({ name, lastSeen }, SOON);
  }

  list(): NodeStatus[] {
    return [...this.#nodes.values()]
      .map(({ name, connection, hello, address, connectedAt, lastSeen }): NodeStatus => {
        const { version, platform, browser, profiles } = hello;
        const state = connection === undefined ? "gone" : "connected";
        return {
          name,
          state,
          connectedSince: connection === undefined ? null : new Date(connectedAt).toISOString(),
          lastSeen: new Date(connection?.nodeSocket.lastSeen ?? lastSeen).toISOString(),
          version,
          platform,
          address,
          browser,
          profiles,
          inFlight: connection?.client.inFlight ?? 0,
        };
      })
      .sort((a, b) => a.name.localeCompare(b.name));
  }

  /** Sends the changed settings to every connected node. */
  welcomeAgain(): void {
    for (const nodeSocket of this.#sockets.keys()) this.#welcome(nodeSocket);
  }

  /** Disconnects every node, because the credentials changed: each must reconnect with the new ones. */
  credentialsChanged(): void {
    for (const nodeSocket of this.#sockets.keys()) {
      this.#sockets.delete(nodeSocket);
      nodeSocket.close(...CREDENTIALS_CHANGED);
    }
  }

  /** Disconnects every node, since the gateway stops or the plugin is reloaded. The nodes reconnect by themselves. */
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

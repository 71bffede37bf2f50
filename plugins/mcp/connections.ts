/** The MCP servers of the configuration: connected in the background, connected again when they go, their tools contributed. */
import { setTimeout as wait } from "node:timers/promises";
import type { Dispose, Logger, PorticoError, Tool } from "portico";
import { errors } from "./errors.ts";
import type { Remote } from "./remote.ts";
import type { ServerConfig } from "./schema.ts";

export interface ConnectionsOptions {
  log: Logger;
  version: string;
  addTool(tool: Tool): Dispose;
}

/** What `portico mcp list` shows of one server. */
export interface ServerState {
  name: string;
  state: "connecting" | "connected" | "waiting" | "disabled" | "wrong";
  error?: string;
  tools: string[];
}

interface Connection {
  config: string;
  state: ServerState;
  controller: AbortController;
  /** While it is connected. */
  remote?: Remote | undefined;
  ended: Promise<void>;
}

const firstWaitMs = 1_000;
const longestWaitMs = 60_000;

export class Connections {
  readonly #options: ConnectionsOptions;
  readonly #connections = new Map<string, Connection>();

  constructor(options: ConnectionsOptions) {
    this.#options = options;
  }

  /** Takes servers over as they are configured now; one that is wrong is shown as such, and nothing else. */
  configure(servers: Record<string, ServerConfig>): void {
    for (const [name, { config }] of this.#connections) {
      if (JSON.stringify(servers[name]) !== config) void this.#drop(name);
    }
    for (const [name, server] of Object.entries(servers))
      if (!this.#connections.has(name)) this.#open(name, server);
  }

  list(): ServerState[] {
    return [...this.#connections.values()].map(({ state }) => state);
  }

  /** The servers that are connected now, in the order of the configuration. */
  remotes(): Remote[] {
    return [...this.#connections.values()].flatMap(({ remote }) => remote ?? []);
  }

  async close(): Promise<void> {
    await Promise.all([...this.#connections.keys()].map((name) => this.#drop(name)));
  }

  #open(name: string, server: ServerConfig): void {
    const controller = new AbortController();
    const error = problemOf(name, server)?.message;
    if (error !== undefined) this.#options.log.error(error);
    const state: ServerState = { name, state: firstState(server, error), error, tools: [] };
    const connection: Connection = {
      config: JSON.stringify(server),
      state,
      controller,
      ended: Promise.resolve(),
    };
    this.#connections.set(name, connection);
    if (state.state === "connecting")
      connection.ended = this.#keepConnected(connection, server, controller.signal);
  }

  async #drop(name: string): Promise<void> {
    const connection = this.#connections.get(name);
    this.#connections.delete(name);
    connection?.controller.abort();
    await connection?.ended;
  }

  async #keepConnected(
    connection: Connection,
    server: ServerConfig,
    signal: AbortSignal,
  ): Promise<void> {
    const { state } = connection;
    let waitMs = firstWaitMs;
    while (!signal.aborted) {
      const error = await this.#connectOnce(connection, server, signal, () => {
        waitMs = firstWaitMs;
      });
      connection.remote = undefined;
      if (signal.aborted) return;
      Object.assign(state, { state: "waiting", error, tools: [] });
      await wait(waitMs * (0.75 + Math.random() / 2), undefined, { signal }).catch(() => {});
      waitMs = Math.min(waitMs * 2, longestWaitMs);
    }
  }

  /** Resolves with the reason once the connection has ended, or could not be made. */
  async #connectOnce(
    connection: Connection,
    server: ServerConfig,
    signal: AbortSignal,
    onSuccess: () => void,
  ): Promise<string> {
    const { state } = connection;
    const { name } = state;
    const log = this.#options.log.child({ server: name });
    try {
      state.state = "connecting";
      const { connect } = await import("./connect.ts");
      await connect({
        ...{ name, server, signal, log },
        version: this.#options.version,
        addTool: this.#options.addTool,
        onRemote: (remote) => {
          if (!signal.aborted) connection.remote = remote;
        },
        onTools: (tools) => {
          Object.assign(state, { state: "connected", tools, error: undefined });
          onSuccess();
        },
      });
      return "the connection ended";
    } catch (error) {
      const { message } = error as Error;
      if (!signal.aborted && state.error !== message)
        log.warn({ err: error }, `MCP server ${name} cannot be used`);
      return message;
    }
  }
}

function firstState({ enabled }: ServerConfig, error: string | undefined): ServerState["state"] {
  if (error !== undefined) return "wrong";
  return enabled ? "connecting" : "disabled";
}

/** What is wrong with how a server is configured. */
export function problemOf(name: string, server: ServerConfig): PorticoError | undefined {
  if ((server.command === undefined) !== (server.url === undefined)) return undefined;
  const param = `mcp.servers.${name}`;
  return errors.commandOrUrl({ server: param }, { param });
}

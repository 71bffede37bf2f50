/** Keeps the gateway connected to the MCP servers of the configuration, in the background. */
import { setTimeout as wait } from "node:timers/promises";
import type { Dispose, Logger, PorticoError, Tool } from "portico";
import { errors } from "./errors.ts";
import type { Remote } from "./remote.ts";
import type { ServerConfig } from "./schema.ts";

export interface ConnectionsOptions {
  log: Logger;
  version: string;
  addTool(tool: Tool): Dispose;
  /** Called for each new connection to a server. */
  onRemote(remote: Remote): void;
}

/** The state of one server, as `portico mcp list` shows it. */
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
  /** Set while the server is connected. */
  remote?: Remote | undefined;
  end: Promise<void>;
}

const firstWaitMs = 1_000;
const longestWaitMs = 60_000;

export class Connections {
  readonly #options: ConnectionsOptions;
  readonly #connections = new Map<string, Connection>();

  constructor(options: ConnectionsOptions) {
    this.#options = options;
  }

  /** Applies a configuration. A server with invalid settings is listed as `wrong` and not connected. */
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

  /** Returns the servers that are connected now, in the order in which they were configured. */
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
    const state: ServerState = { name, state: initialState(server, error), error, tools: [] };
    const connection: Connection = {
      config: JSON.stringify(server),
      state,
      controller,
      end: Promise.resolve(),
    };
    this.#connections.set(name, connection);
    if (state.state === "connecting")
      connection.end = this.#keepConnected(connection, server, controller.signal);
  }

  async #drop(name: string): Promise<void> {
    const connection = this.#connections.get(name);
    this.#connections.delete(name);
    connection?.controller.abort();
    await connection?.end;
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

  /** Resolves with the reason once the connection has ended, or could not be established. */
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
          if (signal.aborted) return;
          connection.remote = remote;
          this.#options.onRemote(remote);
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

function initialState({ enabled }: ServerConfig, error: string | undefined): ServerState["state"] {
  if (error !== undefined) return "wrong";
  return enabled ? "connecting" : "disabled";
}

/** Returns what is wrong with the configuration of a server; undefined if nothing is. */
export function problemOf(name: string, server: ServerConfig): PorticoError | undefined {
  if ((server.command === undefined) !== (server.url === undefined)) return undefined;
  const param = `mcp.servers.${name}`;
  return errors.commandOrUrl({ server: param }, { param });
}

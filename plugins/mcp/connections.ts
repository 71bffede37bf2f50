/** The MCP servers of the configuration: connected in the background, connected again when they go, their tools contributed. */
import { setTimeout as wait } from "node:timers/promises";
import { type Dispose, type Logger, PorticoError, type Tool } from "portico";
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

export function createConnections(options: ConnectionsOptions) {
  const connections = new Map<string, Connection>();

  /** Takes servers over as they are configured now; one that is wrong is shown as such, and nothing else. */
  function configure(servers: Record<string, ServerConfig>): void {
    for (const [name, { config }] of connections) {
      if (JSON.stringify(servers[name]) !== config) void drop(name);
    }
    for (const [name, server] of Object.entries(servers))
      if (!connections.has(name)) open(name, server);
  }

  function open(name: string, server: ServerConfig): void {
    const controller = new AbortController();
    const error = problemOf(name, server)?.message;
    if (error !== undefined) options.log.error(error);
    const state: ServerState = {
      name,
      state: firstState(server, error),
      error,
      tools: [],
    };
    const ended =
      state.state === "connecting"
        ? keepConnected(name, server, state, controller.signal)
        : Promise.resolve();
    connections.set(name, { config: JSON.stringify(server), state, controller, ended });
  }

  async function drop(name: string): Promise<void> {
    const connection = connections.get(name);
    connections.delete(name);
    connection?.controller.abort();
    await connection?.ended;
  }

  async function keepConnected(
    name: string,
    server: ServerConfig,
    state: ServerState,
    signal: AbortSignal,
  ): Promise<void> {
    const log = options.log.child({ server: name });
    for (let waitMs = firstWaitMs; !signal.aborted; waitMs = Math.min(waitMs * 2, longestWaitMs)) {
      try {
        state.state = "connecting";
        const { connect } = await import("./connect.ts");
        await connect({
          name,
          server,
          version: options.version,
          signal,
          addTool: options.addTool,
          log,
          onRemote: (remote) => {
            const connection = connections.get(name);
            if (connection !== undefined && !signal.aborted) connection.remote = remote;
          },
          onTools: (tools) => {
            Object.assign(state, { state: "connected", tools, error: undefined });
            waitMs = firstWaitMs;
          },
        });
        state.error = "the connection ended";
      } catch (error) {
        if (signal.aborted) break;
        if (state.error !== (error as Error).message)
          log.warn({ err: error }, `MCP server ${name} cannot be used`);
        state.error = (error as Error).message;
      }
      state.tools = [];
      const connection = connections.get(name);
      if (connection?.state === state) connection.remote = undefined;
      if (signal.aborted) break;
      state.state = "waiting";
      await wait(waitMs * (0.75 + Math.random() / 2), undefined, { signal }).catch(() => {});
    }
  }

  return {
    configure,
    list: (): ServerState[] => [...connections.values()].map(({ state }) => state),
    /** The servers that are connected now, in the order of the configuration. */
    remotes: (): Remote[] => [...connections.values()].flatMap(({ remote }) => remote ?? []),
    close: async () => {
      await Promise.all([...connections.keys()].map(drop));
    },
  };
}

function firstState({ enabled }: ServerConfig, error: string | undefined): ServerState["state"] {
  if (error !== undefined) return "wrong";
  return enabled ? "connecting" : "disabled";
}

/** What is wrong with how a server is configured. */
export function problemOf(name: string, server: ServerConfig): PorticoError | undefined {
  if ((server.command === undefined) !== (server.url === undefined)) return undefined;
  const param = `mcp.servers.${name}`;
  return new PorticoError("invalid_request_error", `${param} needs either command or url`, {
    param,
  });
}

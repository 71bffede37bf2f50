/** The MCP servers of the configuration: connected in the background, connected again when they go, their tools contributed. */
import type { Dispose, Logger, Tool } from "portico";
import type { ServerConfig } from "./schema.ts";

export interface ConnectionsOptions {
  log: Logger;
  version: string;
  addTool(tool: Tool): Dispose;
}

/** What `portico mcp list` shows of one server. */
export interface ServerState {
  name: string;
  state: "connecting" | "connected" | "waiting" | "disabled";
  error?: string;
  tools: string[];
}

interface Connection {
  config: string;
  state: ServerState;
  controller: AbortController;
  ended: Promise<void>;
}

const firstWaitMs = 1_000;
const longestWaitMs = 60_000;

export function createConnections(options: ConnectionsOptions) {
  const connections = new Map<string, Connection>();

  function configure(servers: Record<string, ServerConfig>): void {
    for (const [name, { config }] of connections) {
      if (JSON.stringify(servers[name]) !== config) void drop(name);
    }
    for (const [name, server] of Object.entries(servers)) if (!connections.has(name)) open(name, server);
  }

  function open(name: string, server: ServerConfig): void {
    if ((server.command === undefined) === (server.url === undefined)) {
      throw new Error(`mcp.servers.${name} needs either command or url`);
    }
    const controller = new AbortController();
    const state: ServerState = { name, state: server.enabled ? "connecting" : "disabled", tools: [] };
    const ended = server.enabled ? keepConnected(name, server, state, controller.signal) : Promise.resolve();
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
          onTools: (tools) => {
            Object.assign(state, { state: "connected", tools, error: undefined });
            waitMs = firstWaitMs;
          },
        });
        state.error = "the connection ended";
      } catch (error) {
        if (signal.aborted) break;
        if (state.error !== (error as Error).message) log.warn({ err: error }, `MCP server ${name} cannot be used`);
        state.error = (error as Error).message;
      }
      state.tools = [];
      if (signal.aborted) break;
      state.state = "waiting";
      await pause(waitMs * (0.75 + Math.random() / 2), signal);
    }
  }

  return {
    configure,
    list: (): ServerState[] => [...connections.values()].map(({ state }) => state),
    close: async () => {
      await Promise.all([...connections.keys()].map(drop));
    },
  };
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener(
      "abort",
      () => {
        clearTimeout(timer);
        resolve();
      },
      { once: true },
    );
  });
}

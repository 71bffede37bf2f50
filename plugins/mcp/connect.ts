/** One connection to an MCP server: from the handshake until it ends, its tools are contributed. */
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import {
  getDefaultEnvironment,
  StdioClientTransport,
} from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { ToolListChangedNotificationSchema } from "@modelcontextprotocol/sdk/types.js";
import type { Dispose, Logger, Tool } from "portico";
import { createFetch, createOwnerGuard } from "portico/egress";
import { CountedLines, createCountedFetch } from "./message-limits.ts";
import { NO_VALIDATOR, Remote } from "./remote.ts";
import { listRemoteTools } from "./remote-tools.ts";
import type { ServerConfig } from "./schema.ts";

export interface ConnectOptions {
  name: string;
  server: ServerConfig;
  version: string;
  signal: AbortSignal;
  log: Logger;
  addTool(tool: Tool): Dispose;
  /** The names under which its tools are contributed, at the beginning and after each change. */
  onTools(names: string[]): void;
  /** Once it is connected, for its prompts and resources. */
  onRemote?(remote: Remote): void;
}

type Transport = Parameters<Client["connect"]>[0];

/** Resolves when the connection ended or `signal` ended it; rejects where it cannot be made. */
export async function connect(options: ConnectOptions): Promise<void> {
  const { server, signal } = options;
  signal.throwIfAborted();
  const client = new Client(
    { name: "portico", version: options.version },
    { capabilities: { sampling: {}, elicitation: {} }, jsonSchemaValidator: NO_VALIDATOR },
  );
  const remote = new Remote({ name: options.name, client, timeoutMs: server.timeoutMs });
  let contributed: Dispose[] = [];
  const withdraw = () => {
    for (const undo of contributed) void undo();
    contributed = [];
  };
  async function takeTools(): Promise<void> {
    const tools = remote.has("tools") ? await listRemoteTools(remote, options) : [];
    withdraw();
    contributed = tools.map(options.addTool);
    options.onTools(tools.map(({ name }) => name));
  }

  // The client never lets go of a signal, and `signal` outlives any number of connections.
  const attempt = new AbortController();
  const stop = () => attempt.abort(signal.reason);
  signal.addEventListener("abort", stop);
  const ended = new Promise<void>((resolve, reject) => {
    client.onclose = resolve;
    attempt.signal.addEventListener("abort", () => {
      if (signal.aborted) resolve();
      else reject(attempt.signal.reason);
    });
  });
  ended.catch(() => {}); // its awaiting caller gets the error
  const onOversizedEvent = (error: Error) => attempt.abort(error);
  try {
    await client.connect(openTransport(server, onOversizedEvent), {
      timeout: server.timeoutMs,
      signal: attempt.signal,
    });
    client.setNotificationHandler(ToolListChangedNotificationSchema, () =>
      takeTools().catch((error) =>
        options.log.warn({ err: error }, "the changed list of tools could not be read"),
      ),
    );
    await Promise.race([takeTools(), ended]);
    options.onRemote?.(remote);
    await ended;
  } finally {
    signal.removeEventListener("abort", stop);
    withdraw();
    await client.close().catch(() => {});
  }
}

/** A server that has nothing to say for this long is asked again. */
const IDLE_STREAM_MS = 300_000;

function openTransport(server: ServerConfig, onOversizedEvent: (error: Error) => void): Transport {
  if (server.url !== undefined) {
    const limits = {
      maxBytes: server.maxResponseBytes,
      timeoutMs: server.timeoutMs,
      idleMs: Math.max(server.timeoutMs, IDLE_STREAM_MS),
      onOversizedEvent,
    };
    return new StreamableHTTPClientTransport(new URL(server.url), {
      requestInit: { headers: server.headers },
      fetch: createCountedFetch(
        createFetch(createOwnerGuard(server.url), limits),
        onOversizedEvent,
      ),
    }) as Transport;
  }
  const transport = new StdioClientTransport({
    command: server.command ?? "",
    args: server.args,
    env: { ...getDefaultEnvironment(), ...server.env },
    cwd: server.cwd,
    stderr: "ignore",
  });
  // The library offers no other place between a server's output and its parser.
  return Object.assign(transport, { _readBuffer: new CountedLines(server.maxResponseBytes) });
}

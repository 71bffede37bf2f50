/** One connection to an MCP server. Its tools are contributed from the handshake until the connection ends. */
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
  /** Called with the names of the contributed tools, at the beginning and after each change. */
  onTools(names: string[]): void;
  /** Called once the server is connected, for access to its prompts and resources. */
  onRemote?(remote: Remote): void;
}

type Transport = Parameters<Client["connect"]>[0];

/** Resolves when the connection has ended, by itself or by `signal`. Rejects if it cannot be established. */
export async function connect(options: ConnectOptions): Promise<void> {
  const { server, signal } = options;
  signal.throwIfAborted();
  const client = new Client(
    { name: "portico", version: options.version },
    { capabilities: { sampling: {}, elicitation: {} }, jsonSchemaValidator: NO_VALIDATOR },
  );
  const remote = new Remote({ name: options.name, client, timeoutMs: server.timeoutMs });
  let disposers: Dispose[] = [];
  const withdrawTools = () => {
    for (const dispose of disposers) void dispose();
    disposers = [];
  };
  async function replaceTools(): Promise<void> {
    const tools = remote.has("tools") ? await listRemoteTools(remote, options) : [];
    withdrawTools();
    disposers = tools.map(options.addTool);
    options.onTools(tools.map(({ name }) => name));
  }

  // The client never removes its listeners from a signal, and `signal` outlives any number of connections.
  const attempt = new AbortController();
  const abortAttempt = () => attempt.abort(signal.reason);
  signal.addEventListener("abort", abortAttempt);
  const connectionEnd = new Promise<void>((resolve, reject) => {
    client.onclose = resolve;
    attempt.signal.addEventListener("abort", () => {
      if (signal.aborted) resolve();
      else reject(attempt.signal.reason);
    });
  });
  connectionEnd.catch(() => {}); // The await below rethrows the error.
  const onOversizedEvent = (error: Error) => attempt.abort(error);
  try {
    await client.connect(openTransport(server, onOversizedEvent), {
      timeout: server.timeoutMs,
      signal: attempt.signal,
    });
    client.setNotificationHandler(ToolListChangedNotificationSchema, () =>
      replaceTools().catch((error) =>
        options.log.warn({ err: error }, "the changed list of tools could not be read"),
      ),
    );
    await Promise.race([replaceTools(), connectionEnd]);
    options.onRemote?.(remote);
    await connectionEnd;
  } finally {
    signal.removeEventListener("abort", abortAttempt);
    withdrawTools();
    await client.close().catch(() => {});
  }
}

/** A stream without data for this long is closed, and the library opens it again. */
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
  // The library offers no other way to intercept a server's output before it is parsed.
  return Object.assign(transport, { _readBuffer: new CountedLines(server.maxResponseBytes) });
}

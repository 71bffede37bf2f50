/** One connection to an MCP server: from the handshake until it ends, its tools are contributed. */
import { createHash } from "node:crypto";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import {
  getDefaultEnvironment,
  StdioClientTransport,
} from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { ToolListChangedNotificationSchema } from "@modelcontextprotocol/sdk/types.js";
import { type Dispose, type Logger, PorticoError, type Tool } from "portico";
import { createFetch, createOwnerGuard } from "portico/egress";
import { CountedLines, createCountedFetch } from "./message-limits.ts";
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
}

type Transport = Parameters<Client["connect"]>[0];

/** Resolves when the connection ended or `signal` ended it; rejects where it cannot be made. */
export async function connect(options: ConnectOptions): Promise<void> {
  const { server, signal } = options;
  signal.throwIfAborted();
  const client = new Client({ name: "portico", version: options.version });
  let contributed: Dispose[] = [];
  const withdraw = () => {
    for (const undo of contributed) void undo();
    contributed = [];
  };
  async function takeTools(): Promise<void> {
    const tools = await listTools(client, options);
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
  ended.catch(() => {}); // whoever waits for it gets the error
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
    await ended;
  } finally {
    signal.removeEventListener("abort", stop);
    withdraw();
    await client.close().catch(() => {});
  }
}

/** A server that has nothing to say for this long is asked anew. */
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

/** A list that never ends is no list. */
const MOST_TOOLS = 1000;
const MOST_PAGES = 100;

async function listTools(client: Client, { name, server, log }: ConnectOptions): Promise<Tool[]> {
  const found: Tool[] = [];
  const taken = new Set<string>();
  let cursor: string | undefined;
  let pages = 0;
  do {
    if (++pages > MOST_PAGES || found.length > MOST_TOOLS)
      throw new Error(
        `its list of tools does not end: more than ${MOST_TOOLS} tools, or ${MOST_PAGES} pages of them`,
      );
    const page = await client.listTools(cursor === undefined ? {} : { cursor });
    for (const tool of page.tools) {
      if (server.tools && !server.tools.includes(tool.name)) continue;
      found.push({
        name: toolName(name, tool.name, taken),
        description: tool.description ?? tool.title ?? `${tool.name} of ${name}`,
        origin: `the MCP server ${name}`,
        parameters: tool.inputSchema as unknown as Tool["parameters"],
        timeoutMs: server.timeoutMs,
        handler: (args, { signal }) =>
          callTool(client, tool.name, args as Record<string, unknown>, signal, server.timeoutMs),
      });
    }
    cursor = page.nextCursor;
  } while (cursor !== undefined);
  log.info({ tools: found.length }, `MCP server ${name} is connected`);
  return found;
}

async function callTool(
  client: Client,
  name: string,
  args: Record<string, unknown>,
  signal: AbortSignal,
  timeout: number,
) {
  const result = await client.callTool({ name, arguments: args }, undefined, { signal, timeout });
  const parts = result.content as { type: string; text?: string }[];
  const text = parts.map((part) => part.text ?? "").join("\n");
  if (result.isError) throw new PorticoError("upstream_error", text || "the tool failed");
  if (parts.length === 0 && result.structuredContent) return result.structuredContent;
  return parts.every(({ type }) => type === "text") ? text : parts;
}

const NAME_CHARS = 64;

/** `<server>_<tool>` in the letters that models accept; where that is too long or `taken`, a digest makes it its own. */
function toolName(server: string, tool: string, taken: Set<string>): string {
  const plain = `${server}_${tool}`.replace(/[^A-Za-z0-9_-]/g, "_");
  const digest = createHash("sha256").update(tool).digest("hex").slice(0, 8);
  const name =
    plain.length > NAME_CHARS || taken.has(plain)
      ? `${plain.slice(0, NAME_CHARS - digest.length - 1)}_${digest}`
      : plain;
  taken.add(name);
  return name;
}

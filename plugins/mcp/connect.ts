/** One connection to an MCP server: from the handshake until it ends, its tools are contributed. */
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { getDefaultEnvironment, StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { ToolListChangedNotificationSchema } from "@modelcontextprotocol/sdk/types.js";
import { type Dispose, type Logger, type Tool, ToolRefusal } from "portico";
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

  const ended = new Promise<void>((resolve) => {
    client.onclose = resolve;
    signal.addEventListener("abort", () => resolve(), { once: true });
  });
  try {
    await client.connect(openTransport(server), { timeout: server.timeoutMs, signal });
    client.setNotificationHandler(ToolListChangedNotificationSchema, () =>
      takeTools().catch((error) => options.log.warn({ err: error }, "the changed list of tools could not be read")),
    );
    await takeTools();
    await ended;
  } finally {
    withdraw();
    await client.close().catch(() => {});
  }
}

function openTransport(server: ServerConfig): Transport {
  if (server.url !== undefined) {
    return new StreamableHTTPClientTransport(new URL(server.url), {
      requestInit: { headers: server.headers },
    }) as Transport;
  }
  return new StdioClientTransport({
    command: server.command ?? "",
    args: server.args,
    env: { ...getDefaultEnvironment(), ...server.env },
    cwd: server.cwd,
    stderr: "ignore",
  });
}

async function listTools(client: Client, { name, server, log }: ConnectOptions): Promise<Tool[]> {
  const found: Tool[] = [];
  let cursor: string | undefined;
  do {
    const page = await client.listTools(cursor === undefined ? {} : { cursor });
    for (const tool of page.tools) {
      if (server.tools && !server.tools.includes(tool.name)) continue;
      found.push({
        name: toolName(name, tool.name),
        description: tool.description ?? tool.title ?? `${tool.name} of ${name}`,
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
  if (result.isError) throw new ToolRefusal(text || "the tool failed");
  if (parts.length === 0 && result.structuredContent) return result.structuredContent;
  return parts.every(({ type }) => type === "text") ? text : parts;
}

/** `<server>_<tool>` in the letters that models accept. */
function toolName(server: string, tool: string): string {
  return `${server}_${tool}`
    .toLowerCase()
    .replace(/[^a-z0-9_]/g, "_")
    .slice(0, 64);
}

/**
 * `POST /mcp`: the gateway as an MCP server over Streamable HTTP, without sessions, so that any gateway of several can
 * answer any request. https://modelcontextprotocol.io/specification/2025-06-18/basic/transports
 */
import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import {
  type CallToolResult,
  CallToolRequestSchema,
  ListToolsRequestSchema,
} from "@modelcontextprotocol/sdk/types.js";
import type { Call, Tool } from "portico";
import { type Access, runTool, toolParts } from "portico/agent";

export interface McpServices {
  version: string;
  tools: () => readonly Tool[];
  /** What the call's principal may use. */
  access: Access;
}

export async function serveMcp(call: Call, services: McpServices): Promise<void> {
  const message = await call.json();
  const server = createServer(call, services);
  const transport = new StreamableHTTPServerTransport({
    sessionIdGenerator: undefined,
    enableJsonResponse: true,
  });
  call.res.on("close", () => void server.close());
  await server.connect(transport as Parameters<Server["connect"]>[0]);
  await transport.handleRequest(call.req, call.res, message);
}

function createServer(call: Call, { version, tools, access }: McpServices): Server {
  const offered = () => unique(tools()).filter((tool) => access.mayUseTool(tool));
  const server = new Server({ name: "portico", version }, { capabilities: { tools: {} } });
  server.setRequestHandler(ListToolsRequestSchema, () => ({
    tools: offered().map(({ name, description, parameters }) => ({
      name,
      description,
      inputSchema: { ...parameters, type: "object" as const },
    })),
  }));
  server.setRequestHandler(CallToolRequestSchema, async ({ params }, { signal }) => {
    const tool = offered().find(({ name }) => name === params.name);
    if (!tool) return failure(`There is no tool ${JSON.stringify(params.name)}.`);
    try {
      const either = AbortSignal.any([signal, call.signal]);
      const value = await runTool(tool, params.arguments ?? {}, {
        signal: either,
        log: call.log,
        sessionKey: "mcp",
        principal: access.principal,
        access,
      });
      return { content: contentOf(value) };
    } catch (error) {
      call.log.warn({ err: error, tool: tool.name }, "tool failed");
      return failure((error as Error).message);
    }
  });
  return server;
}

function unique(tools: readonly Tool[]): Tool[] {
  return [...new Map([...tools].reverse().map((tool) => [tool.name, tool])).values()].reverse();
}

function failure(message: string): CallToolResult {
  return { isError: true, content: [{ type: "text", text: message }] };
}

function contentOf(value: unknown): CallToolResult["content"] {
  return toolParts(value).map((part) => {
    if (part.type === "text") return part;
    const inline = /^data:([^;,]+);base64,(.*)$/s.exec(part.url);
    if (inline) return { type: "image", mimeType: inline[1] as string, data: inline[2] as string };
    return { type: "text", text: part.url };
  });
}

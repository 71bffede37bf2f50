/**
 * `POST /mcp`: the gateway as an MCP server over Streamable HTTP, without sessions, so that any gateway of several can
 * answer any request. https://modelcontextprotocol.io/specification/2025-11-25/basic/transports
 */
import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { ErrorCode, JSONRPCMessageSchema } from "@modelcontextprotocol/sdk/types.js";
import { type Call, isPorticoError, type Tool, type ToolProgress } from "portico";
import { type Access, mcpResultOf, runTool, toolParts } from "portico/agent";
import { Catalog } from "./catalog.ts";
import { type Json, NO_VALIDATOR, type Remote, RpcError } from "./remote.ts";

export interface McpServices {
  version: string;
  tools: () => readonly Tool[];
  remotes: () => readonly Remote[];
  /** What the call's principal may use. */
  access: Access;
}

export async function serveMcp(call: Call, services: McpServices): Promise<void> {
  const message = await readMessage(call);
  if (message === undefined) return;
  const server = createServer(call, services);
  const transport = new StreamableHTTPServerTransport({
    sessionIdGenerator: undefined,
    enableJsonResponse: !needsStream(message, services),
  });
  call.res.on("close", () => void server.close());
  await server.connect(transport as Parameters<Server["connect"]>[0]);
  await transport.handleRequest(call.req, call.res, message);
}

/** Undefined where the response, a JSON-RPC error, was written already. */
async function readMessage(call: Call): Promise<unknown> {
  let message: unknown;
  try {
    message = await call.json();
  } catch (error) {
    if (!isPorticoError(error) || error.code !== "invalid_json") throw error;
    return refuse(call, ErrorCode.ParseError, `Parse error: ${error.message}`);
  }
  const messages = Array.isArray(message) ? message : [message];
  const isValid =
    messages.length > 0 && messages.every((each) => JSONRPCMessageSchema.safeParse(each).success);
  if (isValid) return message;
  return refuse(call, ErrorCode.InvalidRequest, "Invalid Request: this is no JSON-RPC 2.0 message");
}

function refuse({ res }: Call, code: number, message: string): undefined {
  res.writeHead(400, { "content-type": "application/json" });
  res.end(JSON.stringify({ jsonrpc: "2.0", id: null, error: { code, message } }));
}

/** Of calls that may have something to say before their result: progress that was asked for, or a server's log. */
function needsStream(message: unknown, { access, remotes }: McpServices): boolean {
  const { method, params } = Object(message) as {
    method?: unknown;
    params?: { _meta?: { progressToken?: unknown } };
  };
  if (method !== "tools/call") return false;
  if (params?._meta?.progressToken !== undefined) return true;
  return access.isOwner && remotes().some((remote) => remote.has("logging"));
}

interface Extra {
  signal: AbortSignal;
  notify(method: string, params: Json): Promise<void>;
}

type Handler = (params: Json, extra: Extra) => Json | Promise<Json>;

function createServer(call: Call, services: McpServices): Server {
  const handlers = handlersFor(call, services);
  const server = new Server(
    { name: "portico", version: services.version },
    {
      capabilities: { tools: {}, prompts: {}, resources: {}, completions: {}, logging: {} },
      jsonSchemaValidator: NO_VALIDATOR,
    },
  );
  // the library's own remembers the level with the session, and there is none
  server.removeRequestHandler("logging/setLevel");
  // the library's own handlers would take out of results what they do not know
  server.fallbackRequestHandler = async ({ method, params = {} }, extra) => {
    const handler = handlers.get(method);
    if (handler === undefined) throw new RpcError(ErrorCode.MethodNotFound, "Method not found");
    const signal = AbortSignal.any([extra.signal, call.signal]);
    const notify = (name: string, about: Json) =>
      extra.sendNotification({ method: name, params: about } as never);
    return handler(params as Json, { signal, notify });
  };
  return server;
}

function handlersFor(call: Call, services: McpServices): Map<string, Handler> {
  const { access, tools, remotes } = services;
  const offered = () => unique(tools()).filter((tool) => access.mayUseTool(tool));
  // the owner's, as the servers are
  const catalog = ({ signal }: Extra) =>
    new Catalog({ remotes: access.isOwner ? remotes() : [], log: call.log, signal });
  return new Map<string, Handler>([
    ["tools/list", () => ({ tools: offered().map(describe) })],
    ["tools/call", (params, extra) => callTool(params, extra, { call, access, tools: offered() })],
    ["prompts/list", (_, extra) => catalog(extra).prompts()],
    ["prompts/get", (params, extra) => catalog(extra).getPrompt(params)],
    ["resources/list", (_, extra) => catalog(extra).resources()],
    ["resources/templates/list", (_, extra) => catalog(extra).templates()],
    ["resources/read", (params, extra) => catalog(extra).readResource(params)],
    ["logging/setLevel", (params, extra) => catalog(extra).setLogLevel(params)],
    ["completion/complete", (params, extra) => catalog(extra).complete(params)],
  ]);
}

function describe({ name, description, parameters, listing }: Tool): Json {
  return { ...listing, name, description, inputSchema: { ...parameters, type: "object" } };
}

interface ToolScope {
  call: Call;
  access: Access;
  tools: readonly Tool[];
}

/** A tool that fails, or gets arguments that do not fit, is a result: the model that called it is to read why. */
async function callTool(
  { name, arguments: args = {}, _meta: meta }: Json,
  { signal, notify }: Extra,
  { call, access, tools }: ToolScope,
): Promise<Json> {
  const tool = tools.find((each) => each.name === name);
  if (!tool)
    throw new RpcError(ErrorCode.InvalidParams, `There is no tool ${JSON.stringify(name)}.`);
  const { progressToken } = Object(meta) as { progressToken?: unknown };
  const onProgress = (progress: ToolProgress) => {
    notify("notifications/progress", { ...progress, progressToken }).catch(() => {});
  };
  const onLog = (entry: Json) => {
    notify("notifications/message", entry).catch(() => {});
  };
  try {
    const value = await runTool(tool, args, {
      signal,
      log: call.log,
      sessionKey: "mcp",
      principal: access.principal,
      access,
      onLog: access.isOwner ? onLog : undefined,
      onProgress: progressToken === undefined ? undefined : onProgress,
    });
    return mcpResultOf(value) ?? { content: contentOf(value) };
  } catch (error) {
    call.log.warn({ err: error, tool: tool.name }, "tool failed");
    return mcpResultOf(error) ?? failure((error as Error).message);
  }
}

function unique(tools: readonly Tool[]): Tool[] {
  return [...new Map([...tools].reverse().map((tool) => [tool.name, tool])).values()].reverse();
}

function failure(message: string): Json {
  return { isError: true, content: [{ type: "text", text: message }] };
}

/** The parts of one of the gateway's own tools. */
function contentOf(value: unknown): Json[] {
  return toolParts(value).map((part) => {
    if (part.type === "text") return { type: "text", text: part.text };
    const inline = /^data:([^;,]+);base64,(.*)$/s.exec(part.url);
    if (inline) return { type: "image", mimeType: inline[1], data: inline[2] };
    return { type: "text", text: part.url };
  });
}

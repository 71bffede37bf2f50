/**
 * `/mcp`: the gateway as an MCP server over Streamable HTTP. A client that begins with `initialize` gets a session if the
 * gateway is a single process. A request without a session is independent of all others, so that any of several gateways
 * can serve it. https://modelcontextprotocol.io/specification/2025-11-25/basic/transports
 */
import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { ErrorCode, JSONRPCMessageSchema, ResultSchema } from "@modelcontextprotocol/sdk/types.js";
import { type Call, isPorticoError, type Logger, type Tool, type ToolProgress } from "portico";
import { type Access, mcpResultOf, runTool, toolParts } from "portico/agent";
import { Catalog } from "./catalog.ts";
import { type AskClient, type Json, NO_VALIDATOR, type Remote, RpcError } from "./remote.ts";
import type { Sessions } from "./sessions.ts";
import type { Subscriptions } from "./subscriptions.ts";

export interface McpServices {
  version: string;
  tools: () => readonly Tool[];
  remotes: () => readonly Remote[];
  /** The rights of the call's principal. */
  access: Access;
  /** Undefined if other processes serve requests too, because they do not have the sessions of this one. */
  sessions: Sessions | undefined;
}

export async function serveMcp(call: Call, services: McpServices): Promise<void> {
  const message = await readMessage(call);
  if (message === undefined) return;
  const { sessions, access } = services;
  const id = call.req.headers["mcp-session-id"];
  if (typeof id === "string" && sessions !== undefined) {
    const session = sessions.find(id, access);
    return session === undefined ? refuseSession(call) : sessions.serve(session, call, message);
  }
  if (sessions !== undefined && isInitialize(message)) {
    const session = await sessions.open(access, ({ subscriptions }) =>
      createServer({ log: call.log, ...services, subscriptions }),
    );
    return sessions.serve(session, call, message);
  }
  const server = createServer({ log: call.log, signal: call.signal, ...services });
  const transport = new StreamableHTTPServerTransport({
    sessionIdGenerator: undefined,
    enableJsonResponse: !needsStream(message, services),
  });
  call.res.on("close", () => void server.close());
  await server.connect(transport as Parameters<Server["connect"]>[0]);
  await transport.handleRequest(call.req, call.res, message);
}

/** Serves GET, the stream on which a client receives notifications, and DELETE, the end of its session. */
export async function serveSession(call: Call, services: McpServices): Promise<void> {
  const id = call.req.headers["mcp-session-id"];
  if (typeof id !== "string") return refuseMethod(call);
  const session = services.sessions?.find(id, services.access);
  if (session === undefined || services.sessions === undefined) return refuseSession(call);
  // The HTTP server cannot close while such a stream is open.
  call.closing.addEventListener("abort", () => call.res.end(), { once: true });
  await services.sessions.serve(session, call);
}

/** This response tells clients that the server sends no notifications without a session. */
function refuseMethod({ res }: Call): void {
  res.setHeader("allow", "POST");
  writeError(
    res,
    405,
    ErrorCode.InvalidRequest,
    "The Mcp-Session-Id header is missing. Send it, or use POST.",
  );
}

const isInitialize = (message: unknown): boolean =>
  !Array.isArray(message) && Object(message)["method"] === "initialize";

const SESSION_NOT_FOUND = -32001;

/** Responds as the protocol requires to make a client begin again with `initialize`. */
function refuseSession({ res }: Call): void {
  writeError(res, 404, SESSION_NOT_FOUND, "There is no such session. Begin with initialize.");
}

/** Returns undefined if the message is invalid; it has then written a JSON-RPC error as the response. */
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
  return refuse(
    call,
    ErrorCode.InvalidRequest,
    "Invalid Request: this is not a JSON-RPC 2.0 message",
  );
}

function refuse({ res }: Call, code: number, message: string): undefined {
  writeError(res, 400, code, message);
}

function writeError(res: Call["res"], status: number, code: number, message: string): void {
  res.writeHead(status, { "content-type": "application/json" });
  res.end(JSON.stringify({ jsonrpc: "2.0", id: null, error: { code, message } }));
}

/** Returns whether a call may send notifications before its result: requested progress, or a server's log. */
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
  /** Undefined without a session, because the client's reply could not reach this gateway. */
  askClient: AskClient | undefined;
}

type Handler = (params: Json, extra: Extra) => Json | Promise<Json>;

/** The context of the handlers of one request, or of one session. */
interface Scope extends McpServices {
  log: Logger;
  /** The signal of a single request. A session has none, because its requests end when the client cancels them. */
  signal?: AbortSignal;
  /** Set for a session only. */
  subscriptions?: Subscriptions;
}

function createServer(scope: Scope): Server {
  const resources = scope.subscriptions === undefined ? {} : { subscribe: true };
  const server = new Server(
    { name: "portico", version: scope.version },
    {
      capabilities: { tools: {}, prompts: {}, resources, completions: {}, logging: {} },
      jsonSchemaValidator: NO_VALIDATOR,
    },
  );
  const handlers = createHandlers(scope, server);
  // The library's own handler stores the level with the session, but the level applies to all connected servers.
  server.removeRequestHandler("logging/setLevel");
  // The library's own handlers would remove unknown members from results.
  server.fallbackRequestHandler = async ({ method, params = {} }, extra) => {
    const handler = handlers.get(method);
    if (handler === undefined) throw new RpcError(ErrorCode.MethodNotFound, "Method not found");
    const signals = scope.signal === undefined ? [extra.signal] : [extra.signal, scope.signal];
    const signal = AbortSignal.any(signals);
    const notify = (name: string, notificationParams: Json) =>
      extra.sendNotification({ method: name, params: notificationParams } as never);
    const askClient: AskClient = (name, requestParams) =>
      extra.sendRequest({ method: name, params: requestParams } as never, ResultSchema, {
        timeout: CLIENT_MS,
        signal,
      });
    const hasSession = scope.subscriptions !== undefined;
    return handler(params as Json, {
      signal,
      notify,
      askClient: hasSession ? askClient : undefined,
    });
  };
  return server;
}

/** The deadline for a client's reply, which may need a person. The deadline of the call itself also applies. */
const CLIENT_MS = 600_000;

function createHandlers(scope: Scope, server: Server): Map<string, Handler> {
  const { access, tools, remotes, log, subscriptions } = scope;
  const offeredTools = () => keepFirstOfEachName(tools()).filter((tool) => access.mayUseTool(tool));
  // The servers belong to the owner, so only the owner sees their prompts and resources.
  const catalog = ({ signal }: Extra) =>
    new Catalog({ remotes: access.isOwner ? remotes() : [], log, signal });
  const handlers = new Map<string, Handler>([
    ["tools/list", () => ({ tools: offeredTools().map(describe) })],
    [
      "tools/call",
      (params, extra) => callTool(params, extra, { log, access, tools: offeredTools() }),
    ],
    ["prompts/list", (_, extra) => catalog(extra).listPrompts()],
    ["prompts/get", (params, extra) => catalog(extra).getPrompt(params)],
    ["resources/list", (_, extra) => catalog(extra).listResources()],
    ["resources/templates/list", (_, extra) => catalog(extra).listTemplates()],
    ["resources/read", (params, extra) => catalog(extra).readResource(params)],
    ["logging/setLevel", (params, extra) => catalog(extra).setLogLevel(params)],
    ["completion/complete", (params, extra) => catalog(extra).complete(params)],
  ]);
  if (subscriptions === undefined) return handlers;
  return handlers
    .set("resources/subscribe", async (params, extra) => {
      const { uri, remote, name } = await catalog(extra).findSubscribable(params);
      const notify = (): void => void server.sendResourceUpdated({ uri }).catch(() => {});
      if (!(await subscriptions.add(uri, remote, name, notify)))
        throw new RpcError(
          ErrorCode.InvalidRequest,
          "This session has too many subscriptions. Remove a subscription first.",
        );
      return {};
    })
    .set("resources/unsubscribe", async ({ uri }) => {
      await subscriptions.remove(String(uri));
      return {};
    });
}

function describe({ name, description, parameters, listing }: Tool): Json {
  return { ...listing, name, description, inputSchema: { ...parameters, type: "object" } };
}

interface ToolScope {
  log: Logger;
  access: Access;
  tools: readonly Tool[];
}

/**
 * A failed tool or invalid arguments produce a result with `isError`, so that the model that called the tool reads why.
 */
async function callTool(
  { name, arguments: args = {}, _meta: meta }: Json,
  { signal, notify, askClient }: Extra,
  { log, access, tools }: ToolScope,
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
      log,
      sessionKey: "mcp",
      principal: access.principal,
      access,
      onLog: access.isOwner ? onLog : undefined,
      askClient: access.isOwner ? askClient : undefined,
      onProgress: progressToken === undefined ? undefined : onProgress,
    });
    return mcpResultOf(value) ?? { content: toContent(value) };
  } catch (error) {
    log.warn({ err: error, tool: tool.name }, "tool failed");
    return mcpResultOf(error) ?? createFailure((error as Error).message);
  }
}

function keepFirstOfEachName(tools: readonly Tool[]): Tool[] {
  return [...new Map([...tools].reverse().map((tool) => [tool.name, tool])).values()].reverse();
}

function createFailure(message: string): Json {
  return { isError: true, content: [{ type: "text", text: message }] };
}

/** Converts the result of one of the gateway's own tools. */
function toContent(value: unknown): Json[] {
  return toolParts(value).map((part) => {
    if (part.type === "text") return { type: "text", text: part.text };
    const inline = /^data:([^;,]+);base64,(.*)$/s.exec(part.url);
    if (inline) return { type: "image", mimeType: inline[1], data: inline[2] };
    return { type: "text", text: part.url };
  });
}

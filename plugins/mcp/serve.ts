/**
 * `/mcp`: the gateway as an MCP server over Streamable HTTP. A client that begins with `initialize` gets a session where
 * the gateway is one process; a request without a session is answered by itself, so that any gateway of several can
 * answer it. https://modelcontextprotocol.io/specification/2025-11-25/basic/transports
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
  /** What the call's principal may use. */
  access: Access;
  /** Undefined where other processes answer requests too, and would not know them. */
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

/** GET: the stream on which a client hears of changes. DELETE: the end of its session. */
export async function serveSession(call: Call, services: McpServices): Promise<void> {
  const id = call.req.headers["mcp-session-id"];
  if (typeof id !== "string") return refuseMethod(call);
  const session = services.sessions?.find(id, services.access);
  if (session === undefined || services.sessions === undefined) return refuseSession(call);
  // Where the server closes, such a stream would keep it waiting.
  call.closing.addEventListener("abort", () => call.res.end(), { once: true });
  await services.sessions.serve(session, call);
}

/** Clients take this as a sign that a server without sessions sends nothing by itself. */
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

/** The protocol's sign for a client that it has to begin again with `initialize`. */
function refuseSession({ res }: Call): void {
  writeError(res, 404, SESSION_NOT_FOUND, "There is no such session. Begin with initialize.");
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
  /** Undefined without a session, in which the client's reply could reach us. */
  askClient: AskClient | undefined;
}

type Handler = (params: Json, extra: Extra) => Json | Promise<Json>;

/** What the handlers of one request, or of one session, work with. */
interface Scope extends McpServices {
  log: Logger;
  /** Aborted with the request; a session's requests end when the client cancels them. */
  signal?: AbortSignal;
  /** Of a session. */
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
  const handlers = handlersFor(scope, server);
  // the library's own remembers the level with the session, and the level is that of all connected servers
  server.removeRequestHandler("logging/setLevel");
  // the library's own handlers would take out of results what they do not know
  server.fallbackRequestHandler = async ({ method, params = {} }, extra) => {
    const handler = handlers.get(method);
    if (handler === undefined) throw new RpcError(ErrorCode.MethodNotFound, "Method not found");
    const signals = scope.signal === undefined ? [extra.signal] : [extra.signal, scope.signal];
    const signal = AbortSignal.any(signals);
    const notify = (name: string, about: Json) =>
      extra.sendNotification({ method: name, params: about } as never);
    const askClient: AskClient = (name, about) =>
      extra.sendRequest({ method: name, params: about } as never, ResultSchema, {
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

/** A client may have to ask a person; the call's own deadline counts beside it. */
const CLIENT_MS = 600_000;

function handlersFor(scope: Scope, server: Server): Map<string, Handler> {
  const { access, tools, remotes, log, subscriptions } = scope;
  const offered = () => unique(tools()).filter((tool) => access.mayUseTool(tool));
  // the owner's, as the servers are
  const catalog = ({ signal }: Extra) =>
    new Catalog({ remotes: access.isOwner ? remotes() : [], log, signal });
  const handlers = new Map<string, Handler>([
    ["tools/list", () => ({ tools: offered().map(describe) })],
    ["tools/call", (params, extra) => callTool(params, extra, { log, access, tools: offered() })],
    ["prompts/list", (_, extra) => catalog(extra).prompts()],
    ["prompts/get", (params, extra) => catalog(extra).getPrompt(params)],
    ["resources/list", (_, extra) => catalog(extra).resources()],
    ["resources/templates/list", (_, extra) => catalog(extra).templates()],
    ["resources/read", (params, extra) => catalog(extra).readResource(params)],
    ["logging/setLevel", (params, extra) => catalog(extra).setLogLevel(params)],
    ["completion/complete", (params, extra) => catalog(extra).complete(params)],
  ]);
  if (subscriptions === undefined) return handlers;
  return handlers
    .set("resources/subscribe", async (params, extra) => {
      const { uri, remote, name } = await catalog(extra).followed(params);
      const notify = (): void => void server.sendResourceUpdated({ uri }).catch(() => {});
      if (!(await subscriptions.add(uri, remote, name, notify)))
        throw new RpcError(
          ErrorCode.InvalidRequest,
          "This session has too many subscriptions. Remove one first.",
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

/** A tool that fails, or gets arguments that do not fit, is a result: the model that called it is to read why. */
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
    return mcpResultOf(value) ?? { content: contentOf(value) };
  } catch (error) {
    log.warn({ err: error, tool: tool.name }, "tool failed");
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

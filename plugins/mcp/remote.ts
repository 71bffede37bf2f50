/**
 * Sends requests to one connected MCP server. Its responses stay unchanged: the gateway validates only the members that
 * it reads.
 */
import type { Client } from "@modelcontextprotocol/sdk/client/index.js";
import {
  ErrorCode,
  LoggingMessageNotificationSchema,
  McpError,
  ProgressNotificationSchema,
  ResourceUpdatedNotificationSchema,
  ResultSchema,
} from "@modelcontextprotocol/sdk/types.js";
import type { ToolProgress } from "portico";
import type { jsonSchemaValidator } from "@modelcontextprotocol/sdk/validation/types.js";

export type Json = Record<string, unknown>;

declare module "portico" {
  interface ToolCall {
    /** Receives what the tool's server logs during the call, for the MCP client. */
    onLog?: ((entry: Record<string, unknown>) => void) | undefined;
    /** Lets the tool's server ask the calling MCP client for a completion of a model or for input from its user. */
    askClient?: AskClient | undefined;
  }
}

/** Sends a request to an MCP client, and resolves with its result. */
export type AskClient = (
  method: string,
  params: Record<string, unknown>,
) => Promise<Record<string, unknown>>;

/** The requests that a connected server may send to the client that calls its tool. */
const CLIENT_METHODS = ["sampling/createMessage", "elicitation/create"];

/** Replaces the library's own validator, which generates code from the servers' schemas. */
export const NO_VALIDATOR: jsonSchemaValidator = {
  getValidator: () => (data) => ({ valid: true, data: data as never, errorMessage: undefined }),
};

/** An error of the protocol, with its code. The library's own class also puts the code into the message. */
export class RpcError extends Error {
  override name = "RpcError";
  readonly code: number;
  readonly data: unknown;

  constructor(code: number, message: string, data?: unknown) {
    super(message);
    this.code = code;
    this.data = data;
  }
}

/** The limits of a list, because a faulty server may send pages for ever. */
const MAX_ENTRIES = 1000;
const MAX_PAGES = 100;

export interface RequestOptions {
  signal?: AbortSignal | undefined;
  onProgress?: ((progress: ToolProgress) => void) | undefined;
  /** Receives everything that the server logs meanwhile, because a log entry does not name its request. */
  onLog?: ((entry: Json) => void) | undefined;
  askClient?: AskClient | undefined;
}

export interface RemoteOptions {
  name: string;
  client: Client;
  timeoutMs: number;
}

export class Remote {
  readonly name: string;
  readonly #client: Client;
  readonly #timeoutMs: number;
  readonly #progress = new Map<string | number, (progress: ToolProgress) => void>();
  readonly #logListeners = new Set<(entry: Json) => void>();
  readonly #calls = new Set<RequestOptions>();
  readonly #followers = new Map<string, Set<() => void>>();
  #lastToken = 0;

  constructor({ name, client, timeoutMs }: RemoteOptions) {
    this.name = name;
    this.#client = client;
    this.#timeoutMs = timeoutMs;
    // The library's own handler loses notifications that arrive right before the response.
    client.setNotificationHandler(ProgressNotificationSchema, ({ params }) => {
      const { progressToken, progress, total, message } = params;
      this.#progress.get(progressToken)?.({ progress, total, message });
    });
    client.setNotificationHandler(LoggingMessageNotificationSchema, ({ params }) => {
      for (const listen of this.#logListeners) listen(params);
    });
    client.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params }) => {
      for (const notify of this.#followers.get(params.uri) ?? []) notify();
    });
    client.fallbackRequestHandler = async ({ method, params = {} }) =>
      this.#askCaller(method, params as Json);
  }

  /** A server does not say which call its request belongs to, so requests are refused while several calls run. */
  #askCaller(method: string, params: Json): Promise<Json> {
    if (!CLIENT_METHODS.includes(method))
      throw new RpcError(ErrorCode.MethodNotFound, "Method not found");
    const [call, ...otherCalls] = this.#calls;
    if (call?.askClient === undefined || otherCalls.length > 0)
      throw new RpcError(
        ErrorCode.InvalidRequest,
        "The request cannot be passed to an MCP client: exactly one call must be running, and its client must have a session.",
      );
    return call.askClient(method, params);
  }

  get canSubscribe(): boolean {
    return this.#client.getServerCapabilities()?.resources?.subscribe === true;
  }

  /** Follows the changes of a resource until the returned function is called. */
  async subscribe(uri: string, notify: () => void): Promise<() => Promise<void>> {
    const followers = this.#followers.get(uri) ?? new Set();
    const follower = (): void => notify();
    this.#followers.set(uri, followers.add(follower));
    const unsubscribe = async (): Promise<void> => {
      followers.delete(follower);
      if (followers.size > 0 || !this.#followers.delete(uri)) return;
      // A server forgets its subscriptions with the connection.
      if (this.#client.transport === undefined) return;
      await this.request("resources/unsubscribe", { uri });
    };
    try {
      await this.request("resources/subscribe", { uri });
    } catch (error) {
      followers.delete(follower);
      throw error;
    }
    return unsubscribe;
  }

  has(capability: "tools" | "prompts" | "resources" | "completions" | "logging"): boolean {
    return this.#client.getServerCapabilities()?.[capability] !== undefined;
  }

  async request(method: string, params: Json, options: RequestOptions = {}): Promise<Json> {
    const { signal, onProgress, onLog } = options;
    const requestOptions = {
      timeout: this.#timeoutMs,
      ...(signal === undefined ? {} : { signal }),
    };
    const progressToken = ++this.#lastToken;
    const requestParams =
      onProgress === undefined ? params : { ...params, _meta: { progressToken } };
    if (onProgress !== undefined) this.#progress.set(progressToken, onProgress);
    if (onLog !== undefined) this.#logListeners.add(onLog);
    if (method === "tools/call") this.#calls.add(options);
    try {
      return await this.#send(method, requestParams, requestOptions);
    } finally {
      this.#progress.delete(progressToken);
      if (onLog !== undefined) this.#logListeners.delete(onLog);
      this.#calls.delete(options);
    }
  }

  async #send(
    method: string,
    params: Json,
    options: { timeout: number; signal?: AbortSignal },
  ): Promise<Json> {
    try {
      return (await this.#client.request({ method, params }, ResultSchema, options)) as Json;
    } catch (error) {
      if (!(error instanceof McpError)) throw error;
      const { code, message, data } = error;
      throw new RpcError(code, message.replace(`MCP error ${code}: `, ""), data);
    }
  }

  /** Reads all pages. `member` names the entries in the result; entries that are not objects are left out. */
  async list(method: string, member: string, signal?: AbortSignal): Promise<Json[]> {
    const entries: Json[] = [];
    let cursor: unknown;
    for (let page = 1; page === 1 || cursor !== undefined; page++) {
      if (page > MAX_PAGES || entries.length > MAX_ENTRIES)
        throw new Error(
          `its list of ${member} does not end: more than ${MAX_ENTRIES} ${member}, or ${MAX_PAGES} pages of them`,
        );
      const params = cursor === undefined ? {} : { cursor };
      const result = await this.request(method, params, { signal });
      const items = result[member];
      if (!Array.isArray(items)) throw new Error(`its response to ${method} has no ${member}`);
      entries.push(...items.filter((entry) => typeof entry === "object" && entry !== null));
      cursor = result["nextCursor"];
    }
    return entries;
  }
}

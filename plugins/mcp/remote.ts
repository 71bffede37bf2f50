/** Requests to one connected MCP server. What it answers is kept as it came: only what the gateway reads is checked. */
import type { Client } from "@modelcontextprotocol/sdk/client/index.js";
import {
  LoggingMessageNotificationSchema,
  McpError,
  ProgressNotificationSchema,
  ResultSchema,
} from "@modelcontextprotocol/sdk/types.js";
import type { ToolProgress } from "portico";
import type { jsonSchemaValidator } from "@modelcontextprotocol/sdk/validation/types.js";

export type Json = Record<string, unknown>;

declare module "portico" {
  interface ToolCall {
    /** Where an MCP client wants to hear what a tool's server logs during the call. */
    onLog?: ((entry: Record<string, unknown>) => void) | undefined;
  }
}

/** In place of the library's own, which makes code of the servers' schemas. */
export const NO_VALIDATOR: jsonSchemaValidator = {
  getValidator: () => (data) => ({ valid: true, data: data as never, errorMessage: undefined }),
};

/** An error of the protocol, with its code. The library's own class puts the code into the message as well. */
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

/** A list that never ends is no list. */
const MOST_ENTRIES = 1000;
const MOST_PAGES = 100;

export interface RequestOptions {
  signal?: AbortSignal | undefined;
  onProgress?: ((progress: ToolProgress) => void) | undefined;
  /** Gets what the server logs meanwhile: it does not say which request that is about. */
  onLog?: ((entry: Json) => void) | undefined;
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
  #lastToken = 0;

  constructor({ name, client, timeoutMs }: RemoteOptions) {
    this.name = name;
    this.#client = client;
    this.#timeoutMs = timeoutMs;
    // the library's own handler loses what comes right before the response
    client.setNotificationHandler(ProgressNotificationSchema, ({ params }) => {
      const { progressToken, progress, total, message } = params;
      this.#progress.get(progressToken)?.({ progress, total, message });
    });
    client.setNotificationHandler(LoggingMessageNotificationSchema, ({ params }) => {
      for (const listen of this.#logListeners) listen(params);
    });
  }

  has(capability: "tools" | "prompts" | "resources" | "completions" | "logging"): boolean {
    return this.#client.getServerCapabilities()?.[capability] !== undefined;
  }

  async request(method: string, params: Json, options: RequestOptions = {}): Promise<Json> {
    const { signal, onProgress, onLog } = options;
    const timed = { timeout: this.#timeoutMs, ...(signal === undefined ? {} : { signal }) };
    const progressToken = ++this.#lastToken;
    const asked = onProgress === undefined ? params : { ...params, _meta: { progressToken } };
    if (onProgress !== undefined) this.#progress.set(progressToken, onProgress);
    if (onLog !== undefined) this.#logListeners.add(onLog);
    try {
      return await this.#send(method, asked, timed);
    } finally {
      this.#progress.delete(progressToken);
      if (onLog !== undefined) this.#logListeners.delete(onLog);
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

  /** All pages. `member`: where the entries stand in the result; those that are no objects are left out. */
  async list(method: string, member: string, signal?: AbortSignal): Promise<Json[]> {
    const entries: Json[] = [];
    let cursor: unknown;
    for (let page = 1; page === 1 || cursor !== undefined; page++) {
      if (page > MOST_PAGES || entries.length > MOST_ENTRIES)
        throw new Error(
          `its list of ${member} does not end: more than ${MOST_ENTRIES} ${member}, or ${MOST_PAGES} pages of them`,
        );
      const params = cursor === undefined ? {} : { cursor };
      const result = await this.request(method, params, { signal });
      const listed = result[member];
      if (!Array.isArray(listed)) throw new Error(`its answer to ${method} has no ${member}`);
      entries.push(...listed.filter((entry) => typeof entry === "object" && entry !== null));
      cursor = result["nextCursor"];
    }
    return entries;
  }
}

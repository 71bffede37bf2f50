/** The command line's client for the running gateway. It uses node:http, which loads faster than fetch. */
import { setMaxListeners } from "node:events";
import { type ClientRequest, type IncomingMessage, request as httpRequest } from "node:http";
import { exactJson } from "portico";

export interface RequestOptions {
  query?: Record<string, string | number | boolean | undefined>;
  headers?: Record<string, string>;
  /** The name of another server of the gateway. Its address is read from `/kernel/status`. */
  server?: string;
  timeoutMs?: number;
}

export interface GatewayClient {
  /**
   * Resolves with the response's JSON. Rejects with the message of an error response; if no gateway responds, the message
   * says how to start one.
   */
  request<T = unknown>(
    method: string,
    path: string,
    body?: unknown,
    options?: RequestOptions,
  ): Promise<T>;
  /** Resolves with the response's bytes as a stream (SSE feeds, files). */
  stream(
    method: string,
    path: string,
    body?: unknown,
    options?: RequestOptions,
  ): Promise<AsyncIterable<Buffer>>;
}

/** The default timeout until the response to a GET request begins. */
const GET_TIMEOUT_MS = 60_000;

/** The gateway responded with an error, or no gateway responded. `body` is the response's JSON, if any. */
class GatewayError extends Error {
  override name = "GatewayError";
  constructor(
    message: string,
    readonly status?: number,
    readonly body?: unknown,
  ) {
    super(message);
  }
}

export interface ClientOptions {
  url: string;
  token?: string;
  /** The file with the gateway's own certificate. Exactly that certificate is trusted, whatever host it names. */
  cert?: string | undefined;
  signal: AbortSignal;
}

function encodeBody(body: unknown): Buffer | undefined {
  if (body === undefined || Buffer.isBuffer(body)) return body;
  return Buffer.from(exactJson.stringify(body) ?? "null");
}

function headersFor(
  token: string | undefined,
  payload: Buffer | undefined,
): Record<string, string | number> {
  return {
    accept: "application/json",
    "user-agent": "portico-cli/1",
    // each UTF-8 byte becomes one latin1 character, because a header can hold no others
    ...(token && { authorization: `Bearer ${Buffer.from(token).toString("latin1")}` }),
    ...(payload && { "content-type": "application/json", "content-length": payload.length }),
  };
}

/** Destroys a request if its response does not begin in time. */
function setResponseTimeout(req: ClientRequest, requestedMs: number | undefined): void {
  const timeoutMs = requestedMs ?? (req.method === "GET" ? GET_TIMEOUT_MS : undefined);
  if (timeoutMs)
    req.setTimeout(timeoutMs, () => req.destroy(new Error(`no response within ${timeoutMs} ms`)));
  // Once its response has begun, a stream may stay silent for any time.
  if (requestedMs === undefined) req.on("response", () => req.setTimeout(0));
}

export function createClient(options: ClientOptions): GatewayClient {
  // `start` prints the address with the /v1 that clients of OpenAI's format require.
  const base = options.url.replace(/(?:\/v1)?\/*$/, "");
  if (!/^https?:/i.test(base) || !URL.canParse(base))
    throw new GatewayError(
      `--url must be like http://127.0.0.1:18789, not ${JSON.stringify(options.url)}.`,
    );
  setMaxListeners(0, options.signal); // each running request adds a listener, and Node would warn on stderr from the eleventh on
  let servers: Record<string, string> | undefined;

  async function serverUrl(server: string | undefined): Promise<string> {
    if (!server) return base;
    servers ??= ((await request("GET", "/kernel/status")) as { servers: Record<string, string> })
      .servers;
    const url = servers[server];
    if (!url)
      throw new GatewayError(
        `The gateway at ${base} does not run the server "${server}". See portico plugins list.`,
      );
    return url;
  }

  async function send(
    method: string,
    path: string,
    body: unknown,
    extra: RequestOptions,
  ): Promise<IncomingMessage> {
    const url = new URL((await serverUrl(extra.server)) + path);
    for (const [key, value] of Object.entries(extra.query ?? {})) {
      if (value !== undefined) url.searchParams.set(key, String(value));
    }
    const payload = encodeBody(body);
    const headers = { ...headersFor(options.token, payload), ...extra.headers };
    const openRequest =
      url.protocol === "https:"
        ? (await import("./https.ts")).requestTrusting(options.cert)
        : httpRequest;
    return new Promise((resolve, reject) => {
      // Node's shared agent times its sockets out after 5 s, and a long turn takes longer.
      const req = openRequest(
        url,
        { method, headers, signal: options.signal, agent: false },
        resolve,
      );
      setResponseTimeout(req, extra.timeoutMs);
      req.on("error", (error: NodeJS.ErrnoException) => reject(connectionError(error, base)));
      req.end(payload);
    });
  }

  async function request<T>(
    method: string,
    path: string,
    body?: unknown,
    extra: RequestOptions = {},
  ): Promise<T> {
    const res = await send(method, path, body, extra);
    const bytes = await readAll(res);
    if (!isFromPortico(res)) throw notPorticoError(base, describeResponse(res));
    if ((res.statusCode ?? 0) >= 400) throw responseError(res, bytes);
    if (bytes.length === 0) return undefined as T;
    return (isJson(res) ? JSON.parse(bytes.toString("utf8")) : bytes) as T;
  }

  async function stream(method: string, path: string, body?: unknown, extra: RequestOptions = {}) {
    const res = await send(method, path, body, extra);
    if (!isFromPortico(res)) {
      res.destroy();
      throw notPorticoError(base, describeResponse(res));
    }
    if ((res.statusCode ?? 0) >= 400) throw responseError(res, await readAll(res));
    return res as AsyncIterable<Buffer>;
  }

  return { request, stream };
}

/**
 * True if a gateway sent the response, and not a proxy in front of it: then it has a request id, and its errors are JSON.
 */
function isFromPortico(res: IncomingMessage): boolean {
  const isError = (res.statusCode ?? 0) >= 400;
  return res.headers["x-request-id"] !== undefined && (!isError || isJson(res));
}

const isJson = (res: IncomingMessage): boolean =>
  String(res.headers["content-type"] ?? "").includes("json");

function describeResponse({ statusCode, headers }: IncomingMessage): string {
  const type = headers["content-type"]?.split(";")[0] ?? "no content type";
  return `it responded with ${statusCode} and ${type}`;
}

function notPorticoError(base: string, reason: string): GatewayError {
  return new GatewayError(
    `The server at ${base} is not a Portico gateway: ${reason}. Check the address, or start a gateway with: portico start`,
  );
}

async function readAll(res: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of res) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

function responseError(res: IncomingMessage, bytes: Buffer): GatewayError {
  let body: { error?: { message?: string } | string } | undefined;
  try {
    body = JSON.parse(bytes.toString("utf8"));
  } catch {
    // The body is not JSON, so the message names the status only.
  }
  const message = typeof body?.error === "string" ? body.error : body?.error?.message;
  let hint =
    res.statusCode === 401 ? " Pass --token, or run the command with the gateway's --home." : "";
  if (res.statusCode === 404 && message?.startsWith("There is nothing at "))
    hint = " The plugin of this command may be disabled: see portico plugins list.";
  return new GatewayError(
    (message ?? `The gateway responded with ${res.statusCode}.`) + hint,
    res.statusCode,
    body,
  );
}

function connectionError(error: NodeJS.ErrnoException, base: string): Error {
  if (error.name === "AbortError") return error;
  if (/certificate/.test(error.message))
    return new GatewayError(`The gateway at ${base}: ${error.message}.`);
  const isSecure = /^https:/i.test(base);
  if (isSecure && /wrong version number|packet length too long/.test(error.message))
    return new GatewayError(`The server at ${base} does not speak TLS. Use http:// instead.`);
  if (!isSecure && error.code === "ECONNRESET")
    return new GatewayError(
      `The server at ${base} closed the connection. If it speaks TLS, use https:// instead.`,
    );
  if (error.code?.startsWith("HPE_")) return notPorticoError(base, "it does not speak HTTP");
  const isUnreachable = ["ECONNREFUSED", "ENOTFOUND", "ECONNRESET", "EHOSTUNREACH"].includes(
    error.code ?? "",
  );
  const reason = isUnreachable ? "" : ` (${error.message})`;
  return new GatewayError(`No gateway answers at ${base}${reason}. Start one with: portico start`);
}

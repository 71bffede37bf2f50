/** The running gateway, as the command line sees it. Plain node:http: it starts faster than fetch. */
import { setMaxListeners } from "node:events";
import { type ClientRequest, type IncomingMessage, request as httpRequest } from "node:http";
import { exactJson } from "portico";

export interface RequestOptions {
  query?: Record<string, string | number | boolean | undefined>;
  headers?: Record<string, string>;
  /** Another server of the gateway, by its name: its port is asked from `/kernel/status`. */
  server?: string;
  timeoutMs?: number;
}

export interface GatewayClient {
  /** The response's JSON. An error response is thrown with its message; no gateway there says how to start one. */
  request<T = unknown>(
    method: string,
    path: string,
    body?: unknown,
    options?: RequestOptions,
  ): Promise<T>;
  /** The response's bytes as they come (SSE feeds, files). */
  stream(
    method: string,
    path: string,
    body?: unknown,
    options?: RequestOptions,
  ): Promise<AsyncIterable<Buffer>>;
}

/** How long a gateway may take to begin a response that only reads. */
const GET_TIMEOUT_MS = 60_000;

/** The gateway responded with an error, or there is none. `body` is the response's JSON where it has one. */
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
  /** The file with the gateway's own certificate: that very one is trusted, whatever its name. */
  cert?: string | undefined;
  signal: AbortSignal;
}

function payloadOf(body: unknown): Buffer | undefined {
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
    // in UTF-8, one character for each byte, since a header takes no others
    ...(token && { authorization: `Bearer ${Buffer.from(token).toString("latin1")}` }),
    ...(payload && { "content-type": "application/json", "content-length": payload.length }),
  };
}

/** Ends a request for which no response begins in time. */
function boundSilence(req: ClientRequest, asked: number | undefined): void {
  const timeoutMs = asked ?? (req.method === "GET" ? GET_TIMEOUT_MS : undefined);
  if (timeoutMs)
    req.setTimeout(timeoutMs, () => req.destroy(new Error(`no response within ${timeoutMs} ms`)));
  // A stream may be silent for as long as it likes once its response has begun.
  if (asked === undefined) req.on("response", () => req.setTimeout(0));
}

export function createClient(options: ClientOptions): GatewayClient {
  // `start` prints the address with the /v1 that clients of OpenAI's format want.
  const base = options.url.replace(/(?:\/v1)?\/*$/, "");
  if (!/^https?:/i.test(base) || !URL.canParse(base))
    throw new GatewayError(
      `--url must be like http://127.0.0.1:18789, not ${JSON.stringify(options.url)}.`,
    );
  setMaxListeners(0, options.signal); // each request that runs has one: else Node warns on stderr from the eleventh on
  let servers: Record<string, string> | undefined;

  async function baseOf(server: string | undefined): Promise<string> {
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
    const url = new URL((await baseOf(extra.server)) + path);
    for (const [key, value] of Object.entries(extra.query ?? {})) {
      if (value !== undefined) url.searchParams.set(key, String(value));
    }
    const payload = payloadOf(body);
    const headers = { ...headersFor(options.token, payload), ...extra.headers };
    const open =
      url.protocol === "https:"
        ? (await import("./https.ts")).requestTrusting(options.cert)
        : httpRequest;
    return new Promise((resolve, reject) => {
      // Node's shared agent gives its sockets a time-out of 5 s, which a long turn outlives.
      const req = open(url, { method, headers, signal: options.signal, agent: false }, resolve);
      boundSilence(req, extra.timeoutMs);
      req.on("error", (error: NodeJS.ErrnoException) => reject(unreachable(error, base)));
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
    if (!isFromPortico(res)) throw notPortico(base, describeResponse(res));
    if ((res.statusCode ?? 0) >= 400) throw responseError(res, bytes);
    if (bytes.length === 0) return undefined as T;
    return (isJson(res) ? JSON.parse(bytes.toString("utf8")) : bytes) as T;
  }

  async function stream(method: string, path: string, body?: unknown, extra: RequestOptions = {}) {
    const res = await send(method, path, body, extra);
    if (!isFromPortico(res)) {
      res.destroy();
      throw notPortico(base, describeResponse(res));
    }
    if ((res.statusCode ?? 0) >= 400) throw responseError(res, await readAll(res));
    return res as AsyncIterable<Buffer>;
  }

  return { request, stream };
}

/** Every response of a gateway has a request id, and its errors are JSON. A proxy in front may answer by itself. */
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

function notPortico(base: string, reason: string): GatewayError {
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
    // Not from Portico, or not JSON: the status must do.
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

function unreachable(error: NodeJS.ErrnoException, base: string): Error {
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
  if (error.code?.startsWith("HPE_")) return notPortico(base, "it does not speak HTTP");
  const refused = ["ECONNREFUSED", "ENOTFOUND", "ECONNRESET", "EHOSTUNREACH"].includes(
    error.code ?? "",
  );
  const reason = refused ? "" : ` (${error.message})`;
  return new GatewayError(`No gateway answers at ${base}${reason}. Start one with: portico start`);
}

import type { IncomingMessage, RequestOptions } from "node:http";
import { request as httpRequest } from "node:http";
import { request as httpsRequest } from "node:https";
import type { LookupFunction } from "node:net";
import { isIP } from "node:net";
import { isPorticoError, withDeadline } from "portico";
import { parseUrl } from "portico/strings";
import { errors } from "./errors.ts";
import { plainHost } from "./names.ts";
import { readBody } from "./response-body.ts";
import type {
  CheckedUrl,
  Guard,
  GuardedFetchOptions,
  GuardedResponse,
  ResolvedAddress,
} from "./types.ts";

/** Headers that may follow a redirect to another origin. Any other header of the caller could be a secret. */
const HARMLESS_HEADERS = new Set([
  "accept",
  "accept-language",
  "user-agent",
  "if-none-match",
  "if-modified-since",
  "content-type",
]);
const REDIRECT_STATUSES = new Set([301, 302, 303, 307, 308]);

/**
 * Returns a `lookup` that answers with the checked addresses only, so that a second DNS answer cannot change the target.
 */
export function pinnedLookup(addresses: readonly ResolvedAddress[]): LookupFunction {
  return (_hostname, options, done) => {
    const family = options.family === 4 || options.family === 6 ? options.family : undefined;
    const matching =
      family === undefined ? addresses : addresses.filter((a) => a.family === family);
    const first = matching[0];
    if (first === undefined)
      done(
        Object.assign(
          new Error("the host name has no allowed address of the requested family (IPv4 or IPv6)"),
          {
            code: "ENOTFOUND",
          },
        ),
        "",
      );
    else if (options.all) done(null, [...matching]);
    else done(null, first.address, first.family);
  };
}

export const DEFAULT_HEADERS = { "user-agent": "portico", "accept-encoding": "gzip, br" };

export interface Hop {
  url: string;
  method: string;
  headers: Record<string, string>;
  body: string | Uint8Array | undefined;
}

function send(
  { url, addresses }: CheckedUrl,
  hop: Hop,
  signal: AbortSignal,
): Promise<IncomingMessage> {
  const host = plainHost(url.hostname);
  const options: RequestOptions & { servername?: string } = {
    method: hop.method,
    host,
    port: url.port || undefined,
    path: url.pathname + url.search,
    headers: { host: url.host, ...hop.headers },
    lookup: pinnedLookup(addresses),
    agent: false,
    signal,
    ...(url.protocol === "https:" && isIP(host) === 0 ? { servername: host } : {}),
  };
  return new Promise((resolve, reject) => {
    const req = url.protocol === "https:" ? httpsRequest(options) : httpRequest(options);
    req.once("response", resolve);
    req.on("error", reject);
    req.end(hop.body);
  });
}

export function flatHeaders(message: IncomingMessage): Record<string, string> {
  const flat: Record<string, string> = {};
  for (const [name, value] of Object.entries(message.headers)) {
    if (value !== undefined) flat[name] = Array.isArray(value) ? value.join(", ") : value;
  }
  return flat;
}

/** Returns the request that a redirect leads to, or `undefined` for any other response. */
function nextHop(
  hop: Hop,
  from: URL,
  { statusCode: status = 0, headers: { location } }: IncomingMessage,
) {
  if (!REDIRECT_STATUSES.has(status) || location === undefined) return undefined;
  const to = parseUrl(location, from);
  if (!to) throw errors.badRedirect();
  to.hash = "";
  const isOtherOrigin = from.origin !== to.origin;
  const becomesGet = status === 303 ? hop.method !== "HEAD" : status < 303 && hop.method === "POST";
  const headers = Object.fromEntries(
    Object.entries(hop.headers).filter(([name]) => {
      const lower = name.toLowerCase();
      return (
        (!isOtherOrigin || HARMLESS_HEADERS.has(lower)) &&
        !(becomesGet && lower.startsWith("content-"))
      );
    }),
  );
  return becomesGet
    ? { url: to.href, method: "GET", headers, body: undefined }
    : { ...hop, url: to.href, headers };
}

/** A response whose head has arrived. The caller must read its body or destroy the message. */
export interface OpenResponse {
  message: IncomingMessage;
  url: URL;
  redirected: number;
  method: string;
}

/** Sends a request and follows redirects, each checked again. Resolves when the head of the final response has arrived. */
export async function openResponse(
  guard: Guard,
  first: Hop,
  redirects: number,
  signal: AbortSignal,
): Promise<OpenResponse> {
  let hop = first;
  for (let redirected = 0; ; redirected++) {
    const checked = await guard.checkUrl(hop.url);
    signal.throwIfAborted();
    if (checked.url.protocol === "about:") throw errors.notHttp({ param: "url" });
    const message = await send(checked, hop, signal);
    try {
      const next = redirects > 0 ? nextHop(hop, checked.url, message) : undefined;
      if (next === undefined) return { message, url: checked.url, redirected, method: hop.method };
      if (redirected >= redirects) throw errors.tooManyRedirects({ redirects });
      hop = next;
      message.destroy();
    } catch (error) {
      message.destroy();
      throw error;
    }
  }
}

async function fetchWhole(
  guard: Guard,
  hop: Hop,
  { maxBytes = 10 * 1024 * 1024, redirects = 5, headOnly = false }: GuardedFetchOptions,
  signal: AbortSignal,
): Promise<GuardedResponse> {
  const { message, url, redirected, method } = await openResponse(guard, hop, redirects, signal);
  try {
    const status = message.statusCode ?? 0;
    const hasBody = method !== "HEAD" && status !== 304 && !headOnly;
    const body = hasBody ? await readBody(message, maxBytes) : Buffer.alloc(0);
    return { status, headers: flatHeaders(message), body, url: url.href, redirected };
  } finally {
    message.destroy();
  }
}

/** Converts an error to the one that the caller of a failed request receives. */
export function requestError(error: unknown): unknown {
  if (isPorticoError(error)) return error;
  const reason = (error as NodeJS.ErrnoException).code ?? (error as Error).message;
  return errors.requestFailed({ reason }, { cause: error });
}

/** Settles as `work` does, or rejects when the signal aborts, because a DNS lookup cannot be cancelled. */
function rejectOnAbort<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return work;
  return new Promise((resolve, reject) => {
    const abort = (): void => reject(signal.reason);
    if (signal.aborted) abort();
    signal.addEventListener("abort", abort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener("abort", abort));
  });
}

/**
 * Fetches one document under the guard: each hop is checked and connects to its checked addresses only, and size and time
 * are bounded. Resolves with any status. Rejects with a `PorticoError` if the whole response cannot be received (the
 * guard's own 403s, 502 `upstream_error`, `response_too_large`, `too_many_redirects`, `name_not_resolved`, 504
 * `upstream_timeout`). Only harmless headers follow a redirect to another origin.
 */
export async function guardedFetch(
  guard: Guard,
  url: string | URL,
  options: GuardedFetchOptions = {},
): Promise<GuardedResponse> {
  const { timeoutMs = 30_000, method = "GET", headers, body, signal } = options;
  const controller = new AbortController();
  const first: Hop = {
    url: String(url),
    method,
    headers: { ...DEFAULT_HEADERS, ...headers },
    body,
  };
  try {
    const response = withDeadline(
      fetchWhole(guard, first, options, controller.signal),
      timeoutMs,
      () => errors.responseTooSlow({ ms: timeoutMs }),
    );
    return await rejectOnAbort(response, signal);
  } catch (error) {
    if (signal?.aborted) throw error;
    throw requestError(error);
  } finally {
    controller.abort();
  }
}

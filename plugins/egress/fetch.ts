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

/** These may follow a redirect to another origin; everything else of the caller's could be a secret. */
const HARMLESS = new Set([
  "accept",
  "accept-language",
  "user-agent",
  "if-none-match",
  "if-modified-since",
  "content-type",
]);
const REDIRECTS = new Set([301, 302, 303, 307, 308]);

/** A `lookup` that knows only the addresses that were checked: what is connected to is what was judged. */
export function pinnedLookup(addresses: readonly ResolvedAddress[]): LookupFunction {
  return (_hostname, options, done) => {
    const family = options.family === 4 || options.family === 6 ? options.family : undefined;
    const fitting = family === undefined ? addresses : addresses.filter((a) => a.family === family);
    const first = fitting[0];
    if (first === undefined)
      done(
        Object.assign(new Error("the name has no allowed address of this family"), {
          code: "ENOTFOUND",
        }),
        "",
      );
    else if (options.all) done(null, [...fitting]);
    else done(null, first.address, first.family);
  };
}

export const OUR_HEADERS = { "user-agent": "portico", "accept-encoding": "gzip, br" };

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

/** Where a redirect leads; `undefined` for any other response. */
function nextHop(
  hop: Hop,
  from: URL,
  { statusCode: status = 0, headers: { location } }: IncomingMessage,
) {
  if (!REDIRECTS.has(status) || location === undefined) return undefined;
  const to = parseUrl(location, from);
  if (!to) throw errors.badRedirect();
  to.hash = "";
  const crossed = from.origin !== to.origin;
  const rewritten = status === 303 ? hop.method !== "HEAD" : status < 303 && hop.method === "POST";
  const headers = Object.fromEntries(
    Object.entries(hop.headers).filter(([name]) => {
      const lower = name.toLowerCase();
      return (!crossed || HARMLESS.has(lower)) && !(rewritten && lower.startsWith("content-"));
    }),
  );
  return rewritten
    ? { url: to.href, method: "GET", headers, body: undefined }
    : { ...hop, url: to.href, headers };
}

/** A response whose head is there. The caller reads its body, or destroys the message. */
export interface OpenResponse {
  message: IncomingMessage;
  url: URL;
  redirected: number;
  method: string;
}

/** Follows redirects, each judged again, to the head of a response. */
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

/** The error that the caller of a failed request gets. */
export function requestError(error: unknown): unknown {
  if (isPorticoError(error)) return error;
  const reason = (error as NodeJS.ErrnoException).code ?? (error as Error).message;
  return errors.requestFailed({ reason }, { cause: error });
}

/** Settles as `work` does, or rejects as soon as the signal aborts: a resolver cannot be cancelled. */
function orAborted<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return work;
  return new Promise((resolve, reject) => {
    const abort = (): void => reject(signal.reason);
    if (signal.aborted) abort();
    signal.addEventListener("abort", abort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener("abort", abort));
  });
}

/**
 * Fetches one document under the guard: each hop is checked and connected to its checked addresses only, and size and
 * time are bounded. Any status is a response; what cannot be had whole is a `PorticoError` (the guard's own 403s,
 * 502 `upstream_error`, `response_too_large`, `too_many_redirects`, `name_not_resolved`, 504 `upstream_timeout`).
 * Headers that are not harmless do not follow a redirect to another origin.
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
    headers: { ...OUR_HEADERS, ...headers },
    body,
  };
  try {
    const response = withDeadline(
      fetchWhole(guard, first, options, controller.signal),
      timeoutMs,
      () => errors.responseTooSlow({ ms: timeoutMs }),
    );
    return await orAborted(response, signal);
  } catch (error) {
    if (signal?.aborted) throw error;
    throw requestError(error);
  } finally {
    controller.abort();
  }
}

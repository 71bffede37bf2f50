import type { IncomingMessage, RequestOptions } from "node:http";
import { request as httpRequest } from "node:http";
import { request as httpsRequest } from "node:https";
import type { LookupFunction } from "node:net";
import { isIP } from "node:net";
import type { Readable } from "node:stream";
import { createBrotliDecompress, createUnzip } from "node:zlib";
import { isPorticoError, PorticoError } from "portico";
import { plainHost } from "./names.ts";
import type { CheckedUrl, Guard, GuardedFetchOptions, GuardedResponse, ResolvedAddress } from "./types.ts";

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
      done(Object.assign(new Error("no checked address of this family"), { code: "ENOTFOUND" }), "");
    else if (options.all) done(null, [...fitting]);
    else done(null, first.address, first.family);
  };
}

interface Hop {
  method: string;
  headers: Record<string, string>;
  body: string | Uint8Array | undefined;
}

function send({ url, addresses }: CheckedUrl, hop: Hop, signal: AbortSignal): Promise<IncomingMessage> {
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

function flatHeaders(message: IncomingMessage): Record<string, string> {
  const flat: Record<string, string> = {};
  for (const [name, value] of Object.entries(message.headers)) {
    if (value !== undefined) flat[name] = Array.isArray(value) ? value.join(", ") : value;
  }
  return flat;
}

const tooLarge = (maxBytes: number): PorticoError =>
  new PorticoError("response_too_large", `The answer is larger than ${maxBytes} bytes.`, {
    status: 502,
    details: { maxBytes },
  });

async function readBody(message: IncomingMessage, maxBytes: number): Promise<Buffer> {
  const encoding = (message.headers["content-encoding"] ?? "identity").trim().toLowerCase();
  let source: Readable = message;
  if (encoding === "br") source = message.pipe(createBrotliDecompress());
  else if (["gzip", "x-gzip", "deflate"].includes(encoding)) source = message.pipe(createUnzip());
  else if (encoding !== "identity" && encoding !== "") {
    throw new PorticoError(
      "upstream_error",
      `The answer's content encoding ${JSON.stringify(encoding)} is not understood.`,
    );
  } else if (Number(message.headers["content-length"]) > maxBytes) throw tooLarge(maxBytes);
  if (source !== message) message.on("error", (error) => source.destroy(error));
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of source as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > maxBytes) throw tooLarge(maxBytes);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks, size);
}

function nextHop(hop: Hop, status: number, from: URL, to: URL): Hop {
  const crossed = from.origin !== to.origin;
  const rewritten = status === 303 ? hop.method !== "HEAD" : status < 303 && hop.method === "POST";
  const headers = Object.fromEntries(
    Object.entries(hop.headers).filter(([name]) => {
      const lower = name.toLowerCase();
      return (!crossed || HARMLESS.has(lower)) && !(rewritten && lower.startsWith("content-"));
    }),
  );
  return rewritten ? { method: "GET", headers, body: undefined } : { ...hop, headers };
}

/** Resolves as `work`, or rejects as soon as the signal aborts: a resolver cannot be cancelled. */
function orAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = (): void => reject(signal.reason);
    if (signal.aborted) abort();
    signal.addEventListener("abort", abort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener("abort", abort));
  });
}

/**
 * Fetches one document under the guard: each hop is checked and connected to its checked addresses only, and size and
 * time are bounded. Any status is an answer; what cannot be had is a `PorticoError` (the guard's own 403s,
 * 502 `upstream_error`, `response_too_large`, `too_many_redirects`, `name_not_resolved`, 504 `upstream_timeout`).
 * Headers that are not harmless do not follow a redirect to another origin.
 */
export async function guardedFetch(
  guard: Guard,
  url: string | URL,
  options: GuardedFetchOptions = {},
): Promise<GuardedResponse> {
  const { maxBytes = 10 * 1024 * 1024, timeoutMs = 30_000, redirects = 5 } = options;
  const controller = new AbortController();
  const { signal } = controller;
  let late = false;
  const timer = setTimeout(() => {
    late = true;
    controller.abort();
  }, timeoutMs);
  const stop = (): void => controller.abort();
  if (options.signal?.aborted) stop();
  options.signal?.addEventListener("abort", stop, { once: true });
  let hop: Hop = {
    method: options.method ?? "GET",
    headers: { "user-agent": "portico", "accept-encoding": "gzip, br", ...options.headers },
    body: options.body,
  };
  let target = String(url);
  try {
    for (let redirected = 0; ; redirected++) {
      const checked = await orAborted(guard.checkUrl(target), signal);
      if (checked.url.protocol === "about:") {
        throw new PorticoError("invalid_request_error", "Only http and https URLs can be fetched.", { param: "url" });
      }
      const message = await send(checked, hop, signal);
      try {
        const status = message.statusCode ?? 0;
        const location = message.headers.location;
        if (REDIRECTS.has(status) && location !== undefined && redirects > 0) {
          if (redirected >= redirects) {
            throw new PorticoError("too_many_redirects", `More than ${redirects} redirects.`, { status: 502 });
          }
          if (!URL.canParse(location, checked.url.href)) {
            throw new PorticoError("upstream_error", "The answer redirects to something that is not a URL.");
          }
          const next = new URL(location, checked.url);
          next.hash = "";
          hop = nextHop(hop, status, checked.url, next);
          target = next.href;
          continue;
        }
        const body = hop.method === "HEAD" || status === 304 ? Buffer.alloc(0) : await readBody(message, maxBytes);
        return { status, headers: flatHeaders(message), body, url: checked.url.href, redirected };
      } finally {
        message.destroy();
      }
    }
  } catch (error) {
    if (options.signal?.aborted) throw options.signal.reason;
    if (late) {
      throw new PorticoError("upstream_timeout", `No full answer within ${timeoutMs} ms.`, { cause: error });
    }
    if (isPorticoError(error)) throw error;
    const reason = (error as NodeJS.ErrnoException).code ?? (error as Error).message;
    throw new PorticoError("upstream_error", `The request failed: ${reason}`, { cause: error });
  } finally {
    clearTimeout(timer);
    options.signal?.removeEventListener("abort", stop);
  }
}

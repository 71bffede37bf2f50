/** The guarded, bounded fetch with the interface of the platform's `fetch`, for libraries that accept one. */
import type { IncomingMessage } from "node:http";
import { Readable } from "node:stream";
import { errors } from "./errors.ts";
import {
  flatHeaders,
  DEFAULT_HEADERS,
  type OpenResponse,
  openResponse,
  requestError,
} from "./fetch.ts";
import { decodeBody, toReadError, tooLargeError } from "./response-body.ts";
import type { Fetch, FetchLimits, Guard } from "./types.ts";

const MAX_REDIRECTS = 5;
/** Statuses for which a `Response` must not have a body. */
const NO_BODY_STATUSES = new Set([101, 204, 205, 304]);

/**
 * Creates a `fetch` whose responses are bounded in size, after decoding. An event stream is bounded by the size of one
 * event and by its silence, any other response by the time for the whole exchange.
 */
export function createFetch(guard: Guard, limits: FetchLimits): Fetch {
  return async (input, init) => {
    const request = new Request(input, init);
    const controller = new AbortController();
    const abort = (): void => controller.abort(request.signal.reason);
    if (request.signal.aborted) abort();
    request.signal.addEventListener("abort", abort, { once: true });
    const deadline = setTimeout(() => {
      controller.abort(errors.responseTooSlow({ ms: limits.timeoutMs }));
    }, limits.timeoutMs);
    const release = (): void => {
      clearTimeout(deadline);
      request.signal.removeEventListener("abort", abort);
    };
    try {
      const response = await send(guard, request, controller.signal);
      if (isEventStream(response.message)) clearTimeout(deadline);
      return toResponse(response, { limits, signal: controller.signal, release });
    } catch (error) {
      release();
      if (controller.signal.aborted) throw controller.signal.reason;
      throw requestError(error);
    }
  };
}

async function send(guard: Guard, request: Request, signal: AbortSignal): Promise<OpenResponse> {
  const hop = {
    url: request.url,
    method: request.method,
    headers: { ...DEFAULT_HEADERS, ...Object.fromEntries(request.headers) },
    body: request.body === null ? undefined : Buffer.from(await request.arrayBuffer()),
  };
  const response = await openResponse(
    guard,
    hop,
    request.redirect === "follow" ? MAX_REDIRECTS : 0,
    signal,
  );
  const { message } = response;
  if (request.redirect !== "error" || Math.floor((message.statusCode ?? 0) / 100) !== 3)
    return response;
  message.destroy();
  throw errors.unexpectedRedirect();
}

const isEventStream = (message: IncomingMessage): boolean =>
  /^text\/event-stream\b/i.test(message.headers["content-type"] ?? "");

interface ReadOptions {
  limits: FetchLimits;
  signal: AbortSignal;
  /** Releases the request's timer and abort listener. */
  release(): void;
}

function toResponse({ message, url, method }: OpenResponse, options: ReadOptions): Response {
  const status = message.statusCode ?? 0;
  const end = (): void => {
    options.release();
    message.destroy();
  };
  const hasBody = method !== "HEAD" && !NO_BODY_STATUSES.has(status);
  const body = hasBody ? Readable.from(boundedChunks(message, options)).once("close", end) : null;
  if (body === null) end();
  const headers = flatHeaders(message);
  // The body is decoded, so these headers no longer apply.
  delete headers["content-encoding"];
  delete headers["content-length"];
  const stream = body === null ? null : (Readable.toWeb(body) as ReadableStream);
  const response = new Response(stream, { status, headers });
  return Object.defineProperty(response, "url", { value: url.href });
}

async function* boundedChunks(
  message: IncomingMessage,
  { limits, signal }: ReadOptions,
): AsyncGenerator<Buffer> {
  const isStream = isEventStream(message);
  const event = new UnfinishedEvent();
  let size = 0;
  try {
    const source = await decodeBody(message);
    for await (const chunk of isStream ? withIdleTime(source, limits.idleMs) : source) {
      const bytes = chunk as Buffer;
      size = isStream ? event.add(bytes) : size + bytes.length;
      if (size > limits.maxBytes) {
        const error = tooLargeError(limits.maxBytes);
        if (isStream) limits.onOversizedEvent?.(error);
        throw error;
      }
      yield bytes;
    }
  } catch (error) {
    throw signal.aborted ? signal.reason : toReadError(error);
  }
}

/** Counts the bytes since the end of the last event, which a blank line marks. */
class UnfinishedEvent {
  #size = 0;
  /** The last bytes, because a blank line may be split over two chunks. */
  #tail: Buffer = Buffer.alloc(0);

  /** Returns the number of bytes after the last blank line. */
  add(chunk: Buffer): number {
    const bytes = Buffer.concat([this.#tail, chunk]);
    const ends = BLANK_LINES.map((blank) => {
      const at = bytes.lastIndexOf(blank);
      return at === -1 ? 0 : at + blank.length;
    });
    const end = Math.max(...ends);
    this.#size = end === 0 ? this.#size + chunk.length : bytes.length - end;
    this.#tail = bytes.subarray(-MAX_PARTIAL_BLANK_LINE);
    return this.#size;
  }
}

const BLANK_LINES = ["\n\n", "\r\n\r\n", "\r\r"];
const MAX_PARTIAL_BLANK_LINE = 3;

/** Ends a stream that sends nothing for `idleMs`. The time that its reader takes does not count. */
async function* withIdleTime(source: Readable, idleMs: number): AsyncGenerator<Buffer> {
  const stop = (): void => {
    source.destroy(errors.streamSilent({ ms: idleMs }));
  };
  let timer = setTimeout(stop, idleMs);
  try {
    for await (const chunk of source as AsyncIterable<Buffer>) {
      clearTimeout(timer);
      yield chunk;
      timer = setTimeout(stop, idleMs);
    }
  } finally {
    clearTimeout(timer);
  }
}

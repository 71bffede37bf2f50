/** `portico/event-stream`: server-sent events as the response to a request. */
import type { ServerResponse } from "node:http";
import { type Call, inBurst, type PluginContext } from "portico";

export interface SseOptions {
  /** The silence in ms after which a comment is sent; default 15000, 0 for never. */
  keepAliveMs?: number;
  /**
   * The number of buffered bytes above which the client is disconnected, since a feed cannot wait for one reader. Default 1
   * MiB.
   */
  maxBufferedBytes?: number;
  /**
   * Ends the stream when the server begins to close, instead of using up its grace period; default true. Pass false for a
   * stream that ends by itself.
   */
  endOnClose?: boolean;
  headers?: Record<string, string>;
}

export interface Sse {
  /**
   * Sends one event. `data` that is not a string is sent as JSON. A client that reconnects sends the last `id` that it
   * received as `Last-Event-ID`. Returns false if the client is slow: then await `drained()` before you send more, if you can.
   */
  send(event: string | undefined, data: unknown, id?: string): boolean;
  comment(text: string): boolean;
  /** Resolves when the client has received the buffered events, or has disconnected. */
  drained(): Promise<void>;
  close(): void;
  /** True when the stream has ended, from either side. */
  readonly closed: boolean;
  /** Registers a handler for the end of the stream, from either side. Calls it at once if the stream has already ended. */
  onClose(done: () => void): void;
}

/** The length from which gathered text is written at once. */
const MAX_PENDING_CHARS = 16_384;

/** Starts an event stream as the response to a call. The route's handler must then return nothing. */
export function openSse(call: Call, options: SseOptions = {}): Sse {
  return new EventStream(call, options);
}

class EventStream implements Sse {
  readonly #res: ServerResponse;
  readonly #maxBufferedBytes: number;
  /** Aborted when the server begins to close; undefined if the stream ends by itself. */
  readonly #stopping: AbortSignal | undefined;
  readonly #keepAlive: NodeJS.Timeout | undefined;
  readonly #endHandlers: (() => void)[] = [];
  /** Events of one turn of the event loop, which are written together, since a write costs more than an event. */
  #pendingText = "";
  #isClosed = false;

  constructor({ res, closing }: Call, options: SseOptions) {
    const { keepAliveMs = 15_000, maxBufferedBytes = 1024 * 1024, endOnClose = true } = options;
    this.#res = res;
    this.#maxBufferedBytes = maxBufferedBytes;
    this.#stopping = endOnClose ? closing : undefined;
    res.writeHead(200, {
      "content-type": "text/event-stream; charset=utf-8",
      "cache-control": "no-cache, no-transform",
      "x-accel-buffering": "no",
      ...options.headers,
    });
    res.flushHeaders();
    const writeKeepAlive = () => void this.#write(": keep-alive\n\n");
    this.#keepAlive =
      keepAliveMs > 0 ? setInterval(writeKeepAlive, keepAliveMs).unref() : undefined;
    res.once("close", this.#end);
    if (res.destroyed) this.#end();
    else if (this.#stopping?.aborted) this.close();
    else this.#stopping?.addEventListener("abort", this.#closeAtStop);
  }

  get closed(): boolean {
    return this.#isClosed;
  }

  send(event: string | undefined, data: unknown, id?: string): boolean {
    const text = typeof data === "string" ? data : JSON.stringify(data);
    return this.#write(
      `${encodeField("id", id)}${encodeField("event", event)}${encodeLines("data", text)}\n`,
    );
  }

  comment(text: string): boolean {
    return this.#write(`${encodeLines("", text)}\n`);
  }

  drained(): Promise<void> {
    this.#flush();
    const res = this.#res;
    if (this.#isClosed || !res.writableNeedDrain) return Promise.resolve();
    return new Promise((resolve) => {
      const settle = (): void => {
        res.off("drain", settle);
        res.off("close", settle);
        resolve();
      };
      res.on("drain", settle);
      res.on("close", settle);
    });
  }

  close(): void {
    this.#flush();
    if (!this.#isClosed) this.#res.end();
    this.#end();
  }

  onClose(handler: () => void): void {
    if (this.#isClosed) handler();
    else this.#endHandlers.push(handler);
  }

  #write(text: string): boolean {
    if (this.#isClosed) return false;
    const isFirst = this.#pendingText === "";
    this.#pendingText += text;
    if (this.#pendingText.length >= MAX_PENDING_CHARS) this.#flush();
    else if (isFirst) inBurst(() => this.#flush());
    return !this.#res.writableNeedDrain;
  }

  #flush(): void {
    if (this.#isClosed || this.#pendingText === "") return;
    this.#keepAlive?.refresh();
    const text = this.#pendingText;
    this.#pendingText = "";
    const res = this.#res;
    if (!res.write(text) && res.writableLength > this.#maxBufferedBytes) res.destroy();
  }

  readonly #closeAtStop = (): void => this.close();

  readonly #end = (): void => {
    if (this.#isClosed) return;
    this.#isClosed = true;
    clearInterval(this.#keepAlive);
    this.#stopping?.removeEventListener("abort", this.#closeAtStop);
    for (const handle of this.#endHandlers.splice(0)) handle();
  };
}

/**
 * Returns a function that opens streams without an end of their own, for clients that hold the gateway's token. They end
 * when `gateway.auth` changes, since the client's token may no longer be valid.
 */
export function feedsOf(ctx: Pick<PluginContext, "on">): (call: Call) => Sse {
  const openStreams = new Set<Sse>();
  ctx.on("config:changed", ({ context }) => {
    if (context.keys.some((key) => /^gateway(\.auth\b|$)/.test(key)))
      for (const stream of openStreams) stream.close();
  });
  return (call) => {
    const sse = openSse(call);
    openStreams.add(sse);
    sse.onClose(() => openStreams.delete(sse));
    return sse;
  };
}

/** Encodes a field in one line. Line breaks become spaces, because they would start another field. */
function encodeField(name: string, value: string | undefined): string {
  return value === undefined ? "" : `${name}: ${value.replace(/[\r\n\0]/g, " ")}\n`;
}

function encodeLines(field: string, text: string): string {
  return text
    .split(/\r\n|\r|\n/)
    .map((line) => `${field}: ${line}\n`)
    .join("");
}

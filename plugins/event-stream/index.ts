/** `portico/event-stream`: server-sent events as the response to a request. */
import type { ServerResponse } from "node:http";
import { type Call, inBurst, type PluginContext } from "portico";

export interface SseOptions {
  /** A comment goes out after this much silence; default 15000, 0 never. */
  keepAliveMs?: number;
  /** A client that lets more than this pile up is cut off: a feed cannot wait for one reader. Default 1 MiB. */
  maxBufferedBytes?: number;
  /** End when the server begins to close, instead of using up its grace; default true. A stream that ends by itself says false. */
  endOnClose?: boolean;
  headers?: Record<string, string>;
}

export interface Sse {
  /**
   * Sends one event; `data` that is no string goes as JSON. A client that reconnects sends the last `id` that it received
   * as `Last-Event-ID`. False: the client is slow, `await drained()` before sending more if you can.
   */
  send(event: string | undefined, data: unknown, id?: string): boolean;
  comment(text: string): boolean;
  /** Resolves when the client has caught up, or has disconnected. */
  drained(): Promise<void>;
  close(): void;
  /** True once the stream has ended, from either side. */
  readonly closed: boolean;
  /** Called once at the end, from either side; at once when it has ended already. */
  onClose(done: () => void): void;
}

/** Gathered text of this length is written at once. */
const GATHERED_CHARS = 16_384;

/** Begins an event stream as the response to a call. The handler then returns nothing. */
export function openSse(call: Call, options: SseOptions = {}): Sse {
  return new EventStream(call, options);
}

class EventStream implements Sse {
  readonly #res: ServerResponse;
  readonly #maxBufferedBytes: number;
  /** Aborted when the server begins to close; undefined where the stream ends by itself. */
  readonly #stopping: AbortSignal | undefined;
  readonly #keepAlive: NodeJS.Timeout | undefined;
  readonly #endHandlers: (() => void)[] = [];
  /** Events of one turn of the event loop leave together: a write for each costs more than the event does. */
  #gathered = "";
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
    return this.#write(`${field("id", id)}${field("event", event)}${lines("data", text)}\n`);
  }

  comment(text: string): boolean {
    return this.#write(`${lines("", text)}\n`);
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
    const isFirst = this.#gathered === "";
    this.#gathered += text;
    if (this.#gathered.length >= GATHERED_CHARS) this.#flush();
    else if (isFirst) inBurst(() => this.#flush());
    return !this.#res.writableNeedDrain;
  }

  #flush(): void {
    if (this.#isClosed || this.#gathered === "") return;
    this.#keepAlive?.refresh();
    const text = this.#gathered;
    this.#gathered = "";
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
 * Opens streams that have no end of their own, for every client that holds the gateway's token: they end when `gateway.auth` changes,
 * since who has opened them may not come in any more.
 */
export function feedsOf(ctx: Pick<PluginContext, "on">): (call: Call) => Sse {
  const open = new Set<Sse>();
  ctx.on("config:changed", ({ context }) => {
    if (context.keys.some((key) => /^gateway(\.auth\b|$)/.test(key)))
      for (const each of open) each.close();
  });
  return (call) => {
    const sse = openSse(call);
    open.add(sse);
    sse.onClose(() => open.delete(sse));
    return sse;
  };
}

/** One line; a line break in the value would begin another field. */
function field(name: string, value: string | undefined): string {
  return value === undefined ? "" : `${name}: ${value.replace(/[\r\n\0]/g, " ")}\n`;
}

function lines(field: string, text: string): string {
  return text
    .split(/\r\n|\r|\n/)
    .map((line) => `${field}: ${line}\n`)
    .join("");
}

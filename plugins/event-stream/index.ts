/** `portico/event-stream`: server-sent events as the response to a request. */
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
  /** Resolves when the client has caught up, or is gone. */
  drained(): Promise<void>;
  close(): void;
  /** True once the stream has ended, from either side. */
  readonly closed: boolean;
  /** Called once at the end, from either side; at once when it has ended already. */
  onClose(done: () => void): void;
}

/** What is gathered goes out at once when it is as long as this. */
const GATHERED_CHARS = 16_384;

/** Begins an event stream as the response to a call. The handler then returns nothing. */
export function openSse(call: Call, options: SseOptions = {}): Sse {
  const {
    keepAliveMs = 15_000,
    maxBufferedBytes = 1024 * 1024,
    endOnClose = true,
    headers,
  } = options;
  const { res } = call;
  const stopping = endOnClose ? call.closing : undefined;
  const done: (() => void)[] = [];
  let closed = false;

  res.writeHead(200, {
    "content-type": "text/event-stream; charset=utf-8",
    "cache-control": "no-cache, no-transform",
    "x-accel-buffering": "no",
    ...headers,
  });
  res.flushHeaders();

  const timer =
    keepAliveMs > 0 ? setInterval(() => write(": keep-alive\n\n"), keepAliveMs).unref() : undefined;

  // Events of one turn of the loop leave together: a write for each costs more than the event does.
  let gathered = "";

  function write(text: string): boolean {
    if (closed) return false;
    const isFirst = gathered === "";
    gathered += text;
    if (gathered.length >= GATHERED_CHARS) flush();
    else if (isFirst) inBurst(flush);
    return !res.writableNeedDrain;
  }
  function flush(): void {
    if (closed || gathered === "") return;
    timer?.refresh();
    const text = gathered;
    gathered = "";
    if (!res.write(text) && res.writableLength > maxBufferedBytes) res.destroy();
  }
  function close(): void {
    flush();
    if (!closed) res.end();
    ended();
  }
  function ended(): void {
    if (closed) return;
    closed = true;
    clearInterval(timer);
    stopping?.removeEventListener("abort", close);
    for (const act of done.splice(0)) act();
  }

  res.once("close", ended);
  if (res.destroyed) ended();
  else if (stopping?.aborted) close();
  else stopping?.addEventListener("abort", close);

  return {
    send(event, data, id) {
      const text = typeof data === "string" ? data : JSON.stringify(data);
      return write(`${field("id", id)}${field("event", event)}${lines("data", text)}\n`);
    },
    comment: (text) => write(`${lines("", text)}\n`),
    drained() {
      flush();
      if (closed || !res.writableNeedDrain) return Promise.resolve();
      return new Promise((resolve) => {
        const settle = (): void => {
          res.off("drain", settle);
          res.off("close", settle);
          resolve();
        };
        res.on("drain", settle);
        res.on("close", settle);
      });
    },
    close,
    get closed() {
      return closed;
    },
    onClose(act) {
      if (closed) act();
      else done.push(act);
    },
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

/**
 * Requests to upstreams, over undici's dispatcher: no web streams, no copies, back-pressure by pausing the socket. The
 * only importer of undici; it is loaded at the first use or by `warm`.
 */
import { createBrotliDecompress, createGunzip, createInflate } from "node:zlib";
import type { IncomingHttpHeaders } from "node:http";
import type { Transform } from "node:stream";
import type { Dispatcher, Pool } from "undici";

export interface UpstreamCall {
  method: "GET" | "POST";
  url: string;
  headers: Record<string, string>;
  body?: string | Buffer | undefined;
}

/** Called in this order: head, data…, then end or fail; nothing after `abort()`. */
export interface Receiver {
  head(status: number, headers: IncomingHttpHeaders): void;
  data(bytes: Buffer): void;
  /** The answer is complete. */
  end(): void;
  /** No connection, a reset, an answer cut short, a body that does not decompress. `sent`: the head was there already. */
  fail(error: Error): void;
}

export interface Sending {
  abort(): void;
  /** Stops reading from the upstream's socket until `resume`. */
  pause(): void;
  resume(): void;
}

type Undici = { Pool: typeof Pool };
let undici: Undici | undefined;
let loading: Promise<Undici> | undefined;

/** Loads the client library ahead of the first request. */
export function warm(): Promise<unknown> {
  loading ??= import("undici").then((library) => (undici = library));
  return loading;
}

export interface Upstreams {
  send(call: UpstreamCall, receiver: Receiver): Sending;
  /** Closes idle connections now, the others when their answers have ended. */
  close(): void;
}

/** One pool of kept-alive connections for each origin. */
export function createUpstreams(options: { connections?: number } = {}): Upstreams {
  const pools = new Map<string, Dispatcher>();

  function poolOf(origin: string, library: Undici): Dispatcher {
    let pool = pools.get(origin);
    if (pool === undefined) {
      pool = new library.Pool(origin, {
        connections: options.connections ?? null,
        pipelining: 1,
        // Time-outs are the caller's: they differ from channel to channel.
        headersTimeout: 0,
        bodyTimeout: 0,
        keepAliveTimeout: 15_000,
        connect: { timeout: 10_000 },
        allowH2: false,
      });
      pools.set(origin, pool);
    }
    return pool;
  }

  return {
    send(call, receiver) {
      const exchange = new Exchange(receiver);
      const start = (library: Undici) => {
        if (exchange.over) return;
        let split: { origin: string; path: string };
        try {
          split = splitUrl(call.url);
        } catch {
          exchange.onResponseError(undefined, new Error(`${call.url} is not an http(s) address`));
          return;
        }
        poolOf(split.origin, library).dispatch(
          {
            path: split.path,
            method: call.method,
            headers: call.headers,
            body: call.body ?? null,
          } as Dispatcher.DispatchOptions,
          exchange,
        );
      };
      if (undici !== undefined) start(undici);
      else
        void warm().then(
          () => start(undici!),
          (error: Error) => exchange.onResponseError(undefined, error),
        );
      return exchange;
    },
    close() {
      const all = [...pools.values()];
      pools.clear();
      for (const pool of all) void pool.close().catch(() => {});
    },
  };
}

const splits = new Map<string, { origin: string; path: string }>();

/** URL parsing costs as much as routing: the few addresses in use are remembered. */
function splitUrl(url: string): { origin: string; path: string } {
  let split = splits.get(url);
  if (split === undefined) {
    const parsed = new URL(url);
    if (parsed.protocol !== "http:" && parsed.protocol !== "https:") throw new TypeError("not http");
    split = { origin: parsed.origin, path: parsed.pathname + parsed.search };
    if (splits.size >= 1000) splits.clear();
    splits.set(url, split);
  }
  return split;
}

class Exchange implements Dispatcher.DispatchHandler, Sending {
  over = false;
  #receiver: Receiver;
  #controller: Dispatcher.DispatchController | undefined;
  #paused = false;
  #decompress: Transform | undefined;

  constructor(receiver: Receiver) {
    this.#receiver = receiver;
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    if (this.over) controller.abort(new Error("aborted"));
    else this.#controller = controller;
  }

  onResponseStart(controller: Dispatcher.DispatchController, status: number, headers: IncomingHttpHeaders): void {
    if (this.over) return;
    this.#controller = controller;
    const coding = headers["content-encoding"];
    if (coding !== undefined && status !== 204) this.#unpack(coding);
    this.#receiver.head(status, headers);
    if (this.#paused) controller.pause();
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.over) return;
    if (this.#decompress === undefined) this.#receiver.data(chunk);
    else if (!this.#decompress.write(chunk)) {
      controller.pause();
      this.#decompress.once("drain", () => {
        if (!this.#paused) controller.resume();
      });
    }
  }

  onResponseEnd(): void {
    if (this.over) return;
    if (this.#decompress !== undefined) {
      this.#decompress.end();
      return;
    }
    this.over = true;
    this.#receiver.end();
  }

  onResponseError(_controller: unknown, error: Error): void {
    if (this.over) return;
    this.over = true;
    this.#decompress?.destroy();
    this.#receiver.fail(error);
  }

  abort(): void {
    if (this.over) return;
    this.over = true;
    this.#decompress?.destroy();
    this.#controller?.abort(new Error("aborted"));
  }

  pause(): void {
    this.#paused = true;
    if (this.#decompress !== undefined) this.#decompress.pause();
    else this.#controller?.pause();
  }

  resume(): void {
    this.#paused = false;
    if (this.#decompress !== undefined) this.#decompress.resume();
    else if (!this.over) this.#controller?.resume();
  }

  #unpack(coding: string | string[]): void {
    const name = String(coding).trim().toLowerCase();
    const make =
      name === "gzip" || name === "x-gzip"
        ? createGunzip
        : name === "br"
          ? createBrotliDecompress
          : name === "deflate"
            ? createInflate
            : undefined;
    if (make === undefined) return;
    const transform = make();
    this.#decompress = transform;
    transform.on("data", (bytes: Buffer) => {
      if (!this.over) this.#receiver.data(bytes);
    });
    transform.on("end", () => {
      if (this.over) return;
      this.over = true;
      this.#receiver.end();
    });
    transform.on("error", (error: Error) => {
      if (this.over) return;
      this.over = true;
      this.#controller?.abort(error);
      this.#receiver.fail(error);
    });
  }
}

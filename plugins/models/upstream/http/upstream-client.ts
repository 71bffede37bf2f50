/**
 * Sends requests to upstreams with HTTP/1.1 directly on sockets, because a general client costs as much as the rest of
 * a request. It uses no streams and copies bytes once; back-pressure pauses the socket.
 */
import type { IncomingHttpHeaders } from "node:http";
import type { Transform } from "node:stream";
import { BoundedMap, inBurst } from "portico";
import { createDecompressor, parseProxy, type ProxyEnvironment, proxyFor } from "portico/egress";
import type { WireRequest } from "portico/provider";
import { parseUrl } from "portico/strings";
import type { Connection, ResponseReceiver } from "./connection.ts";
import { Pool } from "./pool.ts";

export type UpstreamCall = Pick<WireRequest, "method" | "url" | "headers" | "body" | "coding">;

/** Receives a response. The calls are head, data…, then end or fail, and none after `abort()`. */
export interface Receiver {
  head(status: number, headers: IncomingHttpHeaders): void;
  data(bytes: Buffer): void;
  /** The response is complete. */
  end(): void;
  /**
   * The request failed: no connection, a reset, a response that is incomplete or malformed, a body that cannot be
   * decompressed, or `Unsendable`.
   */
  fail(error: Error): void;
}

/** A request that cannot be sent to any upstream: the owner must change the configuration. */
export class Unsendable extends Error {
  /** The header whose value is invalid; undefined if the address is invalid instead. */
  readonly header: string | undefined;

  constructor(header?: string) {
    super(
      header === undefined
        ? "its address does not begin with http:// or https://"
        : `its header \`${header}\` has a character that is not allowed in headers`,
    );
    this.header = header;
  }
}

export interface SentRequest {
  abort(): void;
  /** Stops reading from the upstream's socket until `resume`. */
  pause(): void;
  resume(): void;
}

export interface UpstreamClient {
  /** Sends a request. `proxy` is the channel's; without one, those of the environment apply. */
  send(call: UpstreamCall, receiver: Receiver, proxy?: string): SentRequest;
  /** Closes idle connections now, the others when their responses have ended. */
  close(): void;
}

export function createUpstreamClient(env: ProxyEnvironment): UpstreamClient {
  const pools = new Map<string, Pool>();

  function poolOf(origin: string, proxy: string | undefined): Pool {
    const key = proxy === undefined ? origin : `${origin} ${proxy}`;
    let pool = pools.get(key);
    if (pool === undefined) {
      pool = new Pool(
        origin,
        proxy === undefined ? proxyFor(origin, env) : parseProxy(proxy, "proxy"),
      );
      pools.set(key, pool);
    }
    return pool;
  }

  return {
    send(call, receiver, proxy) {
      const exchange = new Exchange(receiver);
      try {
        const address = splitUrl(call.url);
        const pool = poolOf(address.origin, proxy);
        exchange.begin(pool, headOf(call, address, pool), call);
      } catch (error) {
        // The receiver may not be ready for a failure before `send` has returned.
        queueMicrotask(() => exchange.fail(error as Error));
      }
      return exchange;
    },
    close() {
      for (const pool of pools.values()) pool.close();
      pools.clear();
    },
  };
}

interface Address {
  origin: string;
  host: string;
  path: string;
}

const addresses = new BoundedMap<Address>({ maxEntries: 1000 });

/** Splits a URL. The results are cached, because parsing costs as much as routing, and few addresses are in use. */
function splitUrl(url: string): Address {
  let address = addresses.get(url);
  if (address === undefined) {
    const parsed = parseUrl(url);
    if (parsed?.protocol !== "http:" && parsed?.protocol !== "https:") throw new Unsendable();
    address = { origin: parsed.origin, host: parsed.host, path: parsed.pathname + parsed.search };
    addresses.set(url, address);
  }
  return address;
}

/** The client sets these headers itself, since they frame the message and control the connection. */
const RESERVED_HEADERS = new Set([
  "content-length",
  "transfer-encoding",
  "connection",
  "keep-alive",
  "upgrade",
  "expect",
]);
const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
const HEADER_VALUE = /^[\t\x20-\x7e]*$/;

interface Head {
  method: string;
  address: Address;
  pool: Pool;
  text: string;
}

/** Caches the last head for frozen headers, which most requests of a channel share. */
const heads = new WeakMap<object, Head>();

function headOf({ method, headers }: UpstreamCall, address: Address, pool: Pool): string {
  const cached = heads.get(headers);
  if (cached?.method === method && cached.address === address && cached.pool === pool)
    return cached.text;
  const text = writeHead(method, headers, address, pool);
  if (Object.isFrozen(headers)) heads.set(headers, { method, address, pool, text });
  return text;
}

function writeHead(
  method: string,
  headers: UpstreamCall["headers"],
  { host, path }: Address,
  pool: Pool,
): string {
  let hostHeader = host;
  let { lines } = pool;
  for (const name in headers) {
    const value = headers[name]!;
    if (!HEADER_NAME.test(name) || !HEADER_VALUE.test(value)) throw new Unsendable(name);
    const lower = name.toLowerCase();
    if (lower === "host") hostHeader = value;
    else if (!RESERVED_HEADERS.has(lower)) lines += `${name}: ${value}\r\n`;
  }
  return `${method} ${pool.base}${path} HTTP/1.1\r\nhost: ${hostHeader}\r\nconnection: keep-alive\r\n${lines}`;
}

/** One request and its decompressed response. */
class Exchange implements ResponseReceiver, SentRequest {
  #hasEnded = false;
  #receiver: Receiver;
  #connection: Connection | undefined;
  #pool: Pool | undefined;
  #isPaused = false;
  #coding: string | undefined;
  #decompress: Transform | undefined;

  constructor(receiver: Receiver) {
    this.#receiver = receiver;
  }

  begin(pool: Pool, head: string, call: UpstreamCall): void {
    this.#pool = pool;
    inBurst(() => {
      if (this.#hasEnded) return;
      this.#connection = pool.take();
      this.#connection.send(head, call, this);
      if (this.#isPaused) this.#connection.pause();
    });
  }

  head(status: number, headers: IncomingHttpHeaders): void {
    if (this.#hasEnded) return;
    const refusal = this.#pool?.refusal(status);
    if (refusal !== undefined) {
      this.#connection?.drop();
      this.fail(refusal);
      return;
    }
    if (status >= 200) this.#coding = headers["content-encoding"];
    this.#receiver.head(status, headers);
  }

  data(bytes: Buffer): void {
    if (this.#hasEnded) return;
    if (this.#coding !== undefined) this.#startDecompressor(this.#coding, bytes[0]!);
    if (this.#decompress === undefined) this.#receiver.data(bytes);
    else if (!this.#decompress.write(bytes)) {
      this.#connection?.pause();
      this.#decompress.once("drain", () => {
        if (!this.#isPaused) this.#connection?.resume();
      });
    }
  }

  end(): void {
    // From now on, the connection may serve another request.
    this.#connection = undefined;
    if (this.#hasEnded) return;
    if (this.#decompress !== undefined) {
      this.#decompress.end();
      return;
    }
    this.#hasEnded = true;
    this.#receiver.end();
  }

  fail(error: Error): void {
    this.#connection = undefined;
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.#decompress?.destroy();
    this.#receiver.fail(error);
  }

  abort(): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.#decompress?.destroy();
    this.#connection?.drop();
    this.#connection = undefined;
  }

  pause(): void {
    this.#isPaused = true;
    if (this.#decompress !== undefined) this.#decompress.pause();
    else this.#connection?.pause();
  }

  resume(): void {
    this.#isPaused = false;
    if (this.#decompress !== undefined) this.#decompress.resume();
    else this.#connection?.resume();
  }

  #startDecompressor(coding: string, first: number): void {
    this.#coding = undefined;
    const transform = createDecompressor(coding, first);
    if (transform === undefined) return;
    this.#decompress = transform;
    const failResponse = (error: Error) => {
      this.#connection?.drop();
      this.fail(error);
    };
    transform.on("data", (bytes: Buffer) => {
      if (this.#hasEnded) return;
      try {
        this.#receiver.data(bytes);
      } catch (error) {
        // An uncompressed response fails in the same way.
        failResponse(error as Error);
      }
    });
    transform.on("end", () => {
      if (this.#hasEnded) return;
      this.#hasEnded = true;
      this.#receiver.end();
    });
    transform.on("error", failResponse);
  }
}

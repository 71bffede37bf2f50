/**
 * Sends requests to upstreams: HTTP/1.1 directly on sockets, because a general client costs as much as the rest of a
 * request here. It uses no streams and copies bytes once; back-pressure pauses the socket.
 */
import type { IncomingHttpHeaders } from "node:http";
import type { Transform } from "node:stream";
import { BoundedMap, inBurst } from "portico";
import { createDecompressor, parseProxy, type ProxyEnvironment, proxyFor } from "portico/egress";
import type { WireRequest } from "portico/provider";
import { parseUrl } from "portico/strings";
import type { Connection, Taker } from "./connection.ts";
import { Pool } from "./pool.ts";

export type UpstreamCall = Pick<WireRequest, "method" | "url" | "headers" | "body" | "coding">;

/** Called in this order: head, data…, then end or fail; nothing after `abort()`. */
export interface Receiver {
  head(status: number, headers: IncomingHttpHeaders): void;
  data(bytes: Buffer): void;
  /** The response is complete. */
  end(): void;
  /** No connection, a reset, a response cut short or malformed, a body that does not decompress; or `Unsendable`. */
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
        : `its header \`${header}\` has a character that headers cannot have`,
    );
    this.header = header;
  }
}

export interface Sending {
  abort(): void;
  /** Stops reading from the upstream's socket until `resume`. */
  pause(): void;
  resume(): void;
}

export interface UpstreamClient {
  /** `proxy`: of the channel; without one, the environment's counts. */
  send(call: UpstreamCall, receiver: Receiver, proxy?: string): Sending;
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

/** URL parsing costs as much as routing: the few addresses in use are remembered. */
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

/** This client sets these headers itself: they frame the message and decide about the connection. */
const OURS = new Set([
  "content-length",
  "transfer-encoding",
  "connection",
  "keep-alive",
  "upgrade",
  "expect",
]);
const NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
const VALUE = /^[\t\x20-\x7e]*$/;

interface Head {
  method: string;
  address: Address;
  pool: Pool;
  text: string;
}

/** The last head written for frozen headers, which most requests of a channel share. */
const heads = new WeakMap<object, Head>();

function headOf({ method, headers }: UpstreamCall, address: Address, pool: Pool): string {
  const known = heads.get(headers);
  if (known?.method === method && known.address === address && known.pool === pool)
    return known.text;
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
  let named = host;
  let { lines } = pool;
  for (const name in headers) {
    const value = headers[name]!;
    if (!NAME.test(name) || !VALUE.test(value)) throw new Unsendable(name);
    const lower = name.toLowerCase();
    if (lower === "host") named = value;
    else if (!OURS.has(lower)) lines += `${name}: ${value}\r\n`;
  }
  return `${method} ${pool.base}${path} HTTP/1.1\r\nhost: ${named}\r\nconnection: keep-alive\r\n${lines}`;
}

/** One request and its response, decompressed. */
class Exchange implements Taker, Sending {
  #over = false;
  #receiver: Receiver;
  #connection: Connection | undefined;
  #pool: Pool | undefined;
  #paused = false;
  #coding: string | undefined;
  #decompress: Transform | undefined;

  constructor(receiver: Receiver) {
    this.#receiver = receiver;
  }

  begin(pool: Pool, head: string, call: UpstreamCall): void {
    this.#pool = pool;
    inBurst(() => {
      if (this.#over) return;
      this.#connection = pool.take();
      this.#connection.send(head, call, this);
      if (this.#paused) this.#connection.pause();
    });
  }

  head(status: number, headers: IncomingHttpHeaders): void {
    if (this.#over) return;
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
    if (this.#over) return;
    if (this.#coding !== undefined) this.#unpack(this.#coding, bytes[0]!);
    if (this.#decompress === undefined) this.#receiver.data(bytes);
    else if (!this.#decompress.write(bytes)) {
      this.#connection?.pause();
      this.#decompress.once("drain", () => {
        if (!this.#paused) this.#connection?.resume();
      });
    }
  }

  end(): void {
    // From here on the connection may serve another request.
    this.#connection = undefined;
    if (this.#over) return;
    if (this.#decompress !== undefined) {
      this.#decompress.end();
      return;
    }
    this.#over = true;
    this.#receiver.end();
  }

  fail(error: Error): void {
    this.#connection = undefined;
    if (this.#over) return;
    this.#over = true;
    this.#decompress?.destroy();
    this.#receiver.fail(error);
  }

  abort(): void {
    if (this.#over) return;
    this.#over = true;
    this.#decompress?.destroy();
    this.#connection?.drop();
    this.#connection = undefined;
  }

  pause(): void {
    this.#paused = true;
    if (this.#decompress !== undefined) this.#decompress.pause();
    else this.#connection?.pause();
  }

  resume(): void {
    this.#paused = false;
    if (this.#decompress !== undefined) this.#decompress.resume();
    else this.#connection?.resume();
  }

  #unpack(coding: string, first: number): void {
    this.#coding = undefined;
    const transform = createDecompressor(coding, first);
    if (transform === undefined) return;
    this.#decompress = transform;
    const broken = (error: Error) => {
      this.#connection?.drop();
      this.fail(error);
    };
    transform.on("data", (bytes: Buffer) => {
      if (this.#over) return;
      try {
        this.#receiver.data(bytes);
      } catch (error) {
        // An uncompressed response fails in the same way.
        broken(error as Error);
      }
    });
    transform.on("end", () => {
      if (this.#over) return;
      this.#over = true;
      this.#receiver.end();
    });
    transform.on("error", broken);
  }
}

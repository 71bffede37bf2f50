/** The kept-alive connections to one origin, direct or through one proxy. Each concurrent request has a connection. */
import { connect, isIP, type OnReadOpts, type Socket } from "node:net";
import type { TLSSocket } from "node:tls";
import { dialProxy } from "portico/egress";
import { Connection, type ConnectionEvents } from "./connection.ts";
import { ownReading } from "./own-reading.ts";
import { credentialsLine, ProxyFailure, Tunnel } from "./via-proxy.ts";

const CONNECT_TIMEOUT_MS = 10_000;
const SWEEP_MS = 1000;
/** Holds unless the server announces that it closes sooner. A connection should seldom close under a request. */
const MOST_SWEEPS = 15;
/** What a sweep and a slow network may cost. */
const MARGIN_SWEEPS = 2;
/** After a sweep that is this late, the process was blocked or suspended. */
const STOOD_STILL_MS = 2 * SWEEP_MS;
const PROBE_MS = 60_000;

export class Pool implements ConnectionEvents {
  /** Stands before the path of a request: a proxy for http needs the whole address. */
  readonly base: string;
  /** Further lines of each request's head. */
  readonly lines: string;
  readonly #url: URL;
  readonly #proxy: URL | undefined;
  /** The last one that became free is the first to be taken: the others may grow old and go. */
  readonly #idle: Connection[] = [];
  #session: Buffer | undefined;
  #sweeper: NodeJS.Timeout | undefined;
  /**
   * Not 0: a field that was a small integer and becomes another number gives the object another shape. Where a cache took it in
   * its first one (`heads`, beside), V8 would compile the code for that again and again, and each time find it out of date.
   */
  #sweptAt = Number.NEGATIVE_INFINITY;
  #closed = false;

  /** `origin`: scheme, host and port. */
  constructor(origin: string, proxy?: URL) {
    this.#url = new URL(origin);
    this.#proxy = proxy;
    const isRead = proxy !== undefined && this.#url.protocol === "http:";
    this.base = isRead ? origin : "";
    this.lines = isRead ? credentialsLine(proxy) : "";
  }

  /** The proxy itself refused the request: it wants other credentials. */
  refusal(status: number): Error | undefined {
    const isRefusal = status === 407 && this.#proxy !== undefined;
    return isRefusal
      ? new ProxyFailure(this.#proxy, { cause: new Error(`HTTP/1.1 ${status}`) })
      : undefined;
  }

  take(): Connection {
    return this.#idle.pop() ?? this.#open();
  }

  /** Ends idle connections now, the others with their responses. */
  close(): void {
    this.#closed = true;
    clearInterval(this.#sweeper);
    for (const connection of this.#idle.splice(0)) connection.destroy();
  }

  idle(connection: Connection): void {
    if (this.#closed) {
      connection.destroy();
      return;
    }
    connection.sweeps = 0;
    this.#idle.push(connection);
    if (this.#sweeper !== undefined) return;
    this.#sweptAt = Date.now();
    this.#sweeper = setInterval(() => this.#sweep(), SWEEP_MS).unref();
  }

  gone(connection: Connection): void {
    const at = this.#idle.indexOf(connection);
    if (at !== -1) this.#idle.splice(at, 1);
  }

  #sweep(): void {
    const now = Date.now();
    // After a blocked event loop or a suspended machine, the ends of connections have not been read yet.
    const stoodStill = now - this.#sweptAt > STOOD_STILL_MS;
    this.#sweptAt = now;
    for (const connection of [...this.#idle]) {
      const most = stoodStill ? 0 : Math.min(MOST_SWEEPS, connection.keptIdleS - MARGIN_SWEEPS);
      if (++connection.sweeps <= most) continue;
      this.gone(connection);
      connection.destroy();
    }
    if (this.#idle.length > 0) return;
    clearInterval(this.#sweeper);
    this.#sweeper = undefined;
  }

  #open(): Connection {
    const secure = this.#url.protocol === "https:";
    const host = this.#url.hostname.replace(/^\[(.*)\]$/, "$1");
    const port = Number(this.#url.port) || (secure ? 443 : 80);
    const proxy = this.#proxy;
    const lost = (error: Error) => connection.destroy(error);
    const onread = ownReading((bytes) => connection.read(bytes));
    const openPlain = () =>
      proxy === undefined ? connect({ host, port, onread }) : openProxy(proxy, lost);
    const socket = secure ? this.#openSecure({ host, port, onread }, lost) : openPlain();
    socket.setNoDelay(true);
    socket.setKeepAlive(true, PROBE_MS);
    const connection: Connection = new Connection(socket, this);
    const timer = setTimeout(() => {
      const error = Object.assign(new Error("the connection took too long"), { code: "ETIMEDOUT" });
      connection.destroy(proxy === undefined ? error : new ProxyFailure(proxy, error));
    }, CONNECT_TIMEOUT_MS);
    const settled = () => clearTimeout(timer);
    socket.once(secure || proxy?.protocol === "https:" ? "secureConnect" : "connect", settled);
    socket.once("close", settled);
    return connection;
  }

  #openSecure(
    to: { host: string; port: number; onread: OnReadOpts },
    lost: (error: Error) => void,
  ): Socket {
    const { host, port } = to;
    // Loaded at the first use: most installations on one machine never need it.
    const tls = process.getBuiltinModule("node:tls");
    const through = this.#proxy && new Tunnel(this.#proxy, host, port, CONNECT_TIMEOUT_MS);
    // This listener comes before that of TLS, because the proxy's error gives the reason.
    through?.on("error", lost);
    const socket: TLSSocket = tls.connect({
      ...(through === undefined ? to : { socket: through }),
      ALPNProtocols: ["http/1.1"],
      servername: isIP(host) === 0 ? host : undefined,
      session: this.#session,
    });
    socket.on("session", (session: Buffer) => {
      this.#session = session;
    });
    return socket;
  }
}

/** A connection to a proxy that reads the requests itself. */
function openProxy(proxy: URL, lost: (error: Error) => void): Socket {
  const socket = dialProxy(proxy);
  const failed = (error: Error) => lost(new ProxyFailure(proxy, error));
  socket.once("error", failed);
  socket.once(proxy.protocol === "https:" ? "secureConnect" : "connect", () =>
    socket.off("error", failed),
  );
  socket.once("end", () => socket.end());
  return socket;
}

/** The kept-alive connections to one origin, direct or through one proxy. Each concurrent request has a connection. */
import { connect, isIP, type OnReadOpts, type Socket } from "node:net";
import type { TLSSocket } from "node:tls";
import { dialProxy } from "portico/egress";
import { Connection, type ConnectionEvents } from "./connection.ts";
import { ownReading } from "./own-reading.ts";
import { credentialsLine, ProxyFailure, Tunnel } from "./via-proxy.ts";

const CONNECT_TIMEOUT_MS = 10_000;
const SWEEP_MS = 1000;
/**
 * An idle connection is closed after this number of sweeps, or earlier if the server announces a shorter time. The
 * server should seldom close a connection while a request is sent.
 */
const MAX_SWEEPS = 15;
/** Margin for the interval of sweeps and a slow network. */
const MARGIN_SWEEPS = 2;
/** A sweep that is this late shows that the process was blocked or suspended. */
const SUSPENDED_MS = 2 * SWEEP_MS;
const PROBE_MS = 60_000;

export class Pool implements ConnectionEvents {
  /** Precedes the path of a request: a proxy for http needs the absolute URL. */
  readonly base: string;
  /** Additional lines of each request's head. */
  readonly lines: string;
  readonly #url: URL;
  readonly #proxy: URL | undefined;
  /** A stack: the connection that became idle last is used first, so that the others can expire. */
  readonly #idle: Connection[] = [];
  #session: Buffer | undefined;
  #sweeper: NodeJS.Timeout | undefined;
  /**
   * Not 0: when a field changes from a small integer to another number, V8 changes the shape of the object. If a cache
   * (`heads` in `upstream-client.ts`) used the object in its first shape, V8 would compile that code again and again,
   * and find it outdated each time.
   */
  #sweptAt = Number.NEGATIVE_INFINITY;
  #isClosed = false;

  /** `origin` consists of scheme, host and port. */
  constructor(origin: string, proxy?: URL) {
    this.#url = new URL(origin);
    this.#proxy = proxy;
    const isPlainProxy = proxy !== undefined && this.#url.protocol === "http:";
    this.base = isPlainProxy ? origin : "";
    this.lines = isPlainProxy ? credentialsLine(proxy) : "";
  }

  /** Returns the error if the proxy itself refused the request because it requires other credentials. */
  refusal(status: number): Error | undefined {
    const isRefusal = status === 407 && this.#proxy !== undefined;
    return isRefusal
      ? new ProxyFailure(this.#proxy, { cause: new Error(`HTTP/1.1 ${status}`) })
      : undefined;
  }

  take(): Connection {
    return this.#idle.pop() ?? this.#open();
  }

  /** Closes idle connections now, and the others when their responses have ended. */
  close(): void {
    this.#isClosed = true;
    clearInterval(this.#sweeper);
    for (const connection of this.#idle.splice(0)) connection.destroy();
  }

  idle(connection: Connection): void {
    if (this.#isClosed) {
      connection.destroy();
      return;
    }
    connection.sweeps = 0;
    this.#idle.push(connection);
    if (this.#sweeper !== undefined) return;
    this.#sweptAt = Date.now();
    this.#sweeper = setInterval(() => this.#sweep(), SWEEP_MS).unref();
  }

  closed(connection: Connection): void {
    const index = this.#idle.indexOf(connection);
    if (index !== -1) this.#idle.splice(index, 1);
  }

  #sweep(): void {
    const now = Date.now();
    // After a blocked event loop or a suspended machine, closed connections may not have been detected yet.
    const wasSuspended = now - this.#sweptAt > SUSPENDED_MS;
    this.#sweptAt = now;
    for (const connection of [...this.#idle]) {
      const maxSweeps = wasSuspended
        ? 0
        : Math.min(MAX_SWEEPS, connection.idleTimeoutS - MARGIN_SWEEPS);
      if (++connection.sweeps <= maxSweeps) continue;
      this.closed(connection);
      connection.destroy();
    }
    if (this.#idle.length > 0) return;
    clearInterval(this.#sweeper);
    this.#sweeper = undefined;
  }

  #open(): Connection {
    const isSecure = this.#url.protocol === "https:";
    const host = this.#url.hostname.replace(/^\[(.*)\]$/, "$1");
    const port = Number(this.#url.port) || (isSecure ? 443 : 80);
    const proxy = this.#proxy;
    const failConnection = (error: Error) => connection.destroy(error);
    const onread = ownReading((bytes) => connection.read(bytes));
    const openPlain = () =>
      proxy === undefined ? connect({ host, port, onread }) : openProxy(proxy, failConnection);
    const socket = isSecure
      ? this.#openSecure({ host, port, onread }, failConnection)
      : openPlain();
    socket.setNoDelay(true);
    socket.setKeepAlive(true, PROBE_MS);
    const connection: Connection = new Connection(socket, this);
    const timer = setTimeout(() => {
      const error = Object.assign(new Error("the connection took too long"), { code: "ETIMEDOUT" });
      connection.destroy(proxy === undefined ? error : new ProxyFailure(proxy, error));
    }, CONNECT_TIMEOUT_MS);
    const stopTimer = () => clearTimeout(timer);
    socket.once(isSecure || proxy?.protocol === "https:" ? "secureConnect" : "connect", stopTimer);
    socket.once("close", stopTimer);
    return connection;
  }

  #openSecure(
    options: { host: string; port: number; onread: OnReadOpts },
    onError: (error: Error) => void,
  ): Socket {
    const { host, port } = options;
    // Loaded at first use, because most installations on one machine never need it.
    const tls = process.getBuiltinModule("node:tls");
    const tunnel = this.#proxy && new Tunnel(this.#proxy, host, port, CONNECT_TIMEOUT_MS);
    // This listener is registered before that of TLS, because the proxy's error gives the reason.
    tunnel?.on("error", onError);
    const socket: TLSSocket = tls.connect({
      ...(tunnel === undefined ? options : { socket: tunnel }),
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

/** Opens a connection to a proxy that reads the requests itself. */
function openProxy(proxy: URL, onError: (error: Error) => void): Socket {
  const socket = dialProxy(proxy);
  const onConnectError = (error: Error) => onError(new ProxyFailure(proxy, error));
  socket.once("error", onConnectError);
  socket.once(proxy.protocol === "https:" ? "secureConnect" : "connect", () =>
    socket.off("error", onConnectError),
  );
  socket.once("end", () => socket.end());
  return socket;
}

/**
 * The HTTP server that routes are mounted on: opens its port, accepts connections, and shuts down. `requests.ts`
 * handles requests.
 */
import { once } from "node:events";
import http, { type IncomingMessage } from "node:http";
import https from "node:https";
import type { AddressInfo, Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { HttpSettings } from "../config/schema.ts";
import type { AccessEntry } from "../log/access-lines.ts";
import type {
  ChangeWatcher,
  Dispose,
  EndedRequest,
  ErrorForm,
  ErrorFormOptions,
  Logger,
  Method,
  Mount,
  RouteHandler,
  RouteInfo,
  RouteOptions,
  UpgradeHandler,
} from "../contract/index.ts";
import type { Auth } from "./access/auth.ts";
import { HttpRequest } from "./body/request.ts";
import { Connections } from "./connections.ts";
import type { Admission, ConnectionLimit } from "./connection-limit.ts";
import { Guards } from "./access/guards.ts";
import { mintId } from "./request/context.ts";
import { endRaw } from "./response/raw.ts";
import { endBroken } from "./protocol-errors.ts";
import { errors } from "./errors.ts";
import { type Expectation, type RequestCounts, Requests } from "./requests.ts";
import { listenError } from "./listen-error.ts";
import { createErrorForms, type ErrorForms, UNREAD_REQUEST } from "./response/errors.ts";
import { createRouter } from "./router.ts";
import { serveCertificate, type TlsFiles } from "./tls.ts";
import { handleUpgrade, ignoreUpgrade, isWebSocket, type UpgradeRoute } from "./upgrades.ts";

export interface HttpServerOptions {
  /** The name of the server in log lines. */
  name: string;
  log: Logger;
  /** Writes the access-log line of one request. */
  access: (entry: AccessEntry) => void;
  /** Called at the end of every request. Returns the listener for it, or undefined if there is none. */
  watchers?: () => ((request: EndedRequest) => void) | undefined;
  /** The listeners for requests that set out to change something. */
  changeWatchers?: () => readonly ChangeWatcher[];
  /** Called at every request, so it must be cheap and return the same arrays until something changes. */
  settings: () => HttpSettings;
  auth: Auth;
  /** The limit that all servers of the process share. */
  connectionLimit: ConnectionLimit;
  /** Refuse peers from other machines, wherever the server is bound. */
  loopbackOnly?: boolean;
  /** Origins that may call in addition to `allowedOrigins`. */
  origins?: readonly string[];
  /** The files for HTTPS; without them the server speaks HTTP. */
  tls?: TlsFiles | undefined;
  /** Requests that arrive before this resolves wait for it. */
  opens?: Promise<unknown>;
}

const NODE_OPTIONS = {
  IncomingMessage: HttpRequest,
  requireHostHeader: false,
  // The pools of common clients close a connection earlier than this, so that the client is the one who closes it.
  keepAliveTimeout: 75_000,
  handshakeTimeout: 10_000,
  connectionsCheckingInterval: 1000,
  shouldUpgradeCallback: isWebSocket,
};

/** The time in which a connected peer answers a closing message. */
const CLOSING_MS = 1_500;

const describePeer = ({ remoteAddress, remotePort }: Socket): string =>
  `${remoteAddress} ${remotePort}`;

type NodeServer = http.Server | https.Server;

export class HttpServer implements Mount {
  readonly #options: HttpServerOptions;
  readonly #closing = new AbortController();
  readonly #guards: Guards;
  readonly #forms: ErrorForms;
  readonly #connections: Connections;
  readonly #requests: Requests;
  readonly #upgrades = createRouter<UpgradeRoute>();
  readonly #server: NodeServer;
  /** The same server if it speaks HTTPS. */
  readonly #secure: https.Server | undefined;
  /** Keyed by the peer's address and port: over TLS, requests arrive on another socket object than the admitted one. */
  readonly #admissions = new Map<string, Admission>();
  /** False while requests have to wait for `opens`. */
  #isOpen: boolean;
  #port = 0;
  #draining: Promise<void> | undefined;
  #closed: Promise<unknown> = Promise.resolve();
  #stopTls = (): void => {};

  constructor(options: HttpServerOptions) {
    const { log, settings, auth, loopbackOnly = false, origins = [], tls, opens } = options;
    const { changeWatchers = () => [] } = options;
    const closing = this.#closing.signal;
    this.#options = options;
    this.#guards = new Guards({ settings, loopbackOnly, origins });
    this.#forms = createErrorForms(log);
    this.#connections = new Connections({
      access: options.access,
      watchers: options.watchers,
      closing,
    });
    this.#requests = new Requests({
      server: { log, settings, closing },
      guards: this.#guards,
      auth,
      forms: this.#forms,
      connections: this.#connections,
      changeWatchers,
    });
    this.#isOpen = opens === undefined;
    opens?.then(() => {
      this.#isOpen = true;
    });
    const onRequest = (req: HttpRequest, res: http.ServerResponse) => this.#receive(req, res);
    this.#secure = tls && https.createServer(NODE_OPTIONS, onRequest);
    this.#server = this.#secure ?? http.createServer(NODE_OPTIONS, onRequest);
    this.#listenForConnections();
    this.#listenForRequests();
  }

  route(method: Method, path: string, options: RouteOptions, handler: RouteHandler): Dispose {
    return this.#requests.add(method, path, options, handler);
  }

  upgrade(path: string, route: Omit<UpgradeRoute, "handler">, handler: UpgradeHandler): Dispose {
    return this.#upgrades.add("GET", path, { ...route, handler });
  }

  errors(prefix: string, form: ErrorForm, options?: ErrorFormOptions): Dispose {
    return this.#forms.add(prefix, form, options);
  }

  /** The port that the server listens on; 0 until it listens. */
  get port(): number {
    return this.#port;
  }

  /** The number of requests in progress. */
  get active(): number {
    return this.#connections.active;
  }

  requests(): RequestCounts {
    return this.#requests.counts();
  }

  routes(): RouteInfo[] {
    return this.#requests.routes();
  }

  /** Serves a connection that another process has accepted. */
  accept(socket: Duplex): void {
    this.#server.emit("connection", socket);
  }

  /** Serves connections that another process accepts at this address and hands to `accept`. */
  adopt(sharedPort: number, host: string): void {
    this.#serveCertificate();
    // Node begins to check for slow request heads at this event.
    this.#server.emit("listening");
    this.#setAddress(sharedPort, host);
  }

  /** Resolves to the port. Rejects with `port_in_use` or `cannot_listen`. */
  async listen(requestedPort: number, host: string): Promise<number> {
    const server = this.#server;
    this.#serveCertificate();
    server.listen(requestedPort, host);
    await once(server, "listening").catch((error) =>
      Promise.reject(listenError(error, host, requestedPort)),
    );
    // A stop during the opening of the port had nothing to close.
    if (this.#closing.signal.aborted) {
      server.close();
      throw errors.stopping();
    }
    const { log, name } = this.#options;
    server.on("error", (error) => log.error({ err: error, server: name }, "the server failed"));
    this.#setAddress((server.address() as AddressInfo).port, host);
    return this.#port;
  }

  /**
   * Accepts no more connections, lets requests in progress end for `graceMs`, then cuts them. Sockets that an upgrade
   * has handed over stay open.
   */
  drain(graceMs: number): Promise<void> {
    this.#draining ??= this.#drain(graceMs);
    return this.#draining;
  }

  /** Drains, then also closes the handed-over sockets, whose owners have sent their closing messages by now. */
  async close(graceMs: number): Promise<void> {
    await this.drain(graceMs);
    await this.#connections.cut(CLOSING_MS);
    await this.#closed;
  }

  async #drain(graceMs: number): Promise<void> {
    this.#closing.abort();
    this.#stopTls();
    if (this.#port === 0) return;
    this.#closed = new Promise((resolve) => this.#server.close(resolve));
    await this.#connections.drain(graceMs, (call) => this.#requests.cut(call));
  }

  #setAddress(port: number, host: string): void {
    this.#port = port;
    this.#guards.bind(host, port);
  }

  #serveCertificate(): void {
    const { tls, log } = this.#options;
    if (this.#secure && tls) this.#stopTls = serveCertificate(this.#secure, tls, log);
  }

  /** The event that announces a connection on which requests arrive. */
  get #connectionEvent(): "secureConnection" | "connection" {
    return this.#secure ? "secureConnection" : "connection";
  }

  #listenForConnections(): void {
    const { settings } = this.#options;
    const server: http.Server = this.#server;
    server.on("connection", (socket: Socket) => this.#admit(socket));
    server.on(this.#connectionEvent, (socket: Socket) => {
      server.headersTimeout = settings().http.headersTimeoutMs;
      this.#connections.add(socket);
      this.#admissions.get(describePeer(socket))?.setIdle(() => this.#connections.isIdle(socket));
    });
    server.on("clientError", (failure: NodeJS.ErrnoException, socket: Duplex) =>
      endBroken(failure, socket, this.#connections.stateOf(socket), this.#forms),
    );
  }

  #listenForRequests(): void {
    const server: http.Server = this.#server;
    server.on("checkContinue", (req: HttpRequest, res) => this.#receive(req, res, "continue"));
    server.on("checkExpectation", (req: HttpRequest, res) => this.#receive(req, res, "unknown"));
    server.on("upgrade", (req: IncomingMessage, socket: Duplex, head: Buffer) =>
      this.#upgradeConnection(req, socket, head),
    );
  }

  #admit(socket: Socket): void {
    const admission = this.#options.connectionLimit.admit(socket);
    if (admission === undefined) {
      this.#refuseConnection(socket);
      return;
    }
    const peer = describePeer(socket);
    this.#admissions.set(peer, admission);
    socket.once("close", () => {
      if (this.#admissions.get(peer) === admission) this.#admissions.delete(peer);
    });
  }

  #refuseConnection(socket: Socket): void {
    socket.on("error", () => socket.destroy());
    // A TLS connection cannot carry a response before its handshake.
    if (this.#secure) {
      socket.destroy();
      return;
    }
    const id = mintId();
    const error = errors.tooManyConnections({ headers: { "retry-after": "1" } });
    endRaw(socket, error, id, this.#forms.render(UNREAD_REQUEST, error, id));
  }

  #receive(req: HttpRequest, res: http.ServerResponse, expectation?: Expectation): void {
    this.#runOnceOpen(req, () => this.#requests.receive(req, res, expectation));
  }

  #upgradeConnection(req: IncomingMessage, socket: Duplex, head: Buffer): void {
    if (!isWebSocket(req)) {
      ignoreUpgrade(req, socket, head);
      this.#server.emit(this.#connectionEvent, socket);
      return;
    }
    this.#connections.handOver(socket);
    const { log, settings, auth } = this.#options;
    const context = {
      server: { log, settings, closing: this.#closing.signal },
      guards: this.#guards,
      auth,
      forms: this.#forms,
    };
    const find = (path: string) => this.#upgrades.find("GET", path)?.route;
    this.#runOnceOpen(req, () => void handleUpgrade(context, find, req, socket, head));
  }

  #runOnceOpen({ socket }: IncomingMessage, work: () => void): void {
    if (this.#isOpen) {
      work();
      return;
    }
    void this.#options.opens?.then(() => {
      if (!socket.destroyed) work();
    });
  }
}

/** The HTTP server that routes are mounted on: its port, its connections, its end. `requests.ts` handles requests. */
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
  /** For log lines. */
  name: string;
  log: Logger;
  /** Writes the line of one request. */
  access: (entry: AccessEntry) => void;
  /** Called at the end of every request: returns the listener for it, or undefined where there is none. */
  watchers?: () => ((request: EndedRequest) => void) | undefined;
  /** The listeners for requests that set out to change something. */
  changeWatchers?: () => readonly ChangeWatcher[];
  /** Called at every request: cheap, and the same arrays as long as nothing changed. */
  settings: () => HttpSettings;
  auth: Auth;
  /** All servers of the process share it. */
  connectionLimit: ConnectionLimit;
  /** Refuse peers from other machines, wherever the server is bound. */
  loopbackOnly?: boolean;
  /** Origins that may call, beside `allowedOrigins`. */
  origins?: readonly string[];
  /** HTTPS instead of HTTP. */
  tls?: TlsFiles | undefined;
  /** Requests that come before this has resolved wait for it. */
  opens?: Promise<unknown>;
}

const NODE_OPTIONS = {
  IncomingMessage: HttpRequest,
  requireHostHeader: false,
  // Longer than the pools of common clients keep a connection, so that it is they who close it.
  keepAliveTimeout: 75_000,
  handshakeTimeout: 10_000,
  connectionsCheckingInterval: 1000,
  shouldUpgradeCallback: isWebSocket,
};

/** A peer that is there answers a farewell within this. */
const FAREWELL_MS = 1_500;

const peerOf = ({ remoteAddress, remotePort }: Socket): string => `${remoteAddress} ${remotePort}`;

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
  /** The same server, where it speaks HTTPS. */
  readonly #secure: https.Server | undefined;
  /** By the peer's address and port: over TLS, requests come over another socket than the one that was admitted. */
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
    const take = (req: HttpRequest, res: http.ServerResponse) => this.#take(req, res);
    this.#secure = tls && https.createServer(NODE_OPTIONS, take);
    this.#server = this.#secure ?? http.createServer(NODE_OPTIONS, take);
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

  /** 0 until the server listens. */
  get port(): number {
    return this.#port;
  }

  /** Requests that are under way. */
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
    // From now on Node looks after slow heads.
    this.#server.emit("listening");
    this.#begin(sharedPort, host);
  }

  /** Resolves to the port. Rejects with `port_in_use` or `cannot_listen`. */
  async listen(wantedPort: number, host: string): Promise<number> {
    const server = this.#server;
    this.#serveCertificate();
    server.listen(wantedPort, host);
    await once(server, "listening").catch((error) =>
      Promise.reject(listenError(error, host, wantedPort)),
    );
    // A stop that came while the port was being opened had nothing to close.
    if (this.#closing.signal.aborted) {
      server.close();
      throw errors.stopping();
    }
    const { log, name } = this.#options;
    server.on("error", (error) => log.error({ err: error, server: name }, "the server failed"));
    this.#begin((server.address() as AddressInfo).port, host);
    return this.#port;
  }

  /**
   * Takes no more connections, lets running requests end for `graceMs`, then cuts them. Sockets that an upgrade has
   * handed over stay.
   */
  drain(graceMs: number): Promise<void> {
    this.#draining ??= this.#drain(graceMs);
    return this.#draining;
  }

  /** `drain`, then ends the handed-over sockets too, whose owners have said farewell by now. */
  async close(graceMs: number): Promise<void> {
    await this.drain(graceMs);
    await this.#connections.cut(FAREWELL_MS);
    await this.#closed;
  }

  async #drain(graceMs: number): Promise<void> {
    this.#closing.abort();
    this.#stopTls();
    if (this.#port === 0) return;
    this.#closed = new Promise((resolve) => this.#server.close(resolve));
    await this.#connections.end(graceMs, (call) => this.#requests.cut(call));
  }

  #begin(port: number, host: string): void {
    this.#port = port;
    this.#guards.bind(host, port);
  }

  #serveCertificate(): void {
    const { tls, log } = this.#options;
    if (this.#secure && tls) this.#stopTls = serveCertificate(this.#secure, tls, log);
  }

  /** The event of a connection that requests come over. */
  get #connected(): "secureConnection" | "connection" {
    return this.#secure ? "secureConnection" : "connection";
  }

  #listenForConnections(): void {
    const { settings } = this.#options;
    const server: http.Server = this.#server;
    server.on("connection", (socket: Socket) => this.#admit(socket));
    server.on(this.#connected, (socket: Socket) => {
      server.headersTimeout = settings().http.headersTimeoutMs;
      this.#connections.add(socket);
      this.#admissions.get(peerOf(socket))?.setIdle(() => this.#connections.isIdle(socket));
    });
    server.on("clientError", (failure: NodeJS.ErrnoException, socket: Duplex) =>
      endBroken(failure, socket, this.#connections.running(socket), this.#forms),
    );
  }

  #listenForRequests(): void {
    const server: http.Server = this.#server;
    server.on("checkContinue", (req: HttpRequest, res) => this.#take(req, res, "continue"));
    server.on("checkExpectation", (req: HttpRequest, res) => this.#take(req, res, "unknown"));
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
    const peer = peerOf(socket);
    this.#admissions.set(peer, admission);
    socket.once("close", () => {
      if (this.#admissions.get(peer) === admission) this.#admissions.delete(peer);
    });
  }

  #refuseConnection(socket: Socket): void {
    socket.on("error", () => socket.destroy());
    // Before its handshake, a connection over TLS carries nothing.
    if (this.#secure) {
      socket.destroy();
      return;
    }
    const id = mintId();
    const error = errors.tooManyConnections({ headers: { "retry-after": "1" } });
    endRaw(socket, error, id, this.#forms.render(UNREAD_REQUEST, error, id));
  }

  #take(req: HttpRequest, res: http.ServerResponse, expectation?: Expectation): void {
    this.#onceOpen(req, () => this.#requests.take(req, res, expectation));
  }

  #upgradeConnection(req: IncomingMessage, socket: Duplex, head: Buffer): void {
    if (!isWebSocket(req)) {
      ignoreUpgrade(req, socket, head);
      this.#server.emit(this.#connected, socket);
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
    this.#onceOpen(req, () => void handleUpgrade(context, find, req, socket, head));
  }

  #onceOpen({ socket }: IncomingMessage, work: () => void): void {
    if (this.#isOpen) {
      work();
      return;
    }
    void this.#options.opens?.then(() => {
      if (!socket.destroyed) work();
    });
  }
}

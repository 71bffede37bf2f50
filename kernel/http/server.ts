/** The HTTP server that routes are mounted on: its port, its connections, its end. What a request meets is in requests.ts. */
import { once } from "node:events";
import http, { type IncomingMessage } from "node:http";
import https from "node:https";
import type { AddressInfo, Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { HttpSettings } from "../config/schema.ts";
import { PorticoError } from "../errors.ts";
import type { AccessEntry } from "../log/log.ts";
import type { ChangeWatcher, EndedRequest, Logger, Mount } from "../contract/index.ts";
import type { Auth } from "./access/auth.ts";
import { HttpRequest } from "./body/request.ts";
import { createConnections } from "./connections.ts";
import type { Admission, ConnectionLimit } from "./connection-limit.ts";
import { createGuards } from "./access/guards.ts";
import { mintId } from "./request/context.ts";
import { endRaw } from "./response/raw.ts";
import { endBroken } from "./protocol-errors.ts";
import { createRequests } from "./requests.ts";
import { listenError } from "./listen-error.ts";
import { createErrorForms } from "./response/errors.ts";
import { createRouter } from "./router.ts";
import { serveCertificate, type TlsFiles } from "./tls.ts";
import { handleUpgrade, ignoreUpgrade, isWebSocket, type UpgradeRoute } from "./upgrades.ts";

export interface HttpServerOptions {
  /** For log lines. */
  name: string;
  log: Logger;
  /** Writes the line of one request. */
  access: (entry: AccessEntry) => void;
  /** Asked for at the end of every request: who hears of it; undefined where nobody does. */
  watchers?: () => ((request: EndedRequest) => void) | undefined;
  /** Who hears of requests that set out to change something. */
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

const nodeOptions = {
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

export type HttpServer = ReturnType<typeof createServer>;

export function createServer(options: HttpServerOptions) {
  const { log, settings, auth, loopbackOnly = false, origins = [], tls } = options;
  const closing = new AbortController();
  const guards = createGuards({ settings, loopbackOnly, origins });
  const forms = createErrorForms(log);
  const connections = createConnections({
    access: options.access,
    watchers: options.watchers,
    closing: closing.signal,
  });
  const context = { server: { log, settings, closing: closing.signal }, guards, auth, forms };
  const { changeWatchers = () => [] } = options;
  const requests = createRequests({ ...context, connections, changeWatchers });
  const upgrades = createRouter<UpgradeRoute>();
  const find = (path: string) => upgrades.find("GET", path)?.route;
  let port = 0;
  let drained: Promise<void> | undefined;
  let closed: Promise<unknown> = Promise.resolve();

  let isOpen = options.opens === undefined;
  const opening = options.opens?.then(() => void (isOpen = true));
  function onceOpen({ socket }: IncomingMessage, work: () => void): void {
    if (isOpen) work();
    else void opening?.then(() => socket.destroyed || work());
  }

  const take = (req: HttpRequest, res: http.ServerResponse) =>
    isOpen ? requests.take(req, res) : onceOpen(req, () => requests.take(req, res));
  const secure = tls && https.createServer(nodeOptions, take);
  const server = secure ?? http.createServer(nodeOptions, take);
  /** What announces a connection that requests come over. */
  const connected = secure ? "secureConnection" : "connection";
  let stopTls = (): void => {};

  /** By the peer's address and port: over TLS, requests come over another socket than the one that was admitted. */
  const admissions = new Map<string, Admission>();
  server.on("connection", (socket: Socket) => {
    const admission = options.connectionLimit.admit(socket);
    if (admission === undefined) return refuseConnection(socket);
    const peer = peerOf(socket);
    admissions.set(peer, admission);
    socket.once("close", () => {
      if (admissions.get(peer) === admission) admissions.delete(peer);
    });
  });
  server.on(connected, (socket: Socket) => {
    server.headersTimeout = settings().http.headersTimeoutMs;
    connections.add(socket);
    admissions.get(peerOf(socket))?.setIdle(() => connections.isIdle(socket));
  });
  server.on("checkContinue", (req, res) =>
    onceOpen(req, () => requests.take(req, res, "continue")),
  );
  server.on("checkExpectation", (req, res) =>
    onceOpen(req, () => requests.take(req, res, "unknown")),
  );
  server.on("upgrade", (req: IncomingMessage, socket: Duplex, head: Buffer) => {
    if (!isWebSocket(req)) {
      ignoreUpgrade(req, socket, head);
      return void server.emit(connected, socket);
    }
    connections.handOver(socket);
    onceOpen(req, () => void handleUpgrade(context, find, req, socket, head));
  });
  server.on("clientError", (failure: NodeJS.ErrnoException, socket: Duplex) =>
    endBroken(failure, socket, connections.running(socket), forms),
  );

  function refuseConnection(socket: Socket): void {
    socket.on("error", () => socket.destroy());
    // Before its handshake, a connection over TLS carries nothing.
    if (secure) return void socket.destroy();
    const id = mintId();
    const error = new PorticoError(
      "too_many_connections",
      "The gateway has no room for another connection: close idle ones, or raise gateway.http.maxConnections and the limit of open files.",
      { headers: { "retry-after": "1" } },
    );
    endRaw(socket, error, id, forms.render("", error, id));
  }

  function begin(atPort: number, host: string): void {
    port = atPort;
    guards.bind(host, port);
  }

  /**
   * Takes no more connections, lets running requests end for `graceMs`, then cuts them. Sockets that an upgrade has
   * handed over stay.
   */
  function drain(graceMs: number): Promise<void> {
    drained ??= (async () => {
      closing.abort();
      stopTls();
      if (port === 0) return;
      closed = new Promise((resolve) => server.close(resolve));
      await connections.end(graceMs, requests.cut);
    })();
    return drained;
  }

  const mount: Mount = {
    route: requests.add,
    upgrade: (path, route, handler) => upgrades.add("GET", path, { ...route, handler }),
    errors: forms.add,
  };
  return {
    ...mount,
    /** Serves a connection that somebody else has accepted. */
    accept: (socket: Duplex) => void server.emit("connection", socket),
    /** Serves connections that another process accepts at this address and hands to `accept`. */
    adopt(sharedPort: number, host: string): void {
      if (secure && tls) stopTls = serveCertificate(secure, tls, log);
      server.emit("listening"); // from now on Node looks after slow heads
      begin(sharedPort, host);
    },
    /** Resolves to the port. Rejects with `port_in_use` or `cannot_listen`. */
    async listen(wantedPort: number, host: string): Promise<number> {
      if (secure && tls) stopTls = serveCertificate(secure, tls, log);
      server.listen(wantedPort, host);
      await once(server, "listening").catch((error) =>
        Promise.reject(listenError(error, host, wantedPort)),
      );
      // a stop that came while the port was being opened has found nothing to close
      if (closing.signal.aborted) {
        server.close();
        throw new PorticoError("service_unavailable", "The gateway is stopping.");
      }
      server.on("error", (error) =>
        log.error({ err: error, server: options.name }, "the server failed"),
      );
      begin((server.address() as AddressInfo).port, host);
      return port;
    },
    drain,
    /** `drain`, then ends the handed-over sockets too, whose owners have said farewell by now. */
    async close(graceMs: number): Promise<void> {
      await drain(graceMs);
      await connections.cut(FAREWELL_MS);
      await closed;
    },
    /** 0 until the server listens. */
    get port() {
      return port;
    },
    /** Requests that are under way. */
    get active() {
      return connections.active;
    },
    requests: requests.counts,
    routes: requests.routes,
  };
}

/**
 * The HTTP server that routes are mounted on. In order, for each request: request id, Host, Origin and
 * Sec-Fetch-Site, CORS, route, credentials; the body is only read when the handler asks for it.
 */
import http, { type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import type { Duplex } from "node:stream";
import { PorticoError } from "../errors.ts";
import type { AccessEntry } from "../log/log.ts";
import type { Access, Dispose, ErrorForm, Logger, Method, Mount, RouteHandler, RouteOptions } from "../types.ts";
import { createAnswers, setHeaders } from "./answers.ts";
import type { Auth } from "./auth.ts";
import { createConnections } from "./connections.ts";
import { createErrorForms } from "./errors.ts";
import { Exchange, mintId, type ServerSide } from "./exchange.ts";
import { corsHeaders, createGuards, isPreflight, preflightHeaders } from "./guards.ts";
import { createRouter } from "./router.ts";
import type { HttpSettings } from "./settings.ts";
import { endRaw, handleUpgrade, ignoreUpgrade, type UpgradeRoute } from "./upgrades.ts";

export interface HttpServerOptions {
  /** For log lines. */
  name: string;
  log: Logger;
  /** Writes the line of one answer. */
  access: (entry: AccessEntry) => void;
  /** Called at every request: cheap, and the same arrays as long as nothing changed. */
  settings: () => HttpSettings;
  auth: Auth;
  /** Refuse peers from other machines, wherever the server is bound. */
  loopbackOnly?: boolean;
  /** Origins that may call, beside `allowedOrigins`. */
  origins?: readonly string[];
}

export interface HttpServer extends Mount {
  /** Resolves to the port. Rejects with `port_in_use` or `cannot_listen`. */
  listen(port: number, host: string): Promise<number>;
  /**
   * Takes no more connections, lets running answers end for `graceMs`, then cuts them. Sockets that an upgrade has
   * handed over stay.
   */
  drain(graceMs: number): Promise<void>;
  /** `drain`, then ends the handed-over sockets too, whose owners have said farewell by now. */
  close(graceMs: number): Promise<void>;
  /** 0 until the server listens. */
  readonly port: number;
  readonly host: string;
  /** Answers that are under way. */
  readonly active: number;
  /** Answers so far, by route and status; `route` is empty where none matched. */
  requests(): { method: string; route: string; status: number; count: number }[];
  routes(): { method: string; path: string; access: Access; summary?: string }[];
}

interface Route {
  access: Access;
  maxBodyBytes: number | undefined;
  summary: string | undefined;
  tally: Map<number, number>;
  handler: RouteHandler;
}

const CALL = Symbol("call");
type Carrier = IncomingMessage & { [CALL]: Exchange };

// Longer than the pools of common clients keep a connection, so that it is they who close it.
const KEEP_ALIVE_MS = 75_000;

/** A peer that is there answers a farewell within this. */
const FAREWELL_MS = 1_500;

export function createServer(options: HttpServerOptions): HttpServer {
  const { log, settings, auth, loopbackOnly = false, origins = [] } = options;
  const closing = new AbortController();
  const tallies = new Map<string, { method: string; route: string; tally: Map<number, number> }>();
  const side: ServerSide = { log, settings, closing: closing.signal };
  const guards = createGuards({ settings, loopbackOnly, origins });
  const forms = createErrorForms(log);
  const routes = createRouter<Route>({ run, noMatch });
  const upgrades = createRouter<UpgradeRoute>({ run: () => {}, noMatch: () => {} });
  const { finish, fail } = createAnswers(log, forms);
  const connections = createConnections(options.access, closing.signal);
  let host = "";
  let port = 0;
  let drained: Promise<void> | undefined;
  let closed: Promise<unknown> = Promise.resolve();

  const server = http.createServer(
    { requireHostHeader: false, keepAliveTimeout: KEEP_ALIVE_MS, connectionsCheckingInterval: 1000 },
    onRequest,
  );

  function onRequest(req: IncomingMessage, res: ServerResponse): void {
    const call = begin(req, res);
    if (call) dispatch(call);
  }

  /** Everything before the route; undefined where the answer has been given. */
  function begin(req: IncomingMessage, res: ServerResponse, awaitsContinue = false): Exchange | undefined {
    if ((req.url as string).charCodeAt(0) !== SLASH) toOriginForm(req);
    const call = new Exchange(side, req, res);
    call.awaitsContinue = awaitsContinue;
    (req as Carrier)[CALL] = call;
    connections.begin(call);
    if (closing.signal.aborted) call.res.setHeader("connection", "close");
    try {
      const origin = guards.check(req);
      if (origin !== undefined) {
        setHeaders(call.res, corsHeaders(origin));
        if (isPreflight(req)) {
          setHeaders(res, preflightHeaders(req));
          res.writeHead(204).end();
          return undefined;
        }
      }
      if (call.path.includes("%")) checkEncoding(call.path);
      return call;
    } catch (error) {
      fail(call, error);
      return undefined;
    }
  }

  function dispatch(call: Exchange): void {
    routes.dispatch(call.req, call.plain, call.path);
  }

  function run(route: Route, req: IncomingMessage, params: Record<string, string>): void {
    const call = (req as Carrier)[CALL];
    call.params = params;
    call.maxBodyBytes = route.maxBodyBytes;
    call.tally = route.tally;
    try {
      const client = auth.authenticate(req, route.access, call);
      if (client instanceof Promise) {
        client.then(
          (known) => {
            call.client = known;
            handle(route, call);
          },
          (error) => fail(call, error),
        );
        return;
      }
      call.client = client;
    } catch (error) {
      fail(call, error);
      return;
    }
    handle(route, call);
  }

  function handle(route: Route, call: Exchange): void {
    try {
      const result = route.handler(call);
      if (isThenable(result)) {
        result.then(
          (value) => finish(call, value),
          (error) => fail(call, error),
        );
      } else finish(call, result);
    } catch (error) {
      fail(call, error);
    }
  }

  function noMatch(req: IncomingMessage): void {
    const call = (req as Carrier)[CALL];
    const methods = routes.methods(call.path);
    const path = call.path.slice(0, 200);
    if (methods.length === 0) {
      fail(call, new PorticoError("not_found", `There is nothing at ${path}.`, { type: "invalid_request_error" }));
      return;
    }
    const allow = methods.join(", ");
    const message = `${path} does not take ${call.method}. It takes ${allow}.`;
    fail(call, new PorticoError("method_not_allowed", message, { headers: { allow }, type: "invalid_request_error" }));
  }

  /** A route that comes back after a reload counts on. */
  function tallyOf(method: string, route: string): Map<number, number> {
    const key = `${method} ${route}`;
    const known = tallies.get(key) ?? { method, route, tally: new Map<number, number>() };
    tallies.set(key, known);
    return known.tally;
  }

  function drain(graceMs: number): Promise<void> {
    drained ??= (async () => {
      closing.abort();
      if (!server.listening) return;
      closed = new Promise((resolve) => server.close(resolve));
      await connections.end(graceMs);
    })();
    return drained;
  }

  server.on("connection", (socket: Socket) => {
    server.headersTimeout = settings().headersTimeoutMs;
    connections.add(socket);
  });

  server.on("checkContinue", (req: IncomingMessage, res: ServerResponse) => {
    const call = begin(req, res, true);
    if (call) dispatch(call);
  });

  server.on("checkExpectation", (req: IncomingMessage, res: ServerResponse) => {
    const call = begin(req, res, true);
    if (call)
      fail(call, new PorticoError("expectation_failed", "The only expectation that is met here is 100-continue."));
  });

  server.on("upgrade", (req: IncomingMessage, socket: Duplex, head: Buffer) => {
    if (req.headers.upgrade?.toLowerCase() !== "websocket") {
      ignoreUpgrade(req, socket, head);
      server.emit("connection", socket);
      return;
    }
    connections.handOver(socket);
    handleUpgrade({ server: side, guards, auth, forms, find: (path) => upgrades.find("GET", path) }, req, socket, head);
  });

  server.on("clientError", (failure: NodeJS.ErrnoException, socket: Duplex) => {
    const { count, call } = connections.running(socket);
    if (failure.code === "ECONNRESET" || !socket.writable || count > 1 || call?.plain.headersSent) {
      socket.destroy();
      return;
    }
    const id = call?.id ?? mintId();
    const error = protocolError(failure.code);
    endRaw(socket, error, id, forms.render(call?.path ?? "", error, id));
  });

  return {
    route(
      method: Method,
      path: string,
      { access, maxBodyBytes, summary }: RouteOptions,
      handler: RouteHandler,
    ): Dispose {
      return routes.add(method, path, { access, maxBodyBytes, summary, tally: tallyOf(method, path), handler });
    },
    upgrade(path, { access, origins: extra }, handler) {
      return upgrades.add("GET", path, { access, handler, ...(extra && { origins: extra }) });
    },
    errors: (prefix: string, form: ErrorForm): Dispose => forms.add(prefix, form),

    listen(wantedPort, wantedHost) {
      return new Promise((resolve, reject) => {
        const onError = (error: NodeJS.ErrnoException): void => reject(listenError(error, wantedHost, wantedPort));
        server.once("error", onError);
        server.listen(wantedPort, wantedHost, () => {
          server.off("error", onError);
          // a stop that came while the port was being opened has found nothing to close
          if (closing.signal.aborted) {
            server.close();
            reject(new PorticoError("service_unavailable", "The gateway is stopping."));
            return;
          }
          server.on("error", (error) => log.error({ err: error, server: options.name }, "the server failed"));
          host = wantedHost;
          port = (server.address() as AddressInfo).port;
          guards.bind(host, port);
          resolve(port);
        });
      });
    },

    drain,
    async close(graceMs) {
      await drain(graceMs);
      await connections.cut(FAREWELL_MS);
      await closed;
    },

    get port() {
      return port;
    },
    get host() {
      return host;
    },
    get active() {
      return connections.active;
    },
    requests: () =>
      [...tallies.values(), { method: "", route: "", tally: connections.unmatched }].flatMap(
        ({ method, route, tally }) => [...tally].map(([status, count]) => ({ method, route, status, count })),
      ),
    routes: () =>
      routes
        .list()
        .map(({ method, path, route: { access, summary } }) => ({ method, path, access, ...(summary && { summary }) })),
  };
}

const SLASH = 47;

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof value === "object" && value !== null && typeof (value as PromiseLike<unknown>).then === "function";
}

/** `GET http://host/path` is a request for `/path`, and its host is the one that counts. */
function toOriginForm(req: IncomingMessage): void {
  const match = /^https?:\/\/([^/?#@]+)([^#]*)/i.exec(req.url as string);
  if (!match) return;
  req.headers.host = match[1] as string;
  const rest = match[2] as string;
  req.url = rest.startsWith("/") ? rest : `/${rest}`;
}

function checkEncoding(path: string): void {
  try {
    if (!decodeURIComponent(path).includes("\0")) return;
  } catch {}
  throw new PorticoError("invalid_request_error", "The path of the request is not properly percent-encoded.");
}

function protocolError(code: string | undefined): PorticoError {
  if (code === "HPE_HEADER_OVERFLOW") {
    return new PorticoError("headers_too_large", "The request's head is larger than 16 KiB.", { status: 431 });
  }
  if (code === "ERR_HTTP_REQUEST_TIMEOUT") {
    return new PorticoError("request_timeout", "The request did not arrive in time.");
  }
  return new PorticoError("invalid_request_error", "This is not a well-formed HTTP/1.1 request.");
}

function listenError(error: NodeJS.ErrnoException, host: string, port: number): PorticoError {
  if (error.code === "EADDRINUSE") {
    return new PorticoError(
      "port_in_use",
      `Port ${port} on ${host} is in use. Stop what listens there, or choose another port with --port.`,
      { cause: error },
    );
  }
  return new PorticoError("cannot_listen", `Cannot listen on ${host}:${port} (${error.code ?? error.message}).`, {
    cause: error,
  });
}

/**
 * Takes each request to the handler of its route. The checks run in this order: request id, Host, Origin and
 * Sec-Fetch-Site, CORS, route, credentials. The body is only read when the handler asks for it.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { PorticoError } from "../errors.ts";
import type {
  ChangeWatcher,
  Client,
  Dispose,
  Method,
  RouteHandler,
  RouteInfo,
  RouteOptions,
} from "../contract/index.ts";
import type { Auth } from "./access/auth.ts";
import type { HttpRequest } from "./body/request.ts";
import { createChangeRecording, isChange, isOwnersOnly } from "./changes.ts";
import type { Connections } from "./connections.ts";
import { corsHeaders, type Guards, isPreflight, preflightHeaders } from "./access/guards.ts";
import { RequestContext, type ServerContext } from "./request/context.ts";
import type { ErrorForms } from "./response/errors.ts";
import { createResponder } from "./response/respond.ts";
import { errors } from "./errors.ts";
import type { Entry } from "./entry-reading.ts";
import { declaredInput, type RouteInput, withStrictBody } from "./request/declared-input.ts";
import { createRouter, type Match } from "./router.ts";

export interface RequestsOptions {
  server: ServerContext;
  guards: Guards;
  auth: Auth;
  forms: ErrorForms;
  connections: Connections;
  changeWatchers: () => readonly ChangeWatcher[];
}

const RETRY = { headers: { "retry-after": "1" } };

/** The number of responses since the start, by route and status; `route` is empty where none matched. */
export type RequestCounts = { method: string; route: string; status: number; count: number }[];

/** The `Expect` header of a request: `100-continue`, or one that no server here supports. */
export type Expectation = "continue" | "unknown";

/** The statuses of one route's responses with their counts. */
interface Tally {
  method: string;
  route: string;
  tally: Map<number, number>;
}

interface Route extends RouteOptions {
  /** The path pattern that the route was mounted at. */
  pattern: string;
  tally: Map<number, number>;
  handler: RouteHandler;
  input: RouteInput;
}

export class Requests {
  readonly #server: ServerContext;
  readonly #guards: Guards;
  readonly #auth: Auth;
  readonly #forms: ErrorForms;
  readonly #connections: Connections;
  readonly #responder: ReturnType<typeof createResponder>;
  readonly #recording: ReturnType<typeof createChangeRecording>;
  readonly #routes = createRouter<Route>();
  readonly #tallies = new Map<string, Tally>();
  readonly #unmatched = this.#getTally("", "");

  constructor({ server, guards, auth, forms, connections, changeWatchers }: RequestsOptions) {
    this.#server = server;
    this.#guards = guards;
    this.#auth = auth;
    this.#forms = forms;
    this.#connections = connections;
    this.#responder = createResponder(server.log, forms);
    this.#recording = createChangeRecording(changeWatchers, server.log);
  }

  add(method: Method, path: string, options: RouteOptions, handler: RouteHandler): Dispose {
    const declared = withStrictBody(options);
    return this.#routes.add(method, path, {
      ...declared,
      pattern: path,
      tally: this.#getTally(method, path),
      handler,
      input: declaredInput(declared),
    });
  }

  receive(req: HttpRequest, res: ServerResponse, expectation?: Expectation): void {
    if (!req.url!.startsWith("/")) toOriginForm(req);
    const call = new RequestContext(this.#server, req, res);
    call.tally = this.#unmatched;
    call.awaitsContinue = expectation !== undefined;
    if (!this.#connections.track(call)) return;
    if (this.#server.closing.aborted) call.res.setHeader("connection", "close");
    const match = this.#routes.find(call.method, call.path);
    try {
      const isLinkable = call.path === "/" && match?.route.access === "public";
      const origin = this.#guards.check(req, { linkable: isLinkable });
      if (origin !== undefined) setHeaders(call.res, corsHeaders(origin));
      if (origin !== undefined && isPreflight(req)) {
        res.writeHead(204, preflightHeaders(req)).end();
        return;
      }
      if (expectation === "unknown") throw errors.unknownExpectation();
      if (call.path.includes("%")) decode(call.path, match?.params);
      if (!match) throw this.#unmatchedError(call);
      this.#run(call, match);
    } catch (error) {
      this.#refuse(call, match?.route, error);
    }
  }

  /** Stops waiting for the response: tells the handler, and sends an error if the response has not begun. */
  cut(call: RequestContext): void {
    call.cut();
    if (!call.plain.headersSent) this.#responder.fail(call, errors.stoppedEarly(RETRY));
  }

  counts(): RequestCounts {
    return [...this.#tallies.values()].flatMap(({ method, route, tally }) =>
      [...tally].map(([status, count]) => ({ method, route, status, count })),
    );
  }

  routes(): RouteInfo[] {
    return this.#routes.list().map(({ method, path, route }) => {
      const { handler, tally, input, pattern, ...options } = route;
      return { method, path, error: this.#forms.schemaOf(path), ...options };
    });
  }

  /** Ends a request that did not get as far as its handler. */
  #refuse(call: RequestContext, route: Route | undefined, error: unknown): void {
    if (route && isChange(route, call)) this.#recording.reportRefusal(call, route.pattern, error);
    this.#responder.fail(call, error);
  }

  #run(call: RequestContext, { route, params }: Match<Route>): void {
    call.params = params;
    call.maxBodyBytes = route.maxBodyBytes;
    call.tally = route.tally;
    call.access = route.access;
    call.declared = route.input;
    const client = this.#auth.authenticate(call.req, route.access, call);
    if (!(client instanceof Promise)) {
      this.#handle(route, call, client);
      return;
    }
    client
      .then((authenticated) => this.#handle(route, call, authenticated))
      .catch((error) => this.#refuse(call, route, error));
  }

  /** Runs the handler and sends its result, synchronously unless it is a promise. */
  #handle(route: Route, call: RequestContext, client: Client): void {
    call.client = client;
    const result = this.#handleAttributed(route, call);
    const { finish, fail } = this.#responder;
    if (!(result instanceof Object && "then" in result)) {
      finish(call, result);
      return;
    }
    Promise.resolve(result).then(
      (value) => finish(call, value),
      (error) => fail(call, error),
    );
  }

  /**
   * Handles the request, and attributes to its client what a change does to the configuration. Other requests run
   * without an `AsyncLocalStorage`: before Node 24, the first use of one makes every promise of the process more
   * expensive.
   */
  #handleAttributed(route: Route, call: RequestContext): unknown {
    if (!isChange(route, call)) return checkAndHandle(route, call);
    const target = { route: route.pattern, entry: this.#findEntry(call) };
    return this.#recording.makeChange(call, target, () => checkAndHandle(route, call));
  }

  /**
   * Finds the entry that a change is about, if a `GET` route shows it: at the same path, or above an action such as
   * `/enable`.
   */
  #findEntry({ path, params }: RequestContext): Entry | undefined {
    const values = new Set(Object.values(params));
    for (const candidate of [path, path.slice(0, path.lastIndexOf("/"))]) {
      const match = this.#routes.find("GET", candidate);
      if (!match || !isOwnersOnly(match.route)) continue;
      decode(candidate, match.params);
      const names = Object.values(match.params);
      if (names.length === 0 || !names.every((name) => values.has(name))) continue;
      const { handler, input } = match.route;
      return { path: candidate, params: match.params, handler, declared: input };
    }
    return undefined;
  }

  /**
   * Builds the error for a request that no route matches. The most common mistake of clients is a base path that is
   * missing or repeated.
   */
  #unmatchedError({ path, method }: RequestContext): PorticoError {
    const listMethods = (candidate: string) => this.#routes.methods(candidate);
    const place = path.slice(0, 200);
    const allowed = listMethods(path).join(", ");
    if (allowed !== "") {
      const values = { path: place, method, allowed };
      return errors.methodNotAllowed(values, { headers: { allow: allowed } });
    }
    let hints = "";
    for (const base of this.#forms.bases()) {
      if (listMethods(base + path).length > 0)
        hints += ` Use ${base}${place}: the path is missing ${base} at the start.`;
      if (path.startsWith(`${base}${base}/`))
        hints += ` Use ${place.slice(base.length)}: the path begins with ${base} twice.`;
    }
    return errors.nothingThere({ path: place, hints });
  }

  /** Returns the counts of a route. A route that is mounted again after a reload continues its counts. */
  #getTally(method: string, route: string): Map<number, number> {
    const key = `${method} ${route}`;
    const entry = this.#tallies.get(key) ?? { method, route, tally: new Map<number, number>() };
    this.#tallies.set(key, entry);
    return entry.tally;
  }
}

function checkAndHandle({ input, handler }: Route, call: RequestContext): unknown {
  const pendingCheck = input.check(call);
  return pendingCheck ? pendingCheck.then(() => handler(call)) : handler(call);
}

function setHeaders(res: ServerResponse, headers: Readonly<Record<string, string>>): void {
  for (const [name, value] of Object.entries(headers)) res.setHeader(name, value);
}

/** Rewrites an absolute URL (`GET http://host/path`) to its path. Its host replaces the Host header. */
function toOriginForm(req: IncomingMessage): void {
  const match = /^https?:\/\/([^/?#@]+)([^#]*)/i.exec(req.url!);
  if (!match) return;
  const [, host, rest = ""] = match;
  req.headers.host = host;
  req.url = rest.startsWith("/") ? rest : `/${rest}`;
}

/** Decodes the parameters in place. Throws `badPath` if any part of the path is not properly encoded. */
function decode(path: string, params: Record<string, string> = {}): void {
  try {
    if (decodeURIComponent(path).includes("\0")) throw new URIError("NUL");
    for (const name in params) if (params[name]) params[name] = decodeURIComponent(params[name]);
  } catch {
    throw errors.badPath();
  }
}

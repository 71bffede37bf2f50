/**
 * From a request to the handler of its route. In order: request id, Host, Origin and Sec-Fetch-Site, CORS, route,
 * credentials; the body is only read when the handler asks for it.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import { changeAs } from "../config/origin.ts";
import { PorticoError } from "../errors.ts";
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
import { createChangeRecording, isChange, isOwners } from "./changes.ts";
import type { Connections } from "./connections.ts";
import { corsHeaders, type Guards, isPreflight, preflightHeaders } from "./access/guards.ts";
import { RequestContext, type ServerContext } from "./request/context.ts";
import type { ErrorForms } from "./response/errors.ts";
import { createResponder } from "./response/respond.ts";
import { originOf } from "./access/origin.ts";
import type { Entry } from "./entry-reading.ts";
import { declaredInput, type RouteInput } from "./request/declared-input.ts";
import { createRouter, type Found } from "./router.ts";

export interface RequestsOptions {
  server: ServerContext;
  guards: Guards;
  auth: Auth;
  forms: ErrorForms;
  connections: Connections;
  changeWatchers: () => readonly ChangeWatcher[];
}

const RETRY = { headers: { "retry-after": "1" } };

/** Responses so far, by route and status; `route` is empty where none matched. */
export type RequestCounts = { method: string; route: string; status: number; count: number }[];
interface Route extends RouteOptions {
  /** The path that it was mounted at. */
  pattern: string;
  tally: Map<number, number>;
  handler: RouteHandler;
  input: RouteInput;
}

export function createRequests(options: RequestsOptions) {
  const { server, guards, auth, forms, connections } = options;
  const tallies = new Map<string, { method: string; route: string; tally: Map<number, number> }>();
  const unmatched = tallyOf("", "");
  const routes = createRouter<Route>();
  const { finish, fail } = createResponder(server.log, forms);
  const recording = createChangeRecording(options.changeWatchers, server.log);

  function take(req: HttpRequest, res: ServerResponse, expectation?: "continue" | "unknown"): void {
    if (!req.url!.startsWith("/")) toOriginForm(req);
    const call = new RequestContext(server, req, res);
    call.tally = unmatched;
    call.awaitsContinue = expectation !== undefined;
    if (!connections.begin(call)) return;
    if (server.closing.aborted) call.res.setHeader("connection", "close");
    const found = routes.find(call.method, call.path);
    try {
      const origin = guards.check(req, {
        linkable: call.path === "/" && found?.route.access === "public",
      });
      if (origin !== undefined) {
        for (const [name, value] of Object.entries(corsHeaders(origin)))
          call.res.setHeader(name, value);
        if (isPreflight(req)) return void res.writeHead(204, preflightHeaders(req)).end();
      }
      if (expectation === "unknown")
        throw new PorticoError(
          "expectation_failed",
          "The only expectation that is met here is 100-continue.",
        );
      if (call.path.includes("%")) decode(call.path, found?.params);
      if (!found) throw noMatch(call, routes.methods, forms.bases());
      run(call, found);
    } catch (error) {
      refuse(call, found?.route, error);
    }
  }

  /** Ends a request that did not get as far as its handler. */
  function refuse(call: RequestContext, route: Route | undefined, error: unknown): void {
    if (route && isChange(route, call)) recording.refused(call, route.pattern, error);
    fail(call, error);
  }

  function run(call: RequestContext, { route, params }: Found<Route>): void {
    call.params = params;
    call.maxBodyBytes = route.maxBodyBytes;
    call.tally = route.tally;
    call.access = route.access;
    call.declared = route.input;
    const client = auth.authenticate(call.req, route.access, call);
    if (!(client instanceof Promise)) handle(route, call, client);
    else
      client
        .then((known) => handle(route, call, known))
        .catch((error) => refuse(call, route, error));
  }

  function handle(route: Route, call: RequestContext, client: Client): void {
    call.client = client;
    const result = handled(route, call);
    if (!(result instanceof Object && "then" in result)) finish(call, result);
    else
      Promise.resolve(result).then(
        (value) => finish(call, value),
        (error) => fail(call, error),
      );
  }

  function handled(route: Route, call: RequestContext): unknown {
    const work = () => checkedAndHandled(route, call);
    if (isChange(route, call)) {
      const target = { route: route.pattern, entry: entryOf(call) };
      return recording.make(call, target, work);
    }
    return mayChange(call) ? changeAs(originOf(call), work) : work();
  }

  function checkedAndHandled({ input, handler }: Route, call: RequestContext): unknown {
    const checking = input.check(call);
    return checking ? checking.then(() => handler(call)) : handler(call);
  }

  /** What a change is about, where `GET` shows it: at its own path, or above an action such as `/enable`. */
  function entryOf({ path, params }: RequestContext): Entry | undefined {
    const named = new Set(Object.values(params));
    for (const candidate of [path, path.slice(0, path.lastIndexOf("/"))]) {
      const found = routes.find("GET", candidate);
      if (!found || !isOwners(found.route)) continue;
      decode(candidate, found.params);
      const names = Object.values(found.params);
      if (names.length === 0 || !names.every((name) => named.has(name))) continue;
      const { handler, input } = found.route;
      return { path: candidate, params: found.params, handler, declared: input };
    }
    return undefined;
  }

  /** A route that comes back after a reload counts on. */
  function tallyOf(method: string, route: string): Map<number, number> {
    const key = `${method} ${route}`;
    const known = tallies.get(key) ?? { method, route, tally: new Map<number, number>() };
    tallies.set(key, known);
    return known.tally;
  }

  return {
    add: (method: Method, path: string, options: RouteOptions, handler: RouteHandler): Dispose =>
      routes.add(method, path, {
        ...options,
        pattern: path,
        tally: tallyOf(method, path),
        handler,
        input: declaredInput(options),
      }),
    /** `expectation` is what the request expects, where it does: a client that waits for `100 Continue`, or something else. */
    take,
    /** Nobody waits for its response any longer. */
    cut(call: RequestContext): void {
      call.cut();
      if (!call.plain.headersSent)
        fail(
          call,
          new PorticoError(
            "service_unavailable",
            "The gateway stopped before there was a response.",
            RETRY,
          ),
        );
    },
    counts(): RequestCounts {
      const counts: RequestCounts = [];
      for (const { method, route, tally } of tallies.values())
        for (const [status, count] of tally) counts.push({ method, route, status, count });
      return counts;
    },
    routes: (): RouteInfo[] =>
      routes
        .list()
        .map(({ method, path, route: { handler, tally, input, pattern, ...options } }) => ({
          method,
          path,
          error: forms.schemaOf(path),
          ...options,
        })),
  };
}

/** Calls of the owner that may change the configuration: what they change is attributed to them. */
const mayChange = ({ method, client }: RequestContext): boolean =>
  client.kind === "owner" && method !== "GET" && method !== "HEAD";

/** Why no route takes it. A base address that was forgotten, or written twice, is the commonest slip of clients. */
function noMatch(
  { path, method }: RequestContext,
  methodsOf: (path: string) => string[],
  bases: string[],
) {
  const type = "invalid_request_error";
  const place = path.slice(0, 200);
  const allow = methodsOf(path).join(", ");
  if (allow !== "") {
    const message = `${place} does not take ${method}. It takes ${allow}.`;
    return new PorticoError("method_not_allowed", message, { headers: { allow }, type });
  }
  let message = `There is nothing at ${place}.`;
  for (const base of bases) {
    if (methodsOf(base + path).length > 0)
      message += ` Write ${base}${place}: the path lacks its ${base}.`;
    if (path.startsWith(`${base}${base}/`))
      message += ` Write ${place.slice(base.length)}: the path has its ${base} twice.`;
  }
  return new PorticoError("not_found", message, { type });
}

/** `GET http://host/path` is a request for `/path`, and its host is the one that counts. */
function toOriginForm(req: IncomingMessage): void {
  const match = /^https?:\/\/([^/?#@]+)([^#]*)/i.exec(req.url!);
  if (!match) return;
  const [, host, rest = ""] = match;
  req.headers.host = host;
  req.url = rest.startsWith("/") ? rest : `/${rest}`;
}

/** Decodes the parameters, and refuses a path that is not properly encoded wherever it is. */
function decode(path: string, params: Record<string, string> = {}): void {
  try {
    if (decodeURIComponent(path).includes("\0")) throw new URIError("NUL");
    for (const name in params) if (params[name]) params[name] = decodeURIComponent(params[name]);
  } catch {
    throw new PorticoError(
      "invalid_request_error",
      "The path of the request is not properly percent-encoded.",
    );
  }
}

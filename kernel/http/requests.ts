/**
 * From a request to the handler of its route. In order: request id, Host, Origin and Sec-Fetch-Site, CORS, route,
 * credentials; the body is only read when the handler asks for it.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import { PorticoError } from "../errors.ts";
import type { Access, Dispose, Method, RouteHandler, RouteOptions } from "../types.ts";
import { createAnswers, setHeaders } from "./answers.ts";
import type { Auth } from "./auth.ts";
import type { Connections } from "./connections.ts";
import type { ErrorForms } from "./errors.ts";
import { Exchange, type ServerSide } from "./exchange.ts";
import { corsHeaders, type Guards, isPreflight, preflightHeaders } from "./guards.ts";
import { createRouter } from "./router.ts";

export interface RequestParts {
  side: ServerSide;
  guards: Guards;
  auth: Auth;
  forms: ErrorForms;
  connections: Connections;
}

/** Answers so far, by route and status; `route` is empty where none matched. */
export type RequestCounts = { method: string; route: string; status: number; count: number }[];
export type RouteList = { method: string; path: string; access: Access; summary?: string }[];

interface Route {
  access: Access;
  maxBodyBytes: number | undefined;
  summary: string | undefined;
  tally: Map<number, number>;
  handler: RouteHandler;
}

const CALL = Symbol("call");
type Carrier = IncomingMessage & { [CALL]: Exchange };

export function createRequests({ side, guards, auth, forms, connections }: RequestParts) {
  const tallies = new Map<string, { method: string; route: string; tally: Map<number, number> }>();
  const routes = createRouter<Route>({ run, noMatch });
  const { finish, fail } = createAnswers(side.log, forms);

  /** Everything before the route; undefined where the answer has been given. */
  function begin(req: IncomingMessage, res: ServerResponse, awaitsContinue = false): Exchange | undefined {
    if ((req.url as string).charCodeAt(0) !== SLASH) toOriginForm(req);
    const call = new Exchange(side, req, res);
    call.awaitsContinue = awaitsContinue;
    (req as Carrier)[CALL] = call;
    connections.begin(call);
    if (side.closing.aborted) call.res.setHeader("connection", "close");
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

  return {
    add(method: Method, path: string, { access, maxBodyBytes, summary }: RouteOptions, handler: RouteHandler): Dispose {
      return routes.add(method, path, { access, maxBodyBytes, summary, tally: tallyOf(method, path), handler });
    },
    take(req: IncomingMessage, res: ServerResponse): void {
      const call = begin(req, res);
      if (call) dispatch(call);
    },
    /** The client waits for `100 Continue` before it sends its body. */
    takeWithContinue(req: IncomingMessage, res: ServerResponse): void {
      const call = begin(req, res, true);
      if (call) dispatch(call);
    },
    refuseExpectation(req: IncomingMessage, res: ServerResponse): void {
      const call = begin(req, res, true);
      if (call)
        fail(call, new PorticoError("expectation_failed", "The only expectation that is met here is 100-continue."));
    },
    counts: (): RequestCounts =>
      [...tallies.values(), { method: "", route: "", tally: connections.unmatched }].flatMap(
        ({ method, route, tally }) => [...tally].map(([status, count]) => ({ method, route, status, count })),
      ),
    routes: (): RouteList =>
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

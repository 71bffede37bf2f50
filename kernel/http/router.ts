/**
 * The table of routes as a polka app. An app is never changed: every change of the table builds a new one, which is
 * swapped in before the next request, while requests that run end on the route they were given.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import polka, { type Request } from "polka";
import type { Dispose } from "../types.ts";

export interface Router<R> {
  /** `path` in polka's syntax. Of two routes that match, the more literal one wins, then the later one. */
  add(method: string, path: string, route: R): Dispose;
  /** Finds the route of a request and runs it; `params` come from the path, decoded. */
  dispatch(req: IncomingMessage, res: ServerResponse, path: string): void;
  /** The route for a path and its parameters, without running it. */
  find(method: string, path: string): R | undefined;
  /** The methods that a path has, for `Allow`. */
  methods(path: string): string[];
  list(): { method: string; path: string; route: R }[];
}

export interface RouterEvents<R> {
  run(route: R, req: IncomingMessage, params: Record<string, string>): void;
  noMatch(req: IncomingMessage): void;
}

interface Entry<R> {
  method: string;
  path: string;
  route: R;
}

export function createRouter<R>(events: RouterEvents<R>): Router<R> {
  let entries: readonly Entry<R>[] = [];
  let app = build(entries, events);
  let stale = false;

  function changed(next: readonly Entry<R>[]): void {
    entries = next;
    if (stale) return;
    stale = true;
    queueMicrotask(refresh);
  }
  function refresh(): void {
    if (!stale) return;
    stale = false;
    app = build(entries, events);
  }

  return {
    add(method, path, route) {
      if (!path.startsWith("/")) throw new TypeError(`a route's path begins with "/": ${path}`);
      const entry: Entry<R> = { method, path, route };
      changed([entry, ...entries]);
      return () => {
        if (entries.includes(entry)) changed(entries.filter((other) => other !== entry));
      };
    },
    dispatch(req, res, path) {
      const route = app.literal.get(`${req.method} ${path}`);
      if (route !== undefined) events.run(route, req, {});
      else app.polka.handler(req as Request, res, undefined as never);
    },
    find(method, path) {
      refresh();
      const handler = app.polka.find(method as "GET", path).handlers[0] as Handler<R> | undefined;
      return handler?.route;
    },
    methods(path) {
      return METHODS.filter((method) => app.polka.find(method, path).handlers.length > 0);
    },
    list: () => entries.map(({ method, path, route }) => ({ method, path, route })),
  };
}

const METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"] as const;

interface Handler<R> {
  (req: Request): void;
  route: R;
}

function build<R>(entries: readonly Entry<R>[], events: RouterEvents<R>) {
  const app = polka({ onNoMatch: (req) => events.noMatch(req) });
  app.parse = parseUrl as unknown as typeof app.parse;

  // A path without parameters is the most literal match there can be: one look-up finds it.
  const literal = new Map<string, R>();
  const sorted = entries.map((entry) => ({ ...entry, kinds: kindsOf(entry.path) }));
  sorted.sort((a, b) => (a.kinds < b.kinds ? -1 : a.kinds > b.kinds ? 1 : 0));
  for (const { method, path, route, kinds } of sorted) {
    const handler = Object.assign((req: Request) => events.run(route, req, req.params), { route });
    app.add(method as "GET", escapeLiterals(path), handler);
    // regexparam always ignores the case of paths; ours are case-sensitive.
    const last = (app as unknown as { routes: { pattern: RegExp }[] }).routes.at(-1) as { pattern: RegExp };
    last.pattern = new RegExp(last.pattern.source);
    if (/[^0]/.test(kinds)) continue;
    const key = `${method} ${path}`;
    if (!literal.has(key)) literal.set(key, route);
  }
  return { polka: app, literal };
}

/** polka's own parse reads the whole query of every request; ours leaves it to those who ask for it. */
function parseUrl(req: IncomingMessage): { pathname: string; search: string } {
  const url = req.url as string;
  const mark = url.indexOf("?");
  return mark < 0 ? { pathname: url, search: "" } : { pathname: url.slice(0, mark), search: url.slice(mark) };
}

/** One digit a segment, the more literal the lower: sorts routes by how specific they are. */
function kindsOf(path: string): string {
  return path
    .split("/")
    .slice(1)
    .map((segment) =>
      segment.startsWith("*") ? "3" : segment.startsWith(":") ? (segment.includes("?") ? "2" : "1") : "0",
    )
    .join("");
}

/** polka puts literal segments into its pattern as they are: `/a.b` would match `/axb`. */
function escapeLiterals(path: string): string {
  return path
    .split("/")
    .map((segment) => (/^[:*]/.test(segment) ? segment : segment.replace(/[.+?^${}()|[\]\\]/g, "\\$&")))
    .join("/");
}

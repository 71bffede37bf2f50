/**
 * The table of routes: polka finds them. An app is never changed: after a change of the table, the next request builds
 * a new one, while requests that run end on the route they were given.
 */
import polka from "polka";
import type { Dispose } from "../types.ts";

export interface Found<R> {
  route: R;
  /** From the path, not decoded; `*` is what a trailing one stands for. */
  params: Record<string, string>;
}

export interface Router<R> {
  /** `path`: `/a/:b`, `/a/:b?`, a trailing `*`. Of two routes that match, the more literal one wins, then the later one. */
  add(method: string, path: string, route: R): Dispose;
  find(method: string, path: string): Found<R> | undefined;
  /** The methods that a path has, for `Allow`. */
  methods(path: string): string[];
  list(): readonly Entry<R>[];
}

interface Entry<R> {
  /** "" takes every method. */
  method: string;
  path: string;
  route: R;
}

export function createRouter<R>(): Router<R> {
  let entries: readonly Entry<R>[] = [];
  let table: ReturnType<typeof build<R>> | undefined;

  function change(next: readonly Entry<R>[]): void {
    entries = next;
    table = undefined;
  }
  function find(method: string, path: string): Found<R> | undefined {
    table ??= build(entries);
    const literal = table.literal.get(`${method} ${path}`);
    if (literal !== undefined) return { route: literal, params: {} };
    const { handlers, params } = table.app.find(method as "GET", path);
    const route = table.routes.get(handlers[0]);
    const { [REST]: rest, ...named } = params;
    return route && { route, params: rest === undefined ? named : { ...named, "*": rest } };
  }

  return {
    add(method, path, route) {
      if (!path.startsWith("/")) throw new TypeError(`a route's path begins with "/": ${path}`);
      const entry = { method, path, route };
      change([entry, ...entries]);
      return () => {
        if (entries.includes(entry)) change(entries.filter((other) => other !== entry));
      };
    },
    find,
    methods: (path) => METHODS.filter((method) => find(method, path)),
    list: () => entries,
  };
}

/** What a trailing `*` stands for, under a name that a pattern can have. */
const REST = "$rest";
const METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"];

function build<R>(entries: readonly Entry<R>[]) {
  const app = polka();
  const routes = new Map<unknown, R>();
  // A path without parameters is the most literal match there can be: one look-up finds it.
  const literal = new Map<string, R>();
  const sorted = entries.map((entry) => ({ ...entry, rank: rankOf(entry.path) }));
  sorted.sort((a, b) => (a.rank < b.rank ? -1 : a.rank > b.rank ? 1 : 0));
  for (const { method, path, route, rank } of sorted) {
    const handler = (): void => {};
    routes.set(handler, route);
    app.add(method as "GET", patternOf(path), handler);
    const key = `${method} ${path}`;
    if (/^0*$/.test(rank) && !literal.has(key)) literal.set(key, route);
  }
  return { app, routes, literal };
}

/** One digit a segment, the more literal the lower: sorts routes by how specific they are. */
function rankOf(path: string): string {
  const ranks = segmentsOf(path).map((one) => (one[0] === "*" ? 3 : one[0] !== ":" ? 0 : one.endsWith("?") ? 2 : 1));
  return ranks.join("");
}

/** polka's own patterns ignore the case of paths and take a dot for any character. */
function patternOf(path: string): RegExp {
  const pattern = segmentsOf(path).map((segment) => {
    const name = segment.slice(1).replace("?", "");
    if (segment[0] === "*") return `/(?<${REST}>.*)`;
    if (segment[0] === ":") return segment.endsWith("?") ? `(?:/(?<${name}>[^/]+))?` : `/(?<${name}>[^/]+)`;
    return `/${segment.replace(/[.+?^${}()|[\]\\]/g, "\\$&")}`;
  });
  return new RegExp(`^${pattern.join("")}/?$`);
}

const segmentsOf = (path: string): string[] => path.split("/").filter(Boolean);

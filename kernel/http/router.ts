/**
 * The table of routes, in which polka finds the match of a request. An app is never modified: after a change of the
 * table, the next request builds a new app, and requests in progress end on the route that they began with.
 */
import polka from "polka";
import type { Dispose } from "../contract/index.ts";

export interface Match<R> {
  route: R;
  /** The path's parameters, not decoded; `*` holds what a trailing `*` matched. */
  params: Record<string, string>;
}

interface Entry<R> {
  /** An empty string matches every method. */
  method: string;
  path: string;
  route: R;
  pattern: RegExp;
  /** The parameter names of the pattern's groups, in order. */
  names: readonly string[];
  /** One digit per segment, lower for more literal ones: sorts routes by how specific they are. */
  rank: string;
}

export function createRouter<R>() {
  let entries: readonly Entry<R>[] = [];
  let table: ReturnType<typeof buildTable<R>> | undefined;

  function replaceEntries(newEntries: readonly Entry<R>[]): void {
    entries = newEntries;
    table = undefined;
  }
  function find(method: string, path: string): Match<R> | undefined {
    table ??= buildTable(entries);
    const literal = table.literal.get(path)?.get(method);
    if (literal !== undefined) return { route: literal, params: {} };
    const entry = table.byHandler.get(table.app.find(method as "GET", path).handlers[0]);
    return entry && { route: entry.route, params: readParams(entry, path) };
  }

  return {
    /**
     * Adds a route; `path` is like `/a/:b`, `/a/:b?`, or has a trailing `*`. Of two routes that match, the more literal
     * one wins, then the later one.
     */
    add(method: string, path: string, route: R): Dispose {
      if (!path.startsWith("/")) throw new TypeError(`a route's path must begin with "/": ${path}`);
      const entry = { method, path, route, ...compilePattern(path) };
      replaceEntries([entry, ...entries]);
      return () => replaceEntries(entries.filter((other) => other !== entry));
    },
    find,
    /** The methods that have a route at this path, for the `Allow` header. */
    methods: (path: string) => METHODS.filter((method) => find(method, path)),
    list: () => entries,
  };
}

const METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"];

function buildTable<R>(entries: readonly Entry<R>[]) {
  const app = polka();
  const byHandler = new Map<unknown, Entry<R>>();
  // A path without parameters is the most literal match possible, so one look-up finds it.
  const literal = new Map<string, Map<string, R>>();
  const sorted = [...entries].sort(compareRanks);
  for (const entry of sorted) {
    const handler = (): void => {};
    byHandler.set(handler, entry);
    app.add(entry.method as "GET", entry.pattern, handler);
    if (entry.names.length > 0) continue;
    const methods = literal.get(entry.path) ?? new Map<string, R>();
    literal.set(
      entry.path,
      methods.has(entry.method) ? methods : methods.set(entry.method, entry.route),
    );
  }
  return { app, byHandler, literal };
}

function compareRanks(a: Entry<unknown>, b: Entry<unknown>): number {
  if (a.rank === b.rank) return 0;
  return a.rank < b.rank ? -1 : 1;
}

function readParams({ pattern, names }: Entry<unknown>, path: string): Record<string, string> {
  const params: Record<string, string> = {};
  const values = pattern.exec(path) ?? [];
  for (const [i, name] of names.entries())
    if (values[i + 1] !== undefined) params[name] = values[i + 1]!;
  return params;
}

/** Compiles a path, since polka's own patterns ignore case and let a dot match any character. */
function compilePattern(path: string): Pick<Entry<unknown>, "pattern" | "names" | "rank"> {
  const segments = path.split("/").filter(Boolean).map(readSegment);
  return {
    pattern: new RegExp(`^${segments.map(({ source }) => source).join("")}/?$`),
    names: segments.flatMap(({ name }) => name ?? []),
    rank: segments.map(({ rank }) => rank).join(""),
  };
}

interface Segment {
  /** The source of a regular expression that matches the segment and the slash before it. */
  source: string;
  /** The name of the segment's parameter. */
  name?: string | undefined;
  /** Lower for a more literal segment. */
  rank: 0 | 1 | 2 | 3;
}

/** Parses a segment: `a`, `:b`, `:b?`, `:b.json` or a trailing `*`. */
function readSegment(segment: string): Segment {
  if (segment.startsWith("*")) return { source: "/(.*)", name: "*", rank: 3 };
  const [, name, optional, ending = ""] = /^:([^.?]+)(\?)?(\..*)?$/.exec(segment) ?? [];
  if (name === undefined) return { source: `/${escapeRegExp(segment)}`, rank: 0 };
  if (optional) return { source: `(?:/([^/]+?)${escapeRegExp(ending)})?`, name, rank: 2 };
  return { source: `/([^/]+?)${escapeRegExp(ending)}`, name, rank: 1 };
}

const escapeRegExp = (text: string): string => text.replace(/[.+?^${}()|[\]\\]/g, "\\$&");

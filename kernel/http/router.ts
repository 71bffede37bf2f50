/**
 * The table of routes: polka finds them. An app is never changed: after a change of the table, the next request builds
 * a new one, while requests under way end on the route that they began with.
 */
import polka from "polka";
import type { Dispose } from "../contract/index.ts";

export interface Found<R> {
  route: R;
  /** From the path, not decoded; `*` is what a trailing one stands for. */
  params: Record<string, string>;
}

interface Entry<R> {
  /** "" takes every method. */
  method: string;
  path: string;
  route: R;
  pattern: RegExp;
  /** Of the pattern's groups. */
  names: readonly string[];
  /** One digit a segment, the more literal the lower: sorts routes by how specific they are. */
  rank: string;
}

export function createRouter<R>() {
  let entries: readonly Entry<R>[] = [];
  let table: ReturnType<typeof build<R>> | undefined;

  function change(next: readonly Entry<R>[]): void {
    entries = next;
    table = undefined;
  }
  function find(method: string, path: string): Found<R> | undefined {
    table ??= build(entries);
    const literal = table.literal.get(path)?.get(method);
    if (literal !== undefined) return { route: literal, params: {} };
    const entry = table.byHandler.get(table.app.find(method as "GET", path).handlers[0]);
    return entry && { route: entry.route, params: paramsOf(entry, path) };
  }

  return {
    /** `path`: `/a/:b`, `/a/:b?`, a trailing `*`. Of two routes that match, the more literal one wins, then the later one. */
    add(method: string, path: string, route: R): Dispose {
      if (!path.startsWith("/")) throw new TypeError(`a route's path must begin with "/": ${path}`);
      const entry = { method, path, route, ...patternOf(path) };
      change([entry, ...entries]);
      return () => change(entries.filter((other) => other !== entry));
    },
    find,
    /** The methods that a path has, for `Allow`. */
    methods: (path: string) => METHODS.filter((method) => find(method, path)),
    list: () => entries,
  };
}

const METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"];

function build<R>(entries: readonly Entry<R>[]) {
  const app = polka();
  const byHandler = new Map<unknown, Entry<R>>();
  // A path without parameters is the most literal match there can be: one look-up finds it.
  const literal = new Map<string, Map<string, R>>();
  const sorted = [...entries].sort(byRank);
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

function byRank(a: Entry<unknown>, b: Entry<unknown>): number {
  if (a.rank === b.rank) return 0;
  return a.rank < b.rank ? -1 : 1;
}

function paramsOf({ pattern, names }: Entry<unknown>, path: string): Record<string, string> {
  const params: Record<string, string> = {};
  const values = pattern.exec(path) ?? [];
  for (const [i, name] of names.entries())
    if (values[i + 1] !== undefined) params[name] = values[i + 1]!;
  return params;
}

/** polka's own patterns ignore the case of paths and take a dot for any character. */
function patternOf(path: string): Pick<Entry<unknown>, "pattern" | "names" | "rank"> {
  const segments = path.split("/").filter(Boolean).map(readSegment);
  return {
    pattern: new RegExp(`^${segments.map(({ source }) => source).join("")}/?$`),
    names: segments.flatMap(({ name }) => name ?? []),
    rank: segments.map(({ rank }) => rank).join(""),
  };
}

interface Segment {
  /** The regular expression that matches it, with the slash before it. */
  source: string;
  /** The name of the parameter that it holds. */
  name?: string | undefined;
  /** The more literal, the lower. */
  rank: 0 | 1 | 2 | 3;
}

/** `a`, `:b`, `:b?`, `:b.json` or a trailing `*`. */
function readSegment(segment: string): Segment {
  if (segment.startsWith("*")) return { source: "/(.*)", name: "*", rank: 3 };
  const [, name, optional, ending = ""] = /^:([^.?]+)(\?)?(\..*)?$/.exec(segment) ?? [];
  if (name === undefined) return { source: `/${escaped(segment)}`, rank: 0 };
  if (optional) return { source: `(?:/([^/]+?)${escaped(ending)})?`, name, rank: 2 };
  return { source: `/([^/]+?)${escaped(ending)}`, name, rank: 1 };
}

const escaped = (text: string): string => text.replace(/[.+?^${}()|[\]\\]/g, "\\$&");

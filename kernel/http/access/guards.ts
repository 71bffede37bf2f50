/**
 * Keeps other sites' pages and rebound names away. The rules are those that stop every request which a hostile page
 * can make a browser send to a loopback port; they hold on every method and on upgrades.
 *
 * Host: a server on loopback takes the loopback names with its own port, and `allowedHosts`. A server on another
 * interface takes any name unless `allowedHosts` is set, for it cannot know under which names it is reached.
 */
import type { IncomingMessage } from "node:http";
import type { HttpSettings } from "../../config/schema.ts";
import { isLoopback } from "../../net/address.ts";
import { errors } from "../errors.ts";
import { occursTwice } from "./auth.ts";
import { derived } from "../../memory/derived.ts";

export interface GuardOptions {
  settings: () => HttpSettings;
  /** Refuse peers that are not on this machine. */
  loopbackOnly: boolean;
  /** Origins of this server beside the configured ones. */
  origins: readonly string[];
}

const LOOPBACK_NAMES = ["127.0.0.1", "localhost", "[::1]"];

interface CheckOptions {
  /** Further origins that may call, for this request alone. */
  origins?: readonly string[] | undefined;
  /** Links of other sites may lead here. */
  linkable?: boolean;
}

export class Guards {
  readonly #settings: () => HttpSettings;
  readonly #loopbackOnly: boolean;
  /** False where the server is bound to another interface than loopback. */
  #hostRestricted = true;
  /** The names that always are the server's own. */
  #names: readonly string[] = LOOPBACK_NAMES;
  readonly #hostsOf = derived(
    (allowed: readonly string[]) => new Set(allowed.map((host) => host.toLowerCase())),
  );
  readonly #originsOf: (allowed: readonly string[]) => ReadonlySet<string>;

  constructor({ settings, loopbackOnly, origins }: GuardOptions) {
    this.#settings = settings;
    this.#loopbackOnly = loopbackOnly;
    this.#originsOf = derived(
      (allowed: readonly string[]) => new Set([...allowed, ...origins].map(normalOrigin)),
    );
  }

  /** The server listens there from now on. */
  bind(host: string, port: number): void {
    this.#hostRestricted = host === "localhost" || isLoopback(host);
    const own = this.#hostRestricted ? [host.includes(":") ? `[${host}]` : host] : [];
    // Also without the port: nginx's $host has none.
    this.#names = [...LOOPBACK_NAMES, ...own].flatMap((name) => [`${name}:${port}`, name]);
  }

  /** Returns the foreign origin that may call, which gets CORS headers. Throws for a request that may not pass. */
  check(
    req: IncomingMessage,
    { origins = [], linkable = false }: CheckOptions = {},
  ): string | undefined {
    if (this.#loopbackOnly && !isLoopback(req.socket.remoteAddress ?? ""))
      throw errors.notThisMachine();
    const host = this.#checkHost(req);
    const { origin } = req.headers;
    if (origin !== undefined && !isSameOrigin(origin, host)) {
      if (this.#isAllowed(origin, origins)) return origin;
      throw errors.foreignOrigin();
    }
    checkSite(req, linkable && origin === undefined);
    return undefined;
  }

  /** Returns the Host name in lower case. */
  #checkHost({ headers, rawHeaders }: IncomingMessage): string {
    const { host } = headers;
    if (host === undefined || occursTwice(rawHeaders, "host")) throw errors.needsOneHost();
    if (this.#names.includes(host)) return host;
    const name = host.toLowerCase();
    if (!this.#isOwnName(name)) throw errors.unknownHost();
    return name;
  }

  #isOwnName(host: string): boolean {
    if (this.#names.includes(host)) return true;
    const hosts = this.#hostsOf(this.#settings().http.allowedHosts);
    if (!this.#hostRestricted && hosts.size === 0) return true;
    return hosts.has(host) || hosts.has(host.replace(/:\d+$/, ""));
  }

  #isAllowed(origin: string, further: readonly string[]): boolean {
    const page = normalOrigin(origin);
    if (further.some((other) => normalOrigin(other) === page)) return true;
    return page !== "null" && this.#originsOf(this.#settings().http.allowedOrigins).has(page);
  }
}

function isSameOrigin(origin: string, host: string): boolean {
  const page = normalOrigin(origin);
  return page === `http://${host}` || page === `https://${host}`;
}

/** Refuses requests that a browser makes for a page of another site, except where a person followed a link. */
function checkSite(req: IncomingMessage, linkable: boolean): void {
  const site = req.headers["sec-fetch-site"];
  if (site === undefined || site === "none" || site === "same-origin") return;
  if (linkable && isLinkFollowed(req)) return;
  throw errors.foreignSite();
}

/** Whether the browser opens a page in a tab, not in a frame and not as part of another page. */
function isLinkFollowed({ method, headers }: IncomingMessage): boolean {
  const { "sec-fetch-site": site, "sec-fetch-mode": mode, "sec-fetch-dest": dest } = headers;
  return (
    method === "GET" &&
    (site === "cross-site" || site === "same-site") &&
    mode === "navigate" &&
    dest === "document"
  );
}

/** Schemes and hosts know no case; people write a trailing slash. `null` stays `null` and is never listed. */
function normalOrigin(origin: string): string {
  const text = origin.toLowerCase();
  return text.endsWith("/") ? text.slice(0, -1) : text;
}

/** Headers for a response that a page of an allowed origin may read. */
export function corsHeaders(origin: string): Record<string, string> {
  return {
    "access-control-allow-origin": origin,
    "access-control-expose-headers": "*",
    vary: "Origin",
  };
}

/** Whether a browser asks if it may send the real request. A preflight carries no credentials. */
export const isPreflight = (req: IncomingMessage): boolean =>
  req.method === "OPTIONS" && req.headers["access-control-request-method"] !== undefined;

export function preflightHeaders(req: IncomingMessage): Record<string, string> {
  const requestedHeaders = req.headers["access-control-request-headers"];
  const headers: Record<string, string> = {
    "access-control-allow-methods": "GET, HEAD, POST, PUT, PATCH, DELETE",
    "access-control-allow-headers":
      typeof requestedHeaders === "string" &&
      /^[\w!#$%&'*+.^`|~, -]{1,2048}$/.test(requestedHeaders)
        ? requestedHeaders
        : "authorization, content-type",
    "access-control-max-age": "600",
    vary: "Origin, Access-Control-Request-Headers",
  };
  if (req.headers["access-control-request-private-network"] === "true")
    headers["access-control-allow-private-network"] = "true";
  return headers;
}

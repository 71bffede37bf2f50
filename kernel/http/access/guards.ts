/**
 * Refuses requests that pages of other sites make, also by DNS rebinding. The rules stop every request that a hostile
 * page can make a browser send to a loopback port; they hold for every method and for upgrades.
 *
 * Host: a server on loopback accepts the loopback names with its own port, and `allowedHosts`. A server on another
 * interface accepts any name unless `allowedHosts` is set, because it cannot know its own names.
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
  /** Origins that this server allows in addition to the configured ones. */
  origins: readonly string[];
}

const LOOPBACK_NAMES = ["127.0.0.1", "localhost", "[::1]"];

interface CheckOptions {
  /** Additional origins that may call, for this request only. */
  origins?: readonly string[] | undefined;
  /** Allows links from other sites. */
  linkable?: boolean;
}

export class Guards {
  readonly #settings: () => HttpSettings;
  readonly #loopbackOnly: boolean;
  /** False if the server is bound to an interface other than loopback. */
  #hostRestricted = true;
  /** The names that the server always accepts. */
  #names: readonly string[] = LOOPBACK_NAMES;
  readonly #hostsOf = derived(
    (allowed: readonly string[]) => new Set(allowed.map((host) => host.toLowerCase())),
  );
  readonly #originsOf: (allowed: readonly string[]) => ReadonlySet<string>;

  constructor({ settings, loopbackOnly, origins }: GuardOptions) {
    this.#settings = settings;
    this.#loopbackOnly = loopbackOnly;
    this.#originsOf = derived(
      (allowed: readonly string[]) => new Set([...allowed, ...origins].map(normalizeOrigin)),
    );
  }

  /** Sets the address that the server listens on, which decides its names. */
  bind(host: string, port: number): void {
    this.#hostRestricted = host === "localhost" || isLoopback(host);
    const boundNames = this.#hostRestricted ? [host.includes(":") ? `[${host}]` : host] : [];
    // The names without the port are for proxies: nginx's $host has none.
    this.#names = [...LOOPBACK_NAMES, ...boundNames].flatMap((name) => [`${name}:${port}`, name]);
  }

  /**
   * Returns the origin if it is foreign and allowed, so that the response needs CORS headers. Throws if the request is
   * refused.
   */
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

  #isAllowed(origin: string, additionalOrigins: readonly string[]): boolean {
    const page = normalizeOrigin(origin);
    if (additionalOrigins.some((other) => normalizeOrigin(other) === page)) return true;
    return page !== "null" && this.#originsOf(this.#settings().http.allowedOrigins).has(page);
  }
}

function isSameOrigin(origin: string, host: string): boolean {
  const page = normalizeOrigin(origin);
  return page === `http://${host}` || page === `https://${host}`;
}

/** Refuses requests that a browser makes for a page of another site, except where a person followed a link. */
function checkSite(req: IncomingMessage, linkable: boolean): void {
  const site = req.headers["sec-fetch-site"];
  if (site === undefined || site === "none" || site === "same-origin") return;
  if (linkable && isLinkFollowed(req)) return;
  throw errors.foreignSite();
}

/** Whether a browser opens a page in a tab, not in a frame or as part of another page. */
function isLinkFollowed({ method, headers }: IncomingMessage): boolean {
  const { "sec-fetch-site": site, "sec-fetch-mode": mode, "sec-fetch-dest": dest } = headers;
  return (
    method === "GET" &&
    (site === "cross-site" || site === "same-site") &&
    mode === "navigate" &&
    dest === "document"
  );
}

/** Schemes and hosts ignore case, and people write a trailing slash. `null` stays `null` and is never listed. */
function normalizeOrigin(origin: string): string {
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

/**
 * Keeps other sites' pages and rebound names away. The rules are those that stop every request which a hostile page
 * can make a browser send to a loopback port; they hold on every method and on upgrades.
 *
 * Host: a server on loopback takes the loopback names with its own port, and `allowedHosts`. A server on another
 * interface takes any name unless `allowedHosts` is set, for it cannot know under which names it is reached.
 */
import type { IncomingMessage } from "node:http";
import type { HttpSettings } from "../../config/schema.ts";
import { PorticoError } from "../../errors.ts";
import { isLoopback } from "../../net/address.ts";
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

export type Guards = ReturnType<typeof createGuards>;

export function createGuards({ settings, loopbackOnly, origins }: GuardOptions) {
  let hostRestricted = true;
  let names: readonly string[] = LOOPBACK_NAMES;
  const hostsOf = derived(
    (allowed: readonly string[]) => new Set(allowed.map((host) => host.toLowerCase())),
  );
  const pagesOf = derived(
    (allowed: readonly string[]) => new Set([...allowed, ...origins].map(normalOrigin)),
  );

  function checkHost(host: string): void {
    if (names.includes(host)) return;
    const hosts = hostsOf(settings().http.allowedHosts);
    if (!hostRestricted && hosts.size === 0) return;
    if (hosts.has(host) || hosts.has(host.replace(/:\d+$/, ""))) return;
    throw new PorticoError(
      "forbidden_host",
      "This gateway is not reached under that Host name. Use 127.0.0.1 or localhost with its port, or name the host in gateway.http.allowedHosts.",
    );
  }

  return {
    /** Told by `listen`. */
    bind(host: string, port: number): void {
      hostRestricted = host === "localhost" || isLoopback(host);
      const own = hostRestricted ? [host.includes(":") ? `[${host}]` : host] : [];
      // without a port: nginx's $host
      names = [...LOOPBACK_NAMES, ...own].flatMap((name) => [`${name}:${port}`, name]);
    },

    /** Returns the allowed foreign origin, which gets CORS headers, or throws. `linkable`: other sites' links may lead here. */
    check(
      req: IncomingMessage,
      {
        origins: extra,
        linkable = false,
      }: { origins?: readonly string[] | undefined; linkable?: boolean } = {},
    ): string | undefined {
      if (loopbackOnly && !isLoopback(req.socket.remoteAddress ?? ""))
        throw new PorticoError("forbidden", "This server takes calls from its own machine only.");
      const { origin, host: given, "sec-fetch-site": site } = req.headers;
      if (given === undefined || occursTwice(req.rawHeaders, "host"))
        throw new PorticoError(
          "invalid_request_error",
          "The request needs exactly one Host header.",
        );
      const isOwn = names.includes(given); // nearly always
      const host = isOwn ? given : given.toLowerCase();
      if (!isOwn) checkHost(host);
      const page = origin === undefined ? undefined : normalOrigin(origin);
      if (page !== undefined && page !== `http://${host}` && page !== `https://${host}`) {
        const isAllowed = page !== "null" && pagesOf(settings().http.allowedOrigins).has(page);
        if (isAllowed || extra?.some((one) => normalOrigin(one) === page)) return origin;
        throw new PorticoError(
          "forbidden_origin",
          "Pages of that origin may not call this gateway. Name the origin in gateway.http.allowedOrigins if they should.",
        );
      }
      if (site === undefined || site === "none" || site === "same-origin") return undefined;
      if (linkable && page === undefined && isLinkFollowed(req)) return undefined;
      throw new PorticoError("forbidden_origin", "Other sites' pages may not call this gateway.");
    },
  };
}

/** A page that is opened as one: in a tab of its own, not in a frame, and not as part of another page. */
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

/** True for the request by which a browser asks whether the real one may be sent. It carries no credentials. */
export const isPreflight = (req: IncomingMessage): boolean =>
  req.method === "OPTIONS" && req.headers["access-control-request-method"] !== undefined;

export function preflightHeaders(req: IncomingMessage): Record<string, string> {
  const asked = req.headers["access-control-request-headers"];
  const headers: Record<string, string> = {
    "access-control-allow-methods": "GET, HEAD, POST, PUT, PATCH, DELETE",
    "access-control-allow-headers":
      typeof asked === "string" && /^[\w!#$%&'*+.^`|~, -]{1,2048}$/.test(asked)
        ? asked
        : "authorization, content-type",
    "access-control-max-age": "600",
    vary: "Origin, Access-Control-Request-Headers",
  };
  if (req.headers["access-control-request-private-network"] === "true")
    headers["access-control-allow-private-network"] = "true";
  return headers;
}

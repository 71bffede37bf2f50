/**
 * Keeps other sites' pages and rebound names away. The rules are those that stop every request which a hostile page
 * can make a browser send to a loopback port; they hold on every method and on upgrades.
 *
 * Host: a server on loopback takes the loopback names with its own port, and `allowedHosts`. A server on another
 * interface takes any name unless `allowedHosts` is set, for it cannot know under which names it is reached.
 */
import type { IncomingMessage } from "node:http";
import { PorticoError } from "../errors.ts";
import { isLoopback } from "./address.ts";
import { occursTwice } from "./auth.ts";
import type { HttpSettings } from "./settings.ts";

export interface GuardOptions {
  settings: () => HttpSettings;
  /** Refuse peers that are not on this machine. */
  loopbackOnly: boolean;
  /** Origins of this server beside the configured ones. */
  origins: readonly string[];
}

export interface Guards {
  /** Told by `listen`. */
  bind(host: string, port: number): void;
  /**
   * Checks one request. Returns the allowed foreign origin, which is to get CORS headers; undefined otherwise.
   * Throws `forbidden_host` or `forbidden_origin`.
   */
  check(req: IncomingMessage, extraOrigins?: readonly string[]): string | undefined;
}

export function createGuards({ settings, loopbackOnly, origins }: GuardOptions): Guards {
  let hostRestricted = true;
  let names = new Set<string>();
  let allowedHosts: readonly string[] = [];
  let hosts = new Set<string>();
  let allowedOrigins: readonly string[] | undefined;
  let pages = new Set<string>();
  let lastGood = "";

  function refresh(): void {
    const set = settings();
    if (set.allowedHosts !== allowedHosts) {
      allowedHosts = set.allowedHosts;
      hosts = new Set(allowedHosts.map((host) => host.toLowerCase()));
      lastGood = "";
    }
    if (set.allowedOrigins !== allowedOrigins) {
      allowedOrigins = set.allowedOrigins;
      pages = new Set([...allowedOrigins, ...origins].map(normalOrigin));
      pages.delete("null");
    }
  }

  function checkHost(header: string): void {
    if (header === lastGood || (!hostRestricted && hosts.size === 0)) return;
    const host = header.toLowerCase();
    if (names.has(host) || hosts.has(host) || hosts.has(host.replace(/:\d+$/, ""))) {
      lastGood = header;
      return;
    }
    throw new PorticoError(
      "forbidden_host",
      "This gateway is not reached under that Host name. Use 127.0.0.1 or localhost with its port, or name the host in gateway.http.allowedHosts.",
    );
  }

  return {
    bind(host, port) {
      const loopback = host === "localhost" || isLoopback(host);
      hostRestricted = loopback;
      names = new Set(["127.0.0.1", "localhost", "[::1]"].map((name) => `${name}:${port}`));
      if (loopback && host !== "localhost") names.add(`${host.includes(":") ? `[${host}]` : host}:${port}`);
      if (port === 80) for (const name of [...names]) names.add(name.slice(0, -3));
    },

    check(req, extraOrigins) {
      refresh();
      if (loopbackOnly && !isLoopback(req.socket.remoteAddress ?? "")) {
        throw new PorticoError("forbidden", "This server takes calls from its own machine only.");
      }
      const { host, origin } = req.headers;
      if (host === undefined || occursTwice(req.rawHeaders, "host")) {
        throw new PorticoError("invalid_request_error", "The request needs exactly one Host header.");
      }
      checkHost(host);
      if (origin !== undefined) {
        const name = host.toLowerCase();
        const page = normalOrigin(origin);
        if (page === `http://${name}` || page === `https://${name}`) {
          checkSite(req);
          return undefined;
        }
        if (pages.has(page) || extraOrigins?.some((extra) => normalOrigin(extra) === page)) return origin;
        throw new PorticoError(
          "forbidden_origin",
          "Pages of that origin may not call this gateway. Name the origin in gateway.http.allowedOrigins if they should.",
        );
      }
      checkSite(req);
      return undefined;
    },
  };
}

function checkSite(req: IncomingMessage): void {
  const site = req.headers["sec-fetch-site"];
  if (site === undefined || site === "none" || site === "same-origin") return;
  throw new PorticoError("forbidden_origin", "Other sites' pages may not call this gateway.");
}

/** Schemes and hosts know no case; people write a trailing slash. `null` stays `null` and is never listed. */
function normalOrigin(origin: string): string {
  const text = origin.toLowerCase();
  return text.endsWith("/") ? text.slice(0, -1) : text;
}

/** Headers for an answer that a page of an allowed origin may read. */
export function corsHeaders(origin: string): Record<string, string> {
  return {
    "access-control-allow-origin": origin,
    "access-control-expose-headers": "*",
    vary: "Origin",
  };
}

/** True for the request by which a browser asks whether the real one may be sent. It carries no credentials. */
export function isPreflight(req: IncomingMessage): boolean {
  return req.method === "OPTIONS" && req.headers["access-control-request-method"] !== undefined;
}

export function preflightHeaders(req: IncomingMessage): Record<string, string> {
  const asked = req.headers["access-control-request-headers"];
  const headers: Record<string, string> = {
    "access-control-allow-methods": "GET, HEAD, POST, PUT, PATCH, DELETE",
    "access-control-allow-headers":
      typeof asked === "string" && /^[\w!#$%&'*+.^`|~, -]{1,2048}$/.test(asked) ? asked : "authorization, content-type",
    "access-control-max-age": "600",
    vary: "Origin, Access-Control-Request-Headers",
  };
  if (req.headers["access-control-request-private-network"] === "true") {
    headers["access-control-allow-private-network"] = "true";
  }
  return headers;
}

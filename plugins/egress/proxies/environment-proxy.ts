/** Selects the proxy for a request from `HTTPS_PROXY`, `HTTP_PROXY` and `NO_PROXY`, as curl and Go do. */
import { isIP } from "node:net";
import ipaddr from "ipaddr.js";
import { errors } from "../errors.ts";
import { parseUrl } from "portico/strings";
import { addressKind, plainAddress } from "../addresses.ts";
import { isLoopbackName, plainHost } from "../names.ts";

/** Environment variables. A lower-case name takes precedence over its upper-case form. */
export type ProxyEnvironment = Readonly<Record<string, string | undefined>>;

function readVariable(
  env: ProxyEnvironment,
  name: string,
): { name: string; value: string } | undefined {
  for (const spelling of [name.toLowerCase(), name]) {
    const value = env[spelling]?.trim();
    if (value) return { name: spelling, value };
  }
  return undefined;
}

/**
 * Parses the address of a proxy: `http://host:3128`, `https://user:password@host`, or `host:port`. Throws 400
 * `invalid_request_error` for anything else. The message names the variable `name` only, since the value may hold a password.
 */
export function parseProxy(value: string, name: string): URL {
  const text = /^[a-z][a-z0-9+.-]*:\/\//i.test(value.trim())
    ? value.trim()
    : `http://${value.trim()}`;
  const url = parseUrl(text);
  const isPlain =
    url !== undefined && ["/", ""].includes(url.pathname) && url.search + url.hash === "";
  if (
    url !== undefined &&
    url.hostname !== "" &&
    isPlain &&
    ["http:", "https:"].includes(url.protocol)
  )
    return url;
  throw errors.badProxyVariable({ name }, { param: name });
}

/**
 * Returns the proxy for a URL, or `undefined` for a direct connection. Connections to loopback are always direct. Throws as
 * `parseProxy` does if the variable that applies is invalid.
 */
export function proxyFor(url: string | URL, env: ProxyEnvironment): URL | undefined {
  const target = new URL(url);
  if (target.protocol !== "http:" && target.protocol !== "https:") return undefined;
  const proxy = readVariable(env, target.protocol === "https:" ? "HTTPS_PROXY" : "HTTP_PROXY");
  if (proxy === undefined) return undefined;
  const host = plainHost(target.hostname);
  if (isLoopbackName(host) || addressKind(host) === "loopback") return undefined;
  const port = target.port || (target.protocol === "https:" ? "443" : "80");
  const exceptions = readVariable(env, "NO_PROXY")?.value.split(/[\s,]+/) ?? [];
  if (exceptions.some((entry) => entry !== "" && isException(entry, host, port))) return undefined;
  return parseProxy(proxy.value, proxy.name);
}

/**
 * Matches an entry of `NO_PROXY`: `*`, a name (with its subdomains; also as `.name` and `*.name`), an address or a network,
 * each with or without a port.
 */
function isException(entry: string, host: string, port: string): boolean {
  if (entry === "*") return true;
  const colon = entry.lastIndexOf(":");
  // An entry with several colons and no bracket is an IPv6 address or network without a port.
  const hasPort = colon > 0 && (entry[colon - 1] === "]" || entry.indexOf(":") === colon);
  if (hasPort && entry.slice(colon + 1) !== port) return false;
  const name = plainHost((hasPort ? entry.slice(0, colon) : entry).replace(/^\*?\./, ""));
  if (name.includes("/")) return isIP(host) !== 0 && isWithin(host, name);
  if (isIP(host) !== 0) return isIP(name) !== 0 && plainAddress(name) === plainAddress(host);
  return host === name || host.endsWith(`.${name}`);
}

function isWithin(address: string, network: string): boolean {
  if (!ipaddr.isValidCIDR(network)) return false;
  const [parsed, range] = [ipaddr.process(address), ipaddr.parseCIDR(network)];
  return parsed.kind() === range[0].kind() && parsed.match(range);
}

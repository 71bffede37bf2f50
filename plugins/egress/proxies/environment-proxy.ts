/** Which proxy of the environment a request goes through: `HTTPS_PROXY`, `HTTP_PROXY` and `NO_PROXY`, as curl and Go read them. */
import { isIP } from "node:net";
import ipaddr from "ipaddr.js";
import { errors } from "../errors.ts";
import { parseUrl } from "portico/strings";
import { addressKind, plainAddress } from "../addresses.ts";
import { isLoopbackName, plainHost } from "../names.ts";

/** Variables of a process; the spelling in small letters comes first. */
export type ProxyEnvironment = Readonly<Record<string, string | undefined>>;

function variable(
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
 * The address of a proxy: `http://host:3128`, `https://user:password@host`, or `host:port`. Throws 400
 * `invalid_request_error` for anything else; `name` says whose value it is, which is not shown: it may hold a password.
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
 * The proxy for a URL, `undefined` for a direct connection. Loopback is never reached through one. Throws as `parseProxy`
 * does where the variable that counts is wrong.
 */
export function proxyFor(url: string | URL, env: ProxyEnvironment): URL | undefined {
  const target = new URL(url);
  if (target.protocol !== "http:" && target.protocol !== "https:") return undefined;
  const proxy = variable(env, target.protocol === "https:" ? "HTTPS_PROXY" : "HTTP_PROXY");
  if (proxy === undefined) return undefined;
  const host = plainHost(target.hostname);
  if (isLoopbackName(host) || addressKind(host) === "loopback") return undefined;
  const port = target.port || (target.protocol === "https:" ? "443" : "80");
  const exceptions = variable(env, "NO_PROXY")?.value.split(/[\s,]+/) ?? [];
  if (exceptions.some((entry) => entry !== "" && isException(entry, host, port))) return undefined;
  return parseProxy(proxy.value, proxy.name);
}

/** `*`, a name (with what is below it), `.name` and `*.name` (the same), an address, a network, each with a port or without. */
function isException(entry: string, host: string, port: string): boolean {
  if (entry === "*") return true;
  const colon = entry.lastIndexOf(":");
  // More than one colon and no bracket: an IPv6 address or network, which has no port.
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

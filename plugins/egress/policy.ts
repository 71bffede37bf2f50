import { isIP } from "node:net";
import { networkInterfaces } from "node:os";
import { PorticoError } from "portico";
import { parseUrl } from "portico/strings";
import { addressKind, plainAddress } from "./addresses.ts";
import { isLoopbackName, matchesHost, nameKind, plainHost } from "./names.ts";
import { addressesOf, systemLookup } from "./resolve.ts";
import type { BlockReason, CheckedUrl, Guard, GuardOptions, ResolvedAddress } from "./types.ts";

/** Debugging ports of managed browser profiles, first and last. */
const DEBUG_PORTS = [18800, 18899] as const;

/** This machine's own addresses: a port of ours that is bound to all interfaces is reachable at each of them. */
function ownAddresses(): Set<string> {
  const found = new Set<string>();
  for (const list of Object.values(networkInterfaces()))
    for (const { address } of list ?? []) found.add(plainAddress(address));
  return found;
}

const portOf = (url: URL): number => Number(url.port || (url.protocol === "https:" ? 443 : 80));

/** Makes the guard of one surface. It keeps no state but a short memory of this machine's own addresses. */
export function createGuard(options: GuardOptions): Guard {
  const resolve = options.resolve ?? systemLookup;
  const code = options.code ?? "navigation_blocked";
  let own: { at: number; addresses: Set<string> } | undefined;

  function refuse(reason: BlockReason, host: string, message: string): never {
    throw new PorticoError(code, message, { status: 403, details: { reason, host } });
  }

  function isOwnMachine(address: string): boolean {
    if (own === undefined || Date.now() - own.at > 5_000)
      own = { at: Date.now(), addresses: ownAddresses() };
    const plain = plainAddress(address);
    return (
      own.addresses.has(plain) ||
      (options.ownAddresses?.().some((one) => plainAddress(one) === plain) ?? false)
    );
  }

  const isOwnPort = (port: number): boolean =>
    (port >= DEBUG_PORTS[0] && port <= DEBUG_PORTS[1]) || options.ownPorts().includes(port);

  /** True where the caller's policy lets this host lead to a private address. */
  function mayBePrivate(host: string, origin: string | undefined): boolean {
    const policy = options.policy();
    return (
      policy.allowPrivate ||
      matchesHost(host, policy.allowedHostnames ?? []) ||
      (origin !== undefined && (policy.allowedOrigins ?? []).includes(origin))
    );
  }

  function judgeAddress(
    address: string,
    host: string,
    port: number,
    origin: string | undefined,
  ): void {
    const kind = addressKind(address) ?? "metadata";
    const shown = host === address ? host : `${host} (${address})`;
    if (kind === "metadata")
      refuse(
        "metadata",
        host,
        `${shown} is a cloud metadata service, which is never reachable from here.`,
      );
    if (kind === "link_local")
      refuse(
        "link_local",
        host,
        `${shown} is a link-local address, which is never reachable from here.`,
      );
    if (isOwnPort(port) && (kind === "loopback" || isOwnMachine(address))) {
      refuse(
        "own_port",
        host,
        `Port ${port} of this machine belongs to the gateway or to a browser it controls.`,
      );
    }
    if (kind !== "public" && !mayBePrivate(host, origin)) {
      refuse(
        "private_address",
        host,
        `${shown} is not a public address, and the policy allows public addresses only.`,
      );
    }
  }

  /** All that can be said of a host without asking a resolver. */
  function judgeName(host: string, port: number, origin: string | undefined): void {
    const { hostnameAllowlist = [] } = options.policy();
    const literal = isIP(host.replace(/%.*$/s, "")) !== 0;
    const kind = literal ? undefined : nameKind(host);
    if (kind === "metadata")
      refuse(
        "metadata",
        host,
        `${host} is a cloud metadata service, which is never reachable from here.`,
      );
    if (hostnameAllowlist.length > 0 && !matchesHost(host, hostnameAllowlist)) {
      refuse("not_allowlisted", host, `${host} is not on the list of allowed host names.`);
    }
    if (literal) judgeAddress(host, host, port, origin);
    else if (isLoopbackName(host) && isOwnPort(port)) judgeAddress("127.0.0.1", host, port, origin);
    else if (kind === "private" && !mayBePrivate(host, origin)) {
      refuse(
        "private_name",
        host,
        `${host} is a name of a private network, and the policy allows public addresses only.`,
      );
    }
  }

  function precheck(input: string | URL): URL {
    const text = String(input);
    const url = parseUrl(text);
    if (!url)
      throw new PorticoError("invalid_request_error", "This is not a URL.", { param: "url" });
    if (url.href === "about:blank") return url;
    if (url.protocol !== "http:" && url.protocol !== "https:") {
      refuse("scheme", "", `Only http:, https: and about:blank can be opened, not ${url.protocol}`);
    }
    const host = plainHost(url.hostname);
    if (url.username !== "" || url.password !== "") {
      refuse(
        "userinfo",
        host,
        "A URL with a user name or password in it is refused: remove what stands before the @.",
      );
    }
    judgeName(host, portOf(url), url.origin);
    return url;
  }

  async function resolved(
    host: string,
    port: number,
    origin: string | undefined,
  ): Promise<ResolvedAddress[]> {
    const addresses = await addressesOf(host, resolve);
    for (const { address } of addresses) judgeAddress(address, host, port, origin);
    return [...addresses];
  }

  return {
    precheck,
    async checkUrl(input): Promise<CheckedUrl> {
      const url = precheck(input);
      if (url.protocol === "about:") return { url, addresses: [] };
      return { url, addresses: await resolved(plainHost(url.hostname), portOf(url), url.origin) };
    },
    async checkHost(host, port, origin) {
      // The URL parser folds every spelling of an address (octal, hexadecimal, short, full-width) into one.
      const bracketed = isIP(host) === 6 ? `[${host}]` : host;
      const text = `http://${bracketed}:${port}/`;
      const url = parseUrl(text);
      if (
        url === undefined ||
        url.pathname !== "/" ||
        url.search + url.hash !== "" ||
        url.username !== "" ||
        !(port > 0 && port < 65536)
      ) {
        throw new PorticoError("invalid_request_error", "This is not a host and port.", {
          param: "host",
        });
      }
      const name = plainHost(url.hostname);
      judgeName(name, port, origin);
      return resolved(name, port, origin);
    },
  };
}

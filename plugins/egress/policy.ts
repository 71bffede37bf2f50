import { isIP } from "node:net";
import { networkInterfaces } from "node:os";
import { parseUrl } from "portico/strings";
import { addressKind, plainAddress } from "./addresses.ts";
import { blockedError, errors } from "./errors.ts";
import { isLoopbackName, matchesHost, nameKind, plainHost } from "./names.ts";
import { resolveHost, systemLookup } from "./resolve.ts";
import type { BlockReason, CheckedUrl, Guard, GuardOptions, ResolvedAddress } from "./types.ts";

/** Debugging ports of managed browser profiles, first and last. */
const DEBUG_PORTS = [18800, 18899] as const;

/**
 * Returns this machine's own addresses. A port of the gateway that is bound to all interfaces is reachable at each of them.
 */
function ownAddresses(): Set<string> {
  const addresses = new Set<string>();
  for (const list of Object.values(networkInterfaces()))
    for (const { address } of list ?? []) addresses.add(plainAddress(address));
  return addresses;
}

const portOf = (url: URL): number => Number(url.port || (url.protocol === "https:" ? 443 : 80));

/** The time for which this machine's own addresses are cached. */
const OWN_ADDRESSES_MS = 5_000;

/** Creates the guard of one surface. */
export function createGuard(options: GuardOptions): Guard {
  return new PolicyGuard(options);
}

/** The destination of a request: a name or an address, its port, and the origin of its URL. */
interface Destination {
  host: string;
  port: number;
  origin: string | undefined;
}

/** A guard that applies a policy. Its only state is a short cache of this machine's own addresses. */
class PolicyGuard implements Guard {
  readonly #options: GuardOptions;
  #ownAddressCache: { at: number; addresses: Set<string> } | undefined;

  constructor(options: GuardOptions) {
    this.#options = options;
  }

  precheck(input: string | URL): URL {
    const url = parseUrl(String(input));
    if (url === undefined) throw errors.notAUrl({ param: "url" });
    if (url.href === "about:blank") return url;
    if (url.protocol !== "http:" && url.protocol !== "https:")
      this.#refuse(
        "scheme",
        "",
        `Only http:, https: and about:blank can be opened, not ${url.protocol}`,
      );
    const destination = destinationOf(url);
    if (url.username !== "" || url.password !== "")
      this.#refuse(
        "userinfo",
        destination.host,
        "A URL with a user name or password is refused. Remove the part before the @.",
      );
    this.#checkName(destination);
    return url;
  }

  async checkUrl(input: string | URL): Promise<CheckedUrl> {
    const url = this.precheck(input);
    if (url.protocol === "about:") return { url, addresses: [] };
    return { url, addresses: await this.#resolve(destinationOf(url)) };
  }

  async checkHost(host: string, port: number, origin?: string): Promise<ResolvedAddress[]> {
    const url = urlOfHost(host, port);
    if (url === undefined) throw errors.notAHostAndPort({ param: "host" });
    const destination = { host: plainHost(url.hostname), port, origin };
    this.#checkName(destination);
    return this.#resolve(destination);
  }

  async #resolve(destination: Destination): Promise<ResolvedAddress[]> {
    const addresses = await resolveHost(destination.host, this.#options.resolve ?? systemLookup);
    for (const { address } of addresses) this.#checkAddress(address, destination);
    return [...addresses];
  }

  /** Checks everything about a destination that needs no DNS lookup. */
  #checkName(destination: Destination): void {
    const { host, port } = destination;
    const { hostnameAllowlist = [] } = this.#options.policy();
    const isLiteral = isIP(host.replace(/%.*$/s, "")) !== 0;
    const kind = isLiteral ? undefined : nameKind(host);
    if (kind === "metadata") this.#refuse("metadata", host, `${host} ${METADATA_REASON}`);
    if (hostnameAllowlist.length > 0 && !matchesHost(host, hostnameAllowlist))
      this.#refuse("not_allowlisted", host, `${host} is not on the list of allowed host names.`);
    if (isLiteral) this.#checkAddress(host, destination);
    else if (isLoopbackName(host) && this.#isOwnPort(port))
      this.#checkAddress("127.0.0.1", destination);
    else if (kind === "private" && !this.#mayBePrivate(destination))
      this.#refuse(
        "private_name",
        host,
        `${host} is a host name of a private network, and the policy allows public addresses only.`,
      );
  }

  #checkAddress(address: string, destination: Destination): void {
    const { host, port } = destination;
    const kind = addressKind(address) ?? "metadata";
    const name = host === address ? host : `${host} (${address})`;
    if (kind === "metadata") this.#refuse("metadata", host, `${name} ${METADATA_REASON}`);
    if (kind === "link_local")
      this.#refuse(
        "link_local",
        host,
        `${name} is a link-local address, which the gateway always blocks.`,
      );
    if (this.#isOwnPort(port) && (kind === "loopback" || this.#isOwnMachine(address)))
      this.#refuse(
        "own_port",
        host,
        `Port ${port} of this machine belongs to the gateway or to a browser that it controls.`,
      );
    if (kind !== "public" && !this.#mayBePrivate(destination))
      this.#refuse(
        "private_address",
        host,
        `${name} is not a public address, and the policy allows public addresses only.`,
      );
  }

  /** True if the caller's policy allows private addresses for this host. */
  #mayBePrivate({ host, origin }: Destination): boolean {
    const { allowPrivate, allowedHostnames = [], allowedOrigins = [] } = this.#options.policy();
    if (allowPrivate || matchesHost(host, allowedHostnames)) return true;
    return origin !== undefined && allowedOrigins.includes(origin);
  }

  #isOwnPort(port: number): boolean {
    const [first, last] = DEBUG_PORTS;
    return (port >= first && port <= last) || this.#options.ownPorts().includes(port);
  }

  #isOwnMachine(address: string): boolean {
    const now = Date.now();
    if (this.#ownAddressCache === undefined || now - this.#ownAddressCache.at > OWN_ADDRESSES_MS)
      this.#ownAddressCache = { at: now, addresses: ownAddresses() };
    const normalized = plainAddress(address);
    const configured = this.#options.ownAddresses?.() ?? [];
    return (
      this.#ownAddressCache.addresses.has(normalized) ||
      configured.some((ownAddress) => plainAddress(ownAddress) === normalized)
    );
  }

  #refuse(reason: BlockReason, host: string, message: string): never {
    const code = this.#options.code ?? "navigation_blocked";
    throw blockedError(code, message, { reason, host });
  }
}

const METADATA_REASON = "is a cloud metadata service, which the gateway always blocks.";

function destinationOf(url: URL): Destination {
  return { host: plainHost(url.hostname), port: portOf(url), origin: url.origin };
}

/**
 * Parses a host and port as a URL, which normalises every spelling of an address (octal, hexadecimal, short, full-width).
 */
function urlOfHost(host: string, port: number): URL | undefined {
  if (!(port > 0 && port < 65536)) return undefined;
  const bracketed = isIP(host) === 6 ? `[${host}]` : host;
  const url = parseUrl(`http://${bracketed}:${port}/`);
  if (url === undefined || url.pathname !== "/") return undefined;
  return url.search + url.hash + url.username === "" ? url : undefined;
}

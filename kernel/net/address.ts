/** Who is calling: the socket's peer, or what a trusted proxy in front of us says about it. */
import type { IncomingMessage } from "node:http";
import { isIP } from "node:net";
import ipaddr from "ipaddr.js";
import { derived } from "../memory/derived.ts";

type Network = [address: ipaddr.IPv4 | ipaddr.IPv6, bits: number];

/** Addresses and ranges that an address can be looked up in. */
export interface Networks {
  contains(address: string): boolean;
}

/** The caller's address without brackets, port or the `::ffff:` of a mapped IPv4 address; "" once the socket is gone, "unknown" where a proxy gives none. */
export function addressOf(req: IncomingMessage, trustedProxies: readonly string[]): string {
  const remote = req.socket.remoteAddress ?? "";
  const peer = remote.startsWith("::ffff:") ? remote.slice(7) : remote;
  if (trustedProxies.length === 0) return peer;
  const proxies = networksOf(trustedProxies);
  const forwarded = [req.headers["x-forwarded-for"] ?? []].flat().join(",").split(",");
  let address = peer;
  // Each proxy appends the peer it saw, so only what stands right of the first stranger can be believed.
  while (proxies.contains(address)) {
    const hop = plain(forwarded.pop()?.trim() ?? "");
    if (hop === "") break; // the proxy itself
    if (isIP(hop) === 0) return "unknown"; // nobody's address: no list of addresses has it
    address = hop;
  }
  return address;
}

/** True for 127.0.0.0/8 and ::1, mapped or not. */
export function isLoopback(address: string): boolean {
  return isIP(address) !== 0 && ipaddr.process(address).range() === "loopback";
}

/** Whether nobody else reaches what listens there. */
export const isOwnMachine = (bind: string): boolean =>
  bind === "127.0.0.1" || bind === "localhost" || isLoopback(bind);

/** What counts as one caller: an address, or of IPv6 the whole /64 that belongs to one. */
export const callerOf = (address: string): string =>
  isIP(address) === 6 ? ipaddr.IPv6.parse(address).parts.slice(0, 4).join(":") : address;

/** For a schema's `refuse`: what is wrong with an entry, to be read after its key. */
export const refuseNetwork = (entry: unknown): string | undefined =>
  readNetwork(String(entry))
    ? undefined
    : "is neither an IP address nor a CIDR range such as 10.0.0.0/8";

/** Throws a `TypeError` that names the entry which is neither an address nor a CIDR range. */
export function parseNetworks(entries: readonly string[]): Networks {
  const wrong = entries.find(refuseNetwork);
  if (wrong !== undefined) throw new TypeError(`"${wrong}" ${refuseNetwork(wrong)}`);
  const networks = entries.map((entry) => readNetwork(entry) as Network);
  return {
    contains(text) {
      if (isIP(text) === 0) return false;
      const address = ipaddr.process(text);
      return networks.some(
        ([network, bits]) => network.kind() === address.kind() && address.match(network, bits),
      );
    },
  };
}

function readNetwork(entry: string): Network | undefined {
  const text = entry.trim();
  const [address = ""] = text.split("/");
  const range = address === text ? `${text}/${isIP(address) === 4 ? 32 : 128}` : text;
  return isIP(address) !== 0 && ipaddr.isValidCIDR(range) ? ipaddr.parseCIDR(range) : undefined; // it takes 127.1 too
}

const networksOf = derived(parseNetworks);

/** Without the brackets and the port that some proxies write. */
function plain(hop: string): string {
  const [, bracketed, bare] = /^\[([^\]]*)\](?::\d+)?$|^([\d.]+):\d+$/.exec(hop) ?? [];
  const ip = bracketed ?? bare ?? hop;
  return ip.startsWith("::ffff:") && ip.includes(".") ? ip.slice(7) : ip;
}

/** Finds the address of a caller: the socket's peer, or the address that a trusted proxy reports. */
import type { IncomingMessage } from "node:http";
import { isIP } from "node:net";
import ipaddr from "ipaddr.js";
import { derived } from "../memory/derived.ts";

type Network = [address: ipaddr.IPv4 | ipaddr.IPv6, bits: number];

/** A set of addresses and ranges. */
export interface Networks {
  contains(address: string): boolean;
}

/**
 * Returns the caller's address without brackets, port or the `::ffff:` of a mapped IPv4 address; "" once the socket is
 * closed, "unknown" if a proxy reports none.
 */
export function findCallerAddress(req: IncomingMessage, trustedProxies: readonly string[]): string {
  const remote = req.socket.remoteAddress ?? "";
  const peer = remote.startsWith("::ffff:") ? remote.slice(7) : remote;
  if (trustedProxies.length === 0) return peer;
  const proxies = networksOf(trustedProxies);
  const forwarded = [req.headers["x-forwarded-for"] ?? []].flat().join(",").split(",");
  let address = peer;
  // Each proxy appends its peer, so only the entries to the right of the first untrusted address are reliable.
  while (proxies.contains(address)) {
    const hop = stripPort(forwarded.pop()?.trim() ?? "");
    if (hop === "") break; // the proxy itself is the caller
    if (isIP(hop) === 0) return "unknown"; // not an address, so no list of addresses contains it
    address = hop;
  }
  return address;
}

/** Whether the address is in 127.0.0.0/8 or ::1, mapped or not. */
export function isLoopback(address: string): boolean {
  return isIP(address) !== 0 && ipaddr.process(address).range() === "loopback";
}

/** Whether a server that listens there is reachable from its own machine only. */
export const isOwnMachine = (bind: string): boolean =>
  bind === "127.0.0.1" || bind === "localhost" || isLoopback(bind);

/** Returns what counts as one caller: an IPv4 address, or the /64 of an IPv6 address, which belongs to one customer. */
export const getCallerKey = (address: string): string =>
  isIP(address) === 6 ? ipaddr.IPv6.parse(address).parts.slice(0, 4).join(":") : address;

/** For a schema's `refuse`: returns what is wrong with an entry, as a predicate that follows its key. */
export const refuseNetwork = (entry: unknown): string | undefined =>
  readNetwork(String(entry))
    ? undefined
    : "is neither an IP address nor a CIDR range such as 10.0.0.0/8";

/** Throws a `TypeError` that names the entry which is neither an address nor a CIDR range. */
export function parseNetworks(entries: readonly string[]): Networks {
  const invalidEntry = entries.find(refuseNetwork);
  if (invalidEntry !== undefined)
    throw new TypeError(`"${invalidEntry}" ${refuseNetwork(invalidEntry)}`);
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
  return isIP(address) !== 0 && ipaddr.isValidCIDR(range) ? ipaddr.parseCIDR(range) : undefined; // `isValidCIDR` alone would accept 127.1
}

const networksOf = derived(parseNetworks);

/** Removes the brackets and the port that some proxies write. */
function stripPort(hop: string): string {
  const [, bracketed, bare] = /^\[([^\]]*)\](?::\d+)?$|^([\d.]+):\d+$/.exec(hop) ?? [];
  const ip = bracketed ?? bare ?? hop;
  return ip.startsWith("::ffff:") && ip.includes(".") ? ip.slice(7) : ip;
}

/** Who is calling: the socket's peer, or what a trusted proxy in front of us says about it. */
import type { IncomingMessage } from "node:http";
import { BlockList, isIP } from "node:net";

const lists = new WeakMap<readonly string[], BlockList>();

/** The caller's address without brackets, port or the `::ffff:` of a mapped IPv4 address; "" once the socket is gone. */
export function addressOf(req: IncomingMessage, trustedProxies: readonly string[]): string {
  const peer = plain(req.socket.remoteAddress ?? "");
  if (trustedProxies.length === 0) return peer;
  const proxies = listOf(trustedProxies);
  if (!contains(proxies, peer)) return peer;
  // Each proxy appends the peer it saw, so only what stands right of the first stranger can be believed.
  const forwarded = req.headers["x-forwarded-for"];
  const hops = (Array.isArray(forwarded) ? forwarded.join(",") : (forwarded ?? "")).split(",");
  let address = peer;
  for (let i = hops.length - 1; i >= 0; i--) {
    const hop = plain((hops[i] as string).trim());
    if (isIP(hop) === 0) break;
    address = hop;
    if (!contains(proxies, hop)) break;
  }
  return address;
}

/** True for 127.0.0.0/8 and ::1, mapped or not. */
export function isLoopback(address: string): boolean {
  const ip = plain(address);
  return ip === "::1" || (ip.startsWith("127.") && isIP(ip) === 4);
}

/** Throws a `TypeError` that names the entry which is neither an address nor a CIDR range. */
export function parseProxies(entries: readonly string[]): BlockList {
  const list = new BlockList();
  for (const entry of entries) {
    const [ip = "", bits, ...rest] = entry.trim().split("/");
    const family = isIP(ip);
    const width = family === 4 ? 32 : 128;
    const prefix = bits === undefined ? width : /^\d{1,3}$/.test(bits) ? Number(bits) : Number.NaN;
    if (family === 0 || rest.length > 0 || !(prefix <= width)) {
      throw new TypeError(`"${entry}" is neither an IP address nor a CIDR range such as 10.0.0.0/8`);
    }
    list.addSubnet(ip, prefix, family === 4 ? "ipv4" : "ipv6");
  }
  return list;
}

function listOf(entries: readonly string[]): BlockList {
  let list = lists.get(entries);
  if (!list) {
    list = parseProxies(entries);
    lists.set(entries, list);
  }
  return list;
}

function contains(list: BlockList, ip: string): boolean {
  const family = isIP(ip);
  return family !== 0 && list.check(ip, family === 4 ? "ipv4" : "ipv6");
}

function plain(address: string): string {
  let ip = address;
  if (ip.startsWith("[")) ip = ip.slice(1, ip.indexOf("]"));
  else if (ip.includes(".") && ip.includes(":") && !ip.includes("::")) ip = ip.slice(0, ip.indexOf(":"));
  if (ip.startsWith("::ffff:") && ip.includes(".")) ip = ip.slice(7);
  return ip;
}

/**
 * What an IP address is, for the guard. IPv6 forms that carry an IPv4 address are opened and the inner one is judged too.
 * Sources: the IANA special-purpose registries; the cloud vendors' pages for their metadata services.
 */
import { BlockList, isIPv4, isIPv6 } from "node:net";

/** From harmless to never: of several judgements the later one holds. */
export type AddressKind = "public" | "private" | "loopback" | "link_local" | "metadata";

const RANK: Record<AddressKind, number> = { public: 0, private: 1, loopback: 2, link_local: 3, metadata: 4 };

function list(v4: readonly string[], v6: readonly string[] = []): BlockList {
  const made = new BlockList();
  for (const [ranges, family] of [[v4, "ipv4"] as const, [v6, "ipv6"] as const]) {
    for (const range of ranges) {
      const [net, bits] = range.split("/");
      made.addSubnet(net!, Number(bits ?? (family === "ipv4" ? 32 : 128)), family);
    }
  }
  return made;
}

// Azure's wire server, Alibaba, Oracle; AWS's EC2 and ECS endpoints lie in the link-local range.
const METADATA = list(
  ["169.254.169.254", "169.254.170.2", "168.63.129.16", "100.100.100.200", "192.0.0.192"],
  ["fd00:ec2::254", "fd00:ec2::23", "fd20:ce::254"],
);
const LINK_LOCAL = list(["169.254.0.0/16"], ["fe80::/10"]);
// 0.0.0.0 and :: reach the own machine on Linux and macOS.
const LOOPBACK = list(["127.0.0.0/8", "0.0.0.0/8"], ["::1", "::"]);
const PRIVATE_V4 = list([
  "10.0.0.0/8",
  "100.64.0.0/10",
  "172.16.0.0/12",
  "192.0.0.0/24",
  "192.0.2.0/24",
  "192.31.196.0/24",
  "192.52.193.0/24",
  "192.88.99.0/24",
  "192.168.0.0/16",
  "192.175.48.0/24",
  "198.18.0.0/15",
  "198.51.100.0/24",
  "203.0.113.0/24",
  "224.0.0.0/4",
  "240.0.0.0/4",
]);
const GLOBAL_V6 = list([], ["2000::/3"]);
const PRIVATE_IN_GLOBAL_V6 = list([], ["2001::/23", "2001:db8::/32", "2002::/16", "2620:4f:8000::/48", "3fff::/20"]);

/** The eight groups of an IPv6 address in any valid spelling. */
function groups(address: string): number[] {
  let text = address;
  const dot = text.lastIndexOf(":") + 1;
  if (text.includes(".")) {
    const [a, b, c, d] = text.slice(dot).split(".").map(Number) as [number, number, number, number];
    text = `${text.slice(0, dot)}${(a * 256 + b).toString(16)}:${(c * 256 + d).toString(16)}`;
  }
  const [head, tail] = text
    .split("::")
    .map((part) => (part === "" ? [] : part.split(":").map((g) => Number.parseInt(g, 16))));
  if (tail === undefined) return head!;
  return [...head!, ...new Array<number>(8 - head!.length - tail.length).fill(0), ...tail];
}

const dotted = (high: number, low: number): string => `${high >> 8}.${high & 255}.${low >> 8}.${low & 255}`;
const zeros = (g: readonly number[], from: number, to: number): boolean => g.slice(from, to).every((x) => x === 0);
const worst = (a: AddressKind, b: AddressKind): AddressKind => (RANK[a] >= RANK[b] ? a : b);

function kindOfV4(address: string): AddressKind {
  if (METADATA.check(address, "ipv4")) return "metadata";
  if (LINK_LOCAL.check(address, "ipv4")) return "link_local";
  if (LOOPBACK.check(address, "ipv4")) return "loopback";
  return PRIVATE_V4.check(address, "ipv4") ? "private" : "public";
}

function kindOfV6(address: string): AddressKind {
  const g = groups(address);
  const last = dotted(g[6]!, g[7]!);
  // Mapped: the connection is made over IPv4.
  if (zeros(g, 0, 5) && g[5] === 0xffff) return kindOfV4(last);
  if (METADATA.check(address, "ipv6")) return "metadata";
  if (LINK_LOCAL.check(address, "ipv6")) return "link_local";
  if (LOOPBACK.check(address, "ipv6")) return "loopback";
  // The well-known NAT64 prefix is how an IPv6-only network reaches a public IPv4 host.
  if (g[0] === 0x64 && g[1] === 0xff9b && zeros(g, 2, 6)) return kindOfV4(last);
  const carried: string[] = [];
  if (zeros(g, 0, 6)) carried.push(last); // compatible (deprecated)
  if (zeros(g, 0, 4) && g[4] === 0xffff && g[5] === 0) carried.push(last); // SIIT
  if (g[0] === 0x64 && g[1] === 0xff9b) carried.push(last); // NAT64 with a local prefix
  if (g[0] === 0x2002) carried.push(dotted(g[1]!, g[2]!)); // 6to4
  if (g[0] === 0x2001 && g[1] === 0) carried.push(dotted(g[2]!, g[3]!), dotted(~g[6]! & 0xffff, ~g[7]! & 0xffff)); // Teredo
  if ((g[4]! & 0xfdff) === 0 && g[5] === 0x5efe) carried.push(last); // ISATAP
  const open = GLOBAL_V6.check(address, "ipv6") && !PRIVATE_IN_GLOBAL_V6.check(address, "ipv6");
  return carried.map(kindOfV4).reduce(worst, open ? "public" : "private");
}

// Sixteen range checks for each sub-resource of a page would be felt.
const remembered = new Map<string, AddressKind | undefined>();

/** What an address is; `undefined` for something that is no IP address. A zone (`fe80::1%eth0`) is left out of the judgement. */
export function addressKind(address: string): AddressKind | undefined {
  if (remembered.has(address)) return remembered.get(address);
  if (remembered.size >= 1_000) remembered.clear();
  const kind = judge(address);
  if (address.length < 64) remembered.set(address, kind);
  return kind;
}

function judge(address: string): AddressKind | undefined {
  const bare = address.replace(/%.*$/s, "");
  if (isIPv4(bare)) return kindOfV4(bare);
  return isIPv6(bare) ? kindOfV6(bare) : undefined;
}

/** The IPv4 address inside a mapped IPv6 one, the address itself otherwise: the form in which two addresses compare. */
export function plainAddress(address: string): string {
  const bare = address.replace(/%.*$/s, "").toLowerCase();
  if (!isIPv6(bare)) return bare;
  const g = groups(bare);
  if (zeros(g, 0, 5) && g[5] === 0xffff) return dotted(g[6]!, g[7]!);
  return g.map((part) => part.toString(16)).join(":");
}

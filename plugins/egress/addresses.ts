/**
 * Classifies IP addresses for the guard. If an IPv6 address embeds an IPv4 address, both are classified.
 * ipaddr.js parses the addresses, but the ranges are our own: it reports every address that it does not know as `unicast`,
 * and a guard must treat unknown addresses as private.
 * Sources: the IANA special-purpose registries; the cloud vendors' pages for their metadata services.
 */
import { isIP } from "node:net";
import { BoundedMap } from "portico";
import ipaddr, { type IPv4, type IPv6 } from "ipaddr.js";

/** The kinds, from the least to the most restricted. Of several kinds of one address, the most restricted one counts. */
export type AddressKind = "public" | "private" | "loopback" | "link_local" | "metadata";

const RANK: Record<AddressKind, number> = {
  public: 0,
  private: 1,
  loopback: 2,
  link_local: 3,
  metadata: 4,
};

const ranges = (...list: string[]): [IPv4 | IPv6, number][] =>
  list.map((range) => ipaddr.parseCIDR(range));

/**
 * Creates the ranges in the order of their checks. An address outside all of them is private. They are created at first
 * use, since a start needs none.
 */
const createRanges = (): Record<AddressKind, [IPv4 | IPv6, number][]> => ({
  metadata: ranges(
    // AWS's EC2 and ECS endpoints, Azure's wire server, Alibaba, Oracle.
    "169.254.169.254/32",
    "169.254.170.2/32",
    "168.63.129.16/32",
    "100.100.100.200/32",
    "192.0.0.192/32",
    "fd00:ec2::254/128",
    "fd00:ec2::23/128",
    "fd20:ce::254/128",
  ),
  link_local: ranges("169.254.0.0/16", "fe80::/10"),
  // 0.0.0.0 and :: reach this machine on Linux and macOS.
  loopback: ranges("127.0.0.0/8", "0.0.0.0/8", "::1/128", "::/128"),
  private: ranges(
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
    "2001::/23",
    "2001:db8::/32",
    "2002::/16",
    "2620:4f:8000::/48",
    "3fff::/20",
  ),
  public: ranges("0.0.0.0/0", "2000::/3"),
});
let cachedRanges: ReturnType<typeof createRanges> | undefined;

const moreRestricted = (a: AddressKind, b: AddressKind): AddressKind =>
  RANK[a] >= RANK[b] ? a : b;

function kindOfAddress(address: IPv4 | IPv6): AddressKind {
  cachedRanges ??= createRanges();
  return ipaddr.subnetMatch(address, cachedRanges, "private") as AddressKind;
}

/** Returns the IPv4 address that two groups of an IPv6 address embed. */
const embeddedAddress = (high = 0, low = 0): IPv4 =>
  new ipaddr.IPv4([high >> 8, high & 255, low >> 8, low & 255]);

/** Returns the IPv4 addresses after a NAT64 prefix of 48, 56 or 64 bits (RFC 6052), around an octet of zeros. */
function nat64Addresses([, , , g3 = 0, g4 = 0, g5 = 0, g6 = 0]: readonly number[]): IPv4[] {
  const byte = (group: number, high: boolean): number => (high ? group >> 8 : group & 255);
  const candidates = [
    new ipaddr.IPv4([byte(g3, true), byte(g3, false), byte(g4, false), byte(g5, true)]),
    new ipaddr.IPv4([byte(g3, false), byte(g4, false), byte(g5, true), byte(g5, false)]),
    new ipaddr.IPv4([byte(g4, false), byte(g5, true), byte(g5, false), byte(g6, true)]),
  ];
  // A leading zero means that the prefix has another length.
  return candidates.filter(({ octets }) => octets[0] !== 0);
}

function kindOfV6(address: IPv6): AddressKind {
  const g = address.parts;
  const zeros = (from: number, to: number): boolean =>
    g.slice(from, to).every((group) => group === 0);
  const lastAddress = embeddedAddress(g[6], g[7]);
  // Connections to a mapped address use IPv4.
  if (address.isIPv4MappedAddress()) return kindOfAddress(lastAddress);
  const ownKind = kindOfAddress(address);
  if (RANK[ownKind] > RANK.private) return ownKind;
  // An IPv6-only network reaches public IPv4 hosts through the well-known NAT64 prefix.
  if (g[0] === 0x64 && g[1] === 0xff9b && zeros(2, 6)) return kindOfAddress(lastAddress);
  const embedded: IPv4[] = [];
  if (zeros(0, 6)) embedded.push(lastAddress); // compatible (deprecated)
  if (zeros(0, 4) && g[4] === 0xffff && g[5] === 0) embedded.push(lastAddress); // SIIT
  if (g[0] === 0x64 && g[1] === 0xff9b) embedded.push(...nat64Addresses(g), lastAddress); // NAT64 with a local prefix
  if (g[0] === 0x2002) embedded.push(embeddedAddress(g[1], g[2])); // 6to4
  if (g[0] === 0x2001 && g[1] === 0)
    embedded.push(embeddedAddress(g[2], g[3]), embeddedAddress(~g[6]! & 0xffff, ~g[7]! & 0xffff)); // Teredo
  if ((g[4]! & 0xfdff) === 0 && g[5] === 0x5efe) embedded.push(lastAddress); // ISATAP
  return embedded.map(kindOfAddress).reduce(moreRestricted, ownKind);
}

/**
 * Parses an address without its zone (`fe80::1%eth0`). Returns `undefined` for a text that Node does not accept as an IP
 * address.
 */
function parse(address: string): IPv4 | IPv6 | undefined {
  const withoutZone = address.replace(/%.*$/s, "");
  const version = isIP(withoutZone);
  if (version === 0) return undefined;
  if (version === 4) return ipaddr.IPv4.parse(withoutZone);
  // ipaddr.js reads `::8.8.8.8` as `::ffff:8.8.8.8`, so a dotted tail is converted to groups first.
  return ipaddr.IPv6.parse(
    withoutZone.includes(".")
      ? new URL(`http://[${withoutZone}]`).hostname.slice(1, -1)
      : withoutZone,
  );
}

// A page has hundreds of sub-resources, mostly from the same few hosts.
const kindCache = new BoundedMap<AddressKind | undefined>({ maxEntries: 1_000 });

/** Returns the kind of an address, or `undefined` for a text that is not an IP address. Ignores a zone (`fe80::1%eth0`). */
export function addressKind(address: string): AddressKind | undefined {
  if (kindCache.has(address)) return kindCache.get(address);
  const parsed = parse(address);
  const kind =
    parsed && (parsed.kind() === "ipv4" ? kindOfAddress(parsed) : kindOfV6(parsed as IPv6));
  kindCache.set(address, kind);
  return kind;
}

/** Normalises an address for comparison. A mapped IPv6 address becomes its IPv4 address. */
export function plainAddress(address: string): string {
  const parsed = parse(address);
  if (parsed === undefined) return address.toLowerCase();
  const plain =
    parsed.kind() === "ipv6" && (parsed as IPv6).isIPv4MappedAddress()
      ? (parsed as IPv6).toIPv4Address()
      : parsed;
  return plain.toNormalizedString();
}

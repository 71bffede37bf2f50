/**
 * What an IP address is, for the guard. IPv6 forms that carry an IPv4 address are opened and the inner one is judged too.
 * ipaddr.js parses; the ranges are our own: its `unicast` is whatever it does not know, and
 * a guard must take the unknown for closed.
 * Sources: the IANA special-purpose registries; the cloud vendors' pages for their metadata services.
 */
import { isIP } from "node:net";
import { BoundedMap } from "portico";
import ipaddr, { type IPv4, type IPv6 } from "ipaddr.js";

/** From harmless to never: of several judgements the later one holds. */
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

/** In the order in which they are tried; what is in none of them is private. Made when first needed: a start needs none. */
const makeRanges = (): Record<AddressKind, [IPv4 | IPv6, number][]> => ({
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
  // 0.0.0.0 and :: reach the own machine on Linux and macOS.
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
let madeRanges: ReturnType<typeof makeRanges> | undefined;

const worst = (a: AddressKind, b: AddressKind): AddressKind => (RANK[a] >= RANK[b] ? a : b);

function rangeOf(address: IPv4 | IPv6): AddressKind {
  madeRanges ??= makeRanges();
  return ipaddr.subnetMatch(address, madeRanges, "private") as AddressKind;
}

/** The IPv4 address in two groups of an IPv6 one. */
const embeddedAddress = (high = 0, low = 0): IPv4 =>
  new ipaddr.IPv4([high >> 8, high & 255, low >> 8, low & 255]);

/** What a NAT64 prefix of 48, 56 or 64 bits carries (RFC 6052): the address is split by an octet of zeros. */
function translated([, , , g3 = 0, g4 = 0, g5 = 0, g6 = 0]: readonly number[]): IPv4[] {
  const byte = (group: number, high: boolean): number => (high ? group >> 8 : group & 255);
  const lengths = [
    new ipaddr.IPv4([byte(g3, true), byte(g3, false), byte(g4, false), byte(g5, true)]),
    new ipaddr.IPv4([byte(g3, false), byte(g4, false), byte(g5, true), byte(g5, false)]),
    new ipaddr.IPv4([byte(g4, false), byte(g5, true), byte(g5, false), byte(g6, true)]),
  ];
  // Zeros are what a prefix of another length has there.
  return lengths.filter(({ octets }) => octets[0] !== 0);
}

function kindOfV6(address: IPv6): AddressKind {
  const g = address.parts;
  const zeros = (from: number, to: number): boolean =>
    g.slice(from, to).every((group) => group === 0);
  const last = embeddedAddress(g[6], g[7]);
  // Mapped: the connection is made over IPv4.
  if (address.isIPv4MappedAddress()) return rangeOf(last);
  const own = rangeOf(address);
  if (RANK[own] > RANK.private) return own;
  // The well-known NAT64 prefix is how an IPv6-only network reaches a public IPv4 host.
  if (g[0] === 0x64 && g[1] === 0xff9b && zeros(2, 6)) return rangeOf(last);
  const inner: IPv4[] = [];
  if (zeros(0, 6)) inner.push(last); // compatible (deprecated)
  if (zeros(0, 4) && g[4] === 0xffff && g[5] === 0) inner.push(last); // SIIT
  if (g[0] === 0x64 && g[1] === 0xff9b) inner.push(...translated(g), last); // NAT64 with a local prefix
  if (g[0] === 0x2002) inner.push(embeddedAddress(g[1], g[2])); // 6to4
  if (g[0] === 0x2001 && g[1] === 0)
    inner.push(embeddedAddress(g[2], g[3]), embeddedAddress(~g[6]! & 0xffff, ~g[7]! & 0xffff)); // Teredo
  if ((g[4]! & 0xfdff) === 0 && g[5] === 0x5efe) inner.push(last); // ISATAP
  return inner.map(rangeOf).reduce(worst, own);
}

/** A zone (`fe80::1%eth0`) is left out; what Node would not connect to as an address is none. */
function parse(address: string): IPv4 | IPv6 | undefined {
  const bare = address.replace(/%.*$/s, "");
  const version = isIP(bare);
  if (version === 0) return undefined;
  if (version === 4) return ipaddr.IPv4.parse(bare);
  // The library takes `::8.8.8.8` for `::ffff:8.8.8.8`: a dotted tail is put into groups first.
  return ipaddr.IPv6.parse(
    bare.includes(".") ? new URL(`http://[${bare}]`).hostname.slice(1, -1) : bare,
  );
}

// A page has hundreds of sub-resources, mostly of the same few hosts.
const remembered = new BoundedMap<AddressKind | undefined>({ maxEntries: 1_000 });

/** What an address is; `undefined` for something that is no IP address. A zone (`fe80::1%eth0`) is left out of the judgement. */
export function addressKind(address: string): AddressKind | undefined {
  if (remembered.has(address)) return remembered.get(address);
  const parsed = parse(address);
  const kind = parsed && (parsed.kind() === "ipv4" ? rangeOf(parsed) : kindOfV6(parsed as IPv6));
  remembered.set(address, kind);
  return kind;
}

/** The IPv4 address inside a mapped IPv6 one, the address itself otherwise: the form in which two addresses compare. */
export function plainAddress(address: string): string {
  const parsed = parse(address);
  if (parsed === undefined) return address.toLowerCase();
  const plain =
    parsed.kind() === "ipv6" && (parsed as IPv6).isIPv4MappedAddress()
      ? (parsed as IPv6).toIPv4Address()
      : parsed;
  return plain.toNormalizedString();
}

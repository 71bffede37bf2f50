/** An address is refused in every spelling: written, resolved, or in a redirect. */
import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import * as assert from "uvu/assert";
import { isPorticoError } from "../../../kernel/errors.ts";
import { createGuard, guardedFetch } from "../../../plugins/egress/index.ts";
import type { Guard } from "../../../plugins/egress/types.ts";
import { assertLinear, repeated } from "../../support/growth.ts";
import { suite } from "../../support/suite.ts";

const METADATA = [
  "169.254.169.254",
  "169.254.170.2",
  "168.63.129.16",
  "100.100.100.200",
  "192.0.0.192",
];
const LINK_LOCAL = ["169.254.0.1", "169.254.255.255"];
const PRIVATE = [
  "10.0.0.1",
  "172.16.3.4",
  "192.168.1.1",
  "100.64.0.1",
  "198.18.0.1",
  "224.0.0.1",
  "255.255.255.255",
];
const LOOPBACK = ["127.0.0.1", "127.9.8.7", "0.0.0.0"];
const OWN_PORT = 18789;

const hex = (n: number, digits = 0): string => n.toString(16).padStart(digits, "0");
const octal = (n: number): string => `0${n.toString(8)}`;

/** One IPv4 address as a URL may spell it. */
function v4Spellings(address: string): string[] {
  const bytes = address.split(".").map(Number) as [number, number, number, number];
  const [a, b, c, d] = bytes;
  const tail = (c << 8) | d;
  const whole = ((a << 24) | (b << 16) | tail) >>> 0;
  const last = ((b << 16) | tail) >>> 0;
  const digits = (zero: number): string =>
    address.replace(/\d/g, (digit) => String.fromCodePoint(zero + Number(digit)));
  return [
    address,
    `${address}.`,
    bytes.map(octal).join("."),
    bytes.map((n) => `000${octal(n)}`).join("."),
    bytes.map((n) => `0x${hex(n)}`).join("."),
    bytes.map((n) => `0X${hex(n, 8).toUpperCase()}`).join("."),
    `${octal(a)}.0x${hex(b)}.${c}.${d}`,
    `${a}.${b}.${tail}`,
    `${a}.${last}`,
    `${octal(a)}.0x${hex(last)}`,
    String(whole),
    `0x${hex(whole)}`,
    octal(whole),
    `${whole}.`,
    digits(0xff10),
    digits(0x1d7ce),
    digits(0x1d7f6),
    address.replaceAll(".", "\u3002"),
    address.replaceAll(".", "\uff0e"),
    address.replaceAll(".", "\uff61"),
    address.replaceAll(".", "%2e"),
    address.replaceAll(".", ".\u00ad"),
    address.replaceAll(".", "\u200b."),
    [...address].map((character) => `%${hex(character.charCodeAt(0), 2)}`).join(""),
    `${address.slice(0, 2)}\t${address.slice(2)}`,
    `${address.slice(0, 2)}\n${address.slice(2)}`,
  ];
}

/** IPv6 addresses that lead to an IPv4 one, or stand for it. */
function v6Spellings(address: string): string[] {
  const [a, b, c, d] = address.split(".").map(Number) as [number, number, number, number];
  const [high, low] = [hex((a << 8) | b), hex((c << 8) | d)];
  const flipped = [hex(((a << 8) | b) ^ 0xffff), hex(((c << 8) | d) ^ 0xffff)].join(":");
  return [
    `::ffff:${address}`,
    `::FFFF:${high}:${low}`,
    `0:0:0:0:0:ffff:${high}:${low}`,
    `0000:0000:0000:0000:0000:ffff:${address}`,
    `::${address}`,
    `::ffff:0:${address}`,
    `64:ff9b::${address}`,
    `64:ff9b::${high}:${low}`,
    `64:ff9b:1::${address}`,
    `64:ff9b:1:${high}:${hex(c)}:${hex(d)}00::`,
    `64:ff9b:1:${hex(a)}:${hex(b)}:${hex((c << 8) | d)}::`,
    `64:ff9b:1:0:${hex(a)}:${hex((b << 8) | c)}:${hex(d)}00:0`,
    `2002:${high}:${low}::`,
    `2002:${high}:${low}::1`,
    `2001:0:${high}:${low}::`,
    `2001:0:4136:e378:8000:63bf:${flipped}`,
    `2001:db8::5efe:${high}:${low}`,
    `2001:db8::200:5efe:${address}`,
    `fe80::5efe:${address}`,
  ];
}

/** All URLs that a parser takes for the same place. */
const urlsOf = (host: string, port = 8080): string[] => [
  `http://${host}:${port}/`,
  `HTTP:\\\\${host}:${port}\\x`,
  `http:${host}:${port}/`,
  `http:////${host}:${port}/`,
  `  http://${host}:${port}/?a#b `,
  `https://${host}:${port}`,
];

const withTricks = (host: string): string[] => [
  `http://example.com@${host}/`,
  `http://example.com:80@${host}:8080/`,
  `http://example.com%40${host}/`,
  `http://user:example.com@${host}/`,
  `http://@${host}/`,
  `http://${host}#@example.com/`,
  `http://${host}?@example.com/`,
  `http://${host}\\@example.com/`,
];

const resolve = async () => [{ address: "93.184.216.34", family: 4 as const }];
const guardOf = (allowPrivate: boolean): Guard =>
  createGuard({
    policy: () => ({ allowPrivate }),
    resolve,
    ownPorts: () => [OWN_PORT],
    code: "address_blocked",
  });
const strict = guardOf(false);
const trusting = guardOf(true);

/** Refused means: a 403 of the guard, or no URL at all. */
async function refuses(work: Promise<unknown>, what: string): Promise<void> {
  try {
    await work;
  } catch (error) {
    if (!isPorticoError(error)) throw error;
    assert.ok(
      ["address_blocked", "invalid_request_error"].includes(error.code),
      `${what}: ${error.code}`,
    );
    return;
  }
  assert.unreachable(`${what} was let through`);
}

async function refusesAll(guard: Guard, address: string): Promise<void> {
  for (const host of [...v4Spellings(address), ...v6Spellings(address).map((v6) => `[${v6}]`)]) {
    for (const url of urlsOf(host)) await refuses(guard.checkUrl(url), JSON.stringify(url));
    await refuses(guard.checkHost(host, 8080), `host ${JSON.stringify(host)}`);
  }
  for (const v6 of v6Spellings(address)) await refuses(guard.checkHost(v6, 8080), `host ${v6}`);
}

const test = suite("hostile addresses");

test("metadata and link-local addresses are refused under every policy", async () => {
  for (const address of [...METADATA, ...LINK_LOCAL])
    for (const guard of [strict, trusting]) await refusesAll(guard, address);
  for (const host of [
    "[fe80::1]",
    "[fe80::1%25eth0]",
    "[fe80::1%eth0]",
    "[fd00:ec2::254]",
    "[FD00:EC2:0::0254]",
  ])
    for (const url of urlsOf(host)) await refuses(trusting.checkUrl(url), url);
  for (const host of ["fe80::1%eth0", "fe80::1%25lo", "fd00:ec2::254%1"])
    await refuses(trusting.checkHost(host, 80), host);
});

test("private and loopback addresses are refused where only public ones are allowed", async () => {
  for (const address of [...PRIVATE, ...LOOPBACK]) await refusesAll(strict, address);
  for (const host of [
    "[::1]",
    "[::]",
    "[0:0:0:0:0:0:0:1]",
    "[fc00::1]",
    "[fd12:3456::1]",
    "[ff02::1]",
    "[::1%25lo]",
  ])
    for (const url of urlsOf(host)) await refuses(strict.checkUrl(url), url);
});

test("the gateway's own ports are refused in every spelling of this machine's addresses", async () => {
  const hosts = LOOPBACK.flatMap((address) => [
    ...v4Spellings(address),
    ...[`::ffff:${address}`, `::${address}`, `64:ff9b::${address}`].map((v6) => `[${v6}]`),
  ]);
  for (const host of [...hosts, "localhost", "LOCALHOST.", "a.localhost", "[::1]", "[::]"])
    for (const port of [OWN_PORT, 18_800, 18_899]) {
      for (const url of urlsOf(host, port))
        await refuses(trusting.checkUrl(url), JSON.stringify(url));
      await refuses(trusting.checkHost(host, port), `${JSON.stringify(host)} ${port}`);
    }
});

test("credentials and tricks with separators do not hide the host", async () => {
  for (const host of ["127.0.0.1", "[::1]", "2130706433"])
    for (const url of withTricks(host)) await refuses(strict.checkUrl(url), url);
  for (const url of [
    "http://user@example.com/",
    "http://:pw@example.com/",
    "https://a:b@93.184.216.34/",
  ])
    await refuses(trusting.checkUrl(url), url);
});

test("only http, https and about:blank are opened", async () => {
  const schemes =
    "file ftp ws wss data blob javascript view-source filesystem gopher chrome about dict ldap".split(
      " ",
    );
  for (const scheme of schemes)
    for (const rest of ["//example.com/", "example.com", "//127.0.0.1/", "/etc/passwd", "srcdoc"])
      await refuses(trusting.checkUrl(`${scheme}:${rest}`), `${scheme}:${rest}`);
  assert.equal((await trusting.checkUrl("about:blank")).addresses, []);
});

test("a public address passes in the same spellings", async () => {
  const address = "93.184.216.34";
  let passed = 0;
  for (const host of v4Spellings(address)) {
    if (!URL.canParse(`http://${host}/`)) continue;
    const { addresses } = await strict.checkUrl(`http://${host}/`);
    assert.equal(addresses, [{ address, family: 4 }], host);
    passed++;
  }
  assert.ok(passed > 15, `${passed} passed`);
});

let server: Server;
let handler: RequestListener;
test.before(async () => {
  server = createServer((req, res) => handler(req, res));
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
});
test.after(() => {
  server.closeAllConnections();
  server.close();
});

test("a redirect to any of them is not followed", async () => {
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const guard = createGuard({
    policy: () => ({ allowPrivate: false, allowedOrigins: [origin] }),
    resolve,
    ownPorts: () => [OWN_PORT],
    code: "address_blocked",
  });
  const hosts = ["169.254.169.254", "10.0.0.1"].flatMap((address) => [
    ...v4Spellings(address).filter((host) => !/[\t\n]|[^\0-\xff]/.test(host)),
    ...v6Spellings(address).map((v6) => `[${v6}]`),
  ]);
  let requestCount = 0;
  for (const host of [
    ...hosts,
    "localhost",
    "metadata.google.internal",
    "METADATA.google.internal.",
  ]) {
    for (const location of [`http://${host}:1/`, `//${host}:1/`, `http://x@${host}:1/`]) {
      handler = (_req, res) => {
        requestCount++;
        res.writeHead(302, { location }).end();
      };
      try {
        await guardedFetch(guard, `${origin}/start`);
        assert.unreachable(`${location} was followed`);
      } catch (error) {
        const code = isPorticoError(error) ? error.code : String(error);
        const isRefused =
          code === "address_blocked" ||
          (code === "upstream_error" && !URL.canParse(location, origin));
        assert.ok(isRefused, `${location}: ${code}`);
      }
    }
  }
  assert.ok(requestCount > 100, `${requestCount} redirects`);
});

test("the time of a check is proportional to the length of the address", async () => {
  const tokens = [
    "a",
    "a.",
    ".",
    "[",
    ":",
    "::",
    "%",
    "@",
    "0",
    "0x",
    "\\",
    "/",
    "\u3002",
    "xn--",
    "ffff:",
  ];
  const judge = (text: string) => strict.precheck(text);
  for (const token of tokens)
    for (const before of ["http://", "http://[", "", "http://a@"])
      assertLinear(`${before}${token}…`, 4_000, repeated(token, before), judge);
});

test.run();

import { test } from "../../support/suite.ts";
import * as assert from "uvu/assert";
import { isPorticoError, type PorticoError } from "../../../kernel/errors.ts";
import { addressKind } from "../../../plugins/egress/addresses.ts";
import { createGuard } from "../../../plugins/egress/policy.ts";
import { matchesHost } from "../../../plugins/egress/names.ts";
import type { GuardPolicy, ResolvedAddress } from "../../../plugins/egress/types.ts";

const NAMES: Record<string, string[]> = {
  "pub.test": ["93.184.216.34"],
  "pub6.test": ["2606:2800:220:1:248:1893:25c8:1946"],
  "inside.test": ["10.1.2.3"],
  "mixed.test": ["93.184.216.34", "127.0.0.1"],
  "rebind.test": ["169.254.169.254"],
  "loop.test": ["127.0.0.1"],
  "sub.d.test": ["93.184.216.34"],
  "d.test": ["93.184.216.34"],
  localdb: ["10.0.0.5"],
};
const resolve = async (host: string): Promise<ResolvedAddress[]> =>
  (NAMES[host] ?? []).map((address) => ({ address, family: address.includes(":") ? 6 : 4 }));

const guardOf = (policy: GuardPolicy, ownPorts: number[] = [18789, 18791]) =>
  createGuard({ policy: () => policy, resolve, ownPorts: () => ownPorts });
const strict = guardOf({ allowPrivate: false });
const trusting = guardOf({ allowPrivate: true });

async function refusal(work: Promise<unknown>): Promise<PorticoError> {
  try {
    await work;
  } catch (error) {
    if (isPorticoError(error)) return error;
    throw error;
  }
  throw new Error("was let through");
}
const reasonOf = async (work: Promise<unknown>): Promise<unknown> =>
  (await refusal(work)).details?.["reason"];

const KINDS: Record<string, string[]> = {
  public: [
    "8.8.8.8",
    "1.1.1.1",
    "93.184.216.34",
    "172.32.0.1",
    "2606:4700::1111",
    "2a00:1450:4001:81b::200e",
    "::ffff:8.8.8.8",
    "64:ff9b::808:808",
  ],
  private: [
    "10.0.0.1",
    "172.16.0.1",
    "172.31.255.255",
    "192.168.0.1",
    "100.64.0.1",
    "192.0.0.8",
    "192.0.2.1",
    "192.88.99.1",
    "198.18.0.1",
    "198.51.100.1",
    "203.0.113.1",
    "224.0.0.1",
    "239.1.1.1",
    "240.0.0.1",
    "255.255.255.255",
    "fc00::1",
    "fd12::1",
    "fec0::1",
    "ff02::1",
    "2001:db8::1",
    "3fff::1",
    "5f00::1",
    "100::1",
    "2001:20::1",
    "2002:808:808::1",
    "::ffff:10.0.0.1",
    "64:ff9b::a00:1",
    "64:ff9b:1::808:808",
    "::8.8.8.8",
    "2001:0:4136:e378:8000:63bf:3fff:fdd2",
    "::ffff:0:808:808",
  ],
  loopback: [
    "127.0.0.1",
    "127.1.2.3",
    "0.0.0.0",
    "0.1.2.3",
    "::1",
    "::",
    "::ffff:7f00:1",
    "::127.0.0.1",
    "64:ff9b::7f00:1",
    "2002:7f00:1::",
    "::ffff:0:7f00:1",
  ],
  link_local: [
    "169.254.1.1",
    "fe80::1",
    "febf::1",
    "fe80::1%eth0",
    "::ffff:169.254.1.1",
    "64:ff9b::a9fe:101",
  ],
  metadata: [
    "169.254.169.254",
    "169.254.170.2",
    "168.63.129.16",
    "100.100.100.200",
    "192.0.0.192",
    "fd00:ec2::254",
    "fd20:ce::254",
    "::ffff:169.254.169.254",
    "64:ff9b::a9fe:a9fe",
    "2002:a9fe:a9fe::1",
    "64:ff9b:1::a9fe:a9fe",
    "::ffff:168.63.129.16",
  ],
};

for (const [kind, addresses] of Object.entries(KINDS)) {
  test(`addresses: ${kind}`, () => {
    for (const address of addresses) assert.is(addressKind(address), kind, address);
  });
}

test("addresses: an invalid address has no kind", () => {
  for (const text of ["", "localhost", "1.2.3", "1.2.3.4.5", "::g", "0x7f.1"])
    assert.is(addressKind(text), undefined, text);
});

test("patterns: *.d leaves out d, case and dots do not count", () => {
  assert.ok(matchesHost("a.d.test", ["*.D.test."]));
  assert.ok(matchesHost("b.a.d.test", ["*.d.test"]));
  assert.not(matchesHost("d.test", ["*.d.test"]));
  assert.not(matchesHost("xd.test", ["*.d.test"]));
  assert.ok(matchesHost("d.test", ["d.test"]));
  assert.not(matchesHost("a.d.test", ["d.test"]));
  assert.ok(matchesHost("xn--bcher-kva.test", ["bücher.test"]));
  assert.ok(matchesHost("::1", ["::1"]));
});

test("public hosts pass, and the check returns their addresses", async () => {
  const { url, addresses } = await strict.checkUrl("https://pub.test/path?q=1");
  assert.is(url.href, "https://pub.test/path?q=1");
  assert.equal(addresses, [{ address: "93.184.216.34", family: 4 }]);
  assert.is((await strict.checkUrl("http://pub6.test:8080/")).addresses[0]!.family, 6);
  assert.equal((await strict.checkUrl("about:blank")).addresses, []);
});

test("every spelling of a private address is refused", async () => {
  const spellings = [
    "http://127.0.0.1/",
    "http://2130706433/",
    "http://0177.0.0.1/",
    "http://0x7f.1/",
    "http://0x7f000001/",
    "http://127.1/",
    "http://0/",
    "http://017700000001/",
    "http://①②⑦.⓪.⓪.①/",
    "http://127。0。0。1/",
    "http://ⓛⓞⓒⓐⓛⓗⓞⓢⓣ/",
    "http:127.0.0.1",
    "http:///127.0.0.1/",
    "ht\ttp://127.0.0.1/",
    " http://127.0.0.1/",
    "http:\\\\127.0.0.1\\",
    "http://127.0.0.1./",
    "http://LOCALHOST./",
    "http://localhost/",
    "http://a.localhost/",
    "http://[::1]/",
    "http://[::]/",
    "http://[::ffff:7f00:1]/",
    "http://[::127.0.0.1]/",
    "http://[64:ff9b::7f00:1]/",
    "http://[2002:7f00:1::]/",
    "http://[fc00::1]/",
    "http://10.0.0.1/",
    "http://192.168.1.1/",
    "http://printer/",
    "http://nas.local/",
    "http://db.internal/",
    "http://host.docker.internal/",
    "http://inside.test/",
    "http://inside.test./",
    "http://mixed.test/",
    "http://loop.test/",
    "https://127.0.0.1/",
    "http://pub.test@127.0.0.1/",
  ];
  for (const url of spellings) {
    const error = await refusal(strict.checkUrl(url));
    assert.is(error.code, "navigation_blocked", url);
    assert.is(error.status, 403, url);
  }
});

test("metadata and link-local are refused under every policy", async () => {
  const targets = [
    "http://169.254.169.254/",
    "http://2852039166/",
    "http://0xa9fea9fe/",
    "http://[::ffff:169.254.169.254]/",
    "http://[64:ff9b::a9fe:a9fe]/",
    "http://168.63.129.16/",
    "http://100.100.100.200/",
    "http://192.0.0.192/",
    "http://[fd00:ec2::254]/",
    "http://[fd20:ce::254]/",
    "http://metadata.google.internal/",
    "http://METADATA.google.internal./",
    "http://metadata/",
    "http://rebind.test/",
    "http://169.254.7.7/",
    "http://[fe80::1]/",
  ];
  const loose = guardOf({
    allowPrivate: true,
    allowedHostnames: ["*", "169.254.169.254"],
    hostnameAllowlist: ["*"],
  });
  for (const url of targets)
    for (const guard of [strict, trusting, loose]) {
      assert.ok(
        ["metadata", "link_local"].includes((await reasonOf(guard.checkUrl(url))) as string),
        url,
      );
    }
});

test("own ports and debugging ports of this machine are refused under every policy", async () => {
  for (const url of [
    "http://127.0.0.1:18789/",
    "http://localhost:18791/",
    "http://[::1]:18789/",
    "http://0.0.0.0:18789/",
    "http://127.9.9.9:18800/",
    "http://[::ffff:7f00:1]:18899/json",
    "http://loop.test:18850/",
    "http://x.localhost:18789/",
  ])
    assert.is(await reasonOf(trusting.checkUrl(url)), "own_port", url);
  assert.ok(await trusting.checkUrl("http://127.0.0.1:18900/"));
  assert.ok(await trusting.checkUrl("http://127.0.0.1:3000/"));
  assert.ok(
    await strict.checkUrl("http://pub.test:18800/"),
    "somebody else's port 18800 is none of ours",
  );
});

test("schemes and userinfo", async () => {
  for (const url of [
    "file:///etc/passwd",
    "view-source:http://pub.test/",
    "chrome://version",
    "data:text/html,x",
    "javascript:1",
    "blob:http://pub.test/1",
    "filesystem:http://pub.test/x",
    "ftp://pub.test/",
    "ws://pub.test/",
    "about:srcdoc",
    "about:blank#x",
    "devtools://devtools/",
    "FILE:///etc",
  ])
    assert.is(await reasonOf(trusting.checkUrl(url)), "scheme", url);
  assert.is(await reasonOf(trusting.checkUrl("http://user:pw@pub.test/")), "userinfo");
  assert.is(await reasonOf(trusting.checkUrl("http://user@pub.test/")), "userinfo");
  const bad = await refusal(trusting.checkUrl("no url"));
  assert.is(bad.code, "invalid_request_error");
  assert.is(bad.status, 400);
});

test("hostnameAllowlist restricts, allowedHostnames exempts from the private check only", async () => {
  const listed = guardOf({ allowPrivate: true, hostnameAllowlist: ["*.d.test", "inside.test"] });
  assert.ok(await listed.checkUrl("http://sub.d.test/"));
  assert.ok(await listed.checkUrl("http://inside.test/"));
  assert.is(await reasonOf(listed.checkUrl("http://d.test/")), "not_allowlisted");
  assert.is(await reasonOf(listed.checkUrl("http://8.8.8.8/")), "not_allowlisted");
  const exempt = guardOf({
    allowPrivate: false,
    allowedHostnames: ["inside.test", "loop.test", "localdb"],
  });
  assert.ok(await exempt.checkUrl("http://inside.test/"));
  assert.ok(await exempt.checkUrl("http://localdb:5000/"));
  assert.is(await reasonOf(exempt.checkUrl("http://loop.test:18789/")), "own_port");
  assert.is(await reasonOf(exempt.checkUrl("http://mixed.test/")), "private_address");
  const both = guardOf({
    allowPrivate: false,
    hostnameAllowlist: ["pub.test"],
    allowedHostnames: ["inside.test"],
  });
  assert.is(await reasonOf(both.checkUrl("http://inside.test/")), "not_allowlisted");
});

test("an exact origin can be exempted, another port of it is not", async () => {
  const guard = guardOf({ allowPrivate: false, allowedOrigins: ["http://127.0.0.1:8080"] });
  assert.ok(await guard.checkUrl("http://127.0.0.1:8080/feed.xml"));
  assert.is(await reasonOf(guard.checkUrl("http://127.0.0.1:8081/")), "private_address");
  assert.is(await reasonOf(guard.checkUrl("https://127.0.0.1:8080/")), "private_address");
});

test("the host of a connection is checked like the host of a URL", async () => {
  assert.is(await reasonOf(strict.checkHost("0x7f.1", 443)), "private_address");
  assert.is(await reasonOf(strict.checkHost("::1", 443)), "private_address");
  assert.is(await reasonOf(strict.checkHost("[::1]", 443)), "private_address");
  assert.equal(await strict.checkHost("pub.test", 443), [{ address: "93.184.216.34", family: 4 }]);
  for (const host of ["a/b", "a@b", "", "a?b", "a b"])
    assert.is((await refusal(strict.checkHost(host, 80))).status, 400, host);
  assert.is((await refusal(strict.checkHost("pub.test", 0))).status, 400);
});

test("a name without addresses is not a refusal", async () => {
  const error = await refusal(strict.checkUrl("http://nowhere.test/"));
  assert.is(error.code, "name_not_resolved");
  assert.is(error.status, 502);
});

test("each check reads the policy again", async () => {
  let allowPrivate = false;
  const guard = createGuard({ policy: () => ({ allowPrivate }), resolve, ownPorts: () => [] });
  assert.is(await reasonOf(guard.checkUrl("http://10.0.0.1/")), "private_address");
  allowPrivate = true;
  assert.ok(await guard.checkUrl("http://10.0.0.1/"));
});

test.run();

import * as assert from "uvu/assert";
import { proxyFor } from "../../../plugins/egress/proxies/environment-proxy.ts";
import { test } from "../../support/suite.ts";

const HTTPS = "http://secure.proxy:3128";
const HTTP = "http://plain.proxy:8080";
const env = { HTTPS_PROXY: HTTPS, HTTP_PROXY: HTTP };
const through = (url: string, more: Record<string, string> = {}): string | undefined =>
  proxyFor(url, { ...env, ...more })?.origin;

test("the scheme selects the variable, lower case takes precedence, and empty values are ignored", () => {
  assert.is(through("https://api.example.com/v1"), HTTPS);
  assert.is(through("http://api.example.com/v1"), HTTP);
  assert.is(proxyFor("https://api.example.com", { HTTP_PROXY: HTTP }), undefined);
  assert.is(proxyFor("https://api.example.com", {}), undefined);
  assert.is(through("https://a.b", { https_proxy: "other:1" }), "http://other:1");
  assert.is(through("https://a.b", { https_proxy: " " }), HTTPS);
  assert.is(through("ws://a.b"), undefined);
});

test("a proxy's address: with credentials, without a scheme, over TLS; an error about anything else leaves out its value", () => {
  const url = proxyFor("https://a.b", { HTTPS_PROXY: "https://me:s3cret@p.example" })!;
  assert.equal(
    [url.protocol, url.username, url.password, url.hostname],
    ["https:", "me", "s3cret", "p.example"],
  );
  assert.is(through("https://a.b", { HTTPS_PROXY: "10.0.0.1:3128" }), "http://10.0.0.1:3128");
  assert.is(through("https://a.b", { HTTPS_PROXY: "[fd00::1]:3128" }), "http://[fd00::1]:3128");
  for (const bad of [
    "socks5://s3cret@h:1",
    "http://",
    "http://h/s3cret",
    "http://h:99999",
    "http://h?s3cret",
    "a b",
  ]) {
    try {
      proxyFor("https://a.b", { HTTPS_PROXY: bad });
      assert.unreachable(bad);
    } catch (error) {
      assert.match((error as Error).message, /^HTTPS_PROXY /);
      assert.not.match((error as Error).message, "s3cret");
    }
  }
});

test("NO_PROXY: names with what is below them, ports, addresses, networks, everything", () => {
  const rows: [string, string, boolean][] = [
    ["example.com", "https://example.com/", true],
    ["example.com", "https://a.b.example.com/", true],
    ["example.com", "https://notexample.com/", false],
    ["EXAMPLE.com.", "https://Example.COM./", true],
    [".example.com", "https://a.example.com/", true],
    ["*.example.com", "https://a.example.com/", true],
    ["example.com:8443", "https://example.com:8443/", true],
    ["example.com:8443", "https://example.com/", false],
    ["example.com:443", "https://example.com/", true],
    ["a.b, ,\tc.d  e.f", "https://c.d/", true],
    ["a.b, ,\tc.d  e.f", "https://e.f/", true],
    ["*", "https://anything.example/", true],
    ["10.0.0.0/8", "http://10.1.2.3/", true],
    ["10.0.0.0/8", "http://11.1.2.3/", false],
    ["10.0.0.0/8", "http://0xa010203/", true],
    ["10.0.0.0/8", "http://[::ffff:10.1.2.3]/", true],
    ["10.0.0.0/8", "http://ten.example/", false],
    ["10.1.2.3", "http://10.1.2.3:81/", true],
    ["10.1.2.3:80", "http://10.1.2.3:81/", false],
    ["fd00::/8", "http://[fd12::1]/", true],
    ["fd12::1", "http://[fd12:0::1]/", true],
    ["[fd12::1]:81", "http://[fd12::1]:81/", true],
    ["[fd12::1]:81", "http://[fd12::1]/", false],
    ["10.0.0.0/99,/,:,[,]", "http://10.1.2.3/", false],
  ];
  for (const [list, url, direct] of rows) {
    assert.is(through(url, { NO_PROXY: list }) === undefined, direct, `${url} with ${list}`);
    assert.is(
      through(url, { no_proxy: list, NO_PROXY: "*" }) === undefined,
      direct,
      `${url} with no_proxy ${list}`,
    );
  }
});

test("loopback is reached directly, whatever the environment says", () => {
  for (const host of [
    "localhost",
    "api.localhost",
    "127.0.0.1",
    "127.9.9.9",
    "[::1]",
    "[::ffff:127.0.0.1]",
    "0x7f.1",
  ])
    assert.is(through(`http://${host}:8000/v1`), undefined, host);
});

test.run();

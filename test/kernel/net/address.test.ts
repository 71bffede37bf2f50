import { createThrottle } from "portico";
import type { IncomingMessage } from "node:http";
import { test } from "../../support/suite.ts";
import * as assert from "uvu/assert";
import { findCallerAddress, isLoopback, parseNetworks } from "../../../kernel/net/address.ts";

function from(peer: string, forwarded?: string): IncomingMessage {
  const headers = forwarded === undefined ? {} : { "x-forwarded-for": forwarded };
  return { socket: { remoteAddress: peer }, headers } as unknown as IncomingMessage;
}

test("X-Forwarded-For counts only behind a trusted proxy, from the right", () => {
  const proxies = ["10.0.0.0/8", "192.0.2.9", "2001:db8::/32"];
  const rows: [string, string | undefined, string][] = [
    ["203.0.113.1", undefined, "203.0.113.1"],
    ["::ffff:203.0.113.1", undefined, "203.0.113.1"],
    ["203.0.113.1", "1.1.1.1", "203.0.113.1"],
    ["10.1.2.3", undefined, "10.1.2.3"],
    ["10.1.2.3", "198.51.100.7", "198.51.100.7"],
    ["::ffff:10.1.2.3", "198.51.100.7", "198.51.100.7"],
    ["10.1.2.3", "6.6.6.6, 198.51.100.7", "198.51.100.7"],
    ["10.1.2.3", "6.6.6.6, 198.51.100.7, 10.9.9.9, 192.0.2.9", "198.51.100.7"],
    ["10.1.2.3", "10.4.4.4", "10.4.4.4"],
    ["10.1.2.3", "unknown", "unknown"],
    ["10.1.2.3", "6.6.6.6, nonsense, 10.9.9.9", "unknown"],
    ["10.1.2.3", "198.51.100.7:4711", "198.51.100.7"],
    ["10.1.2.3", "[2001:db9::1]:443", "2001:db9::1"],
    ["2001:db8::5", "2001:db9::1", "2001:db9::1"],
    ["10.1.2.3", "", "10.1.2.3"],
    ["192.0.2.8", "1.1.1.1", "192.0.2.8"],
  ];
  for (const [peer, forwarded, expected] of rows) {
    assert.is(findCallerAddress(from(peer, forwarded), proxies), expected, `${peer} ${forwarded}`);
  }
  assert.is(findCallerAddress(from("203.0.113.1", "1.1.1.1"), []), "203.0.113.1");
  assert.not.ok(parseNetworks(proxies).contains("unknown"));
});

test("an invalid address or range is named in the error", () => {
  for (const entry of ["proxy.lan", "10.0.0.0/33", "10.0.0.0/", "10.0.0.0/8/8", "::/129", ""]) {
    assert.throws(
      () => parseNetworks(["10.0.0.0/8", entry]),
      (error: Error) => error.message.includes(`"${entry}"`),
    );
  }
});

test("only exact loopback addresses count as loopback", () => {
  for (const ip of ["127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1"])
    assert.ok(isLoopback(ip), ip);
  for (const ip of ["", "0.0.0.0", "::", "127.evil.test", "128.0.0.1", "::ffff:10.0.0.1", "*"]) {
    assert.not.ok(isLoopback(ip), ip);
  }
});

test("the throttle slides, and what it refuses does not lengthen the wait", () => {
  let time = 0;
  const throttle = createThrottle({ limit: 3, windowMs: 1000, now: () => time });
  for (const at of [0, 400, 800]) {
    time = at;
    assert.not(throttle.fail("a"));
  }
  assert.is(throttle.fail("a")?.headers?.["retry-after"], "1");
  assert.not(throttle.fail("b"));
  time = 1001;
  assert.not(throttle.fail("a"), "the first has left the window");
  assert.is(throttle.fail("a")?.headers?.["retry-after"], "1");
});

test("an IPv6 caller is identified by its /64 network", () => {
  const throttle = createThrottle({ limit: 1 });
  assert.not(throttle.fail("2001:db8:1:2::1"));
  assert.ok(throttle.fail("2001:0db8:1:2:ffff::7"));
  assert.ok(throttle.fail("2001:db8:1:2:3:4:5:6%eth0"));
  assert.not(throttle.fail("2001:db8:1:3::1"));
  assert.not(throttle.fail("::1"));
  assert.not(throttle.fail("192.0.2.1"));
  assert.not(throttle.fail("192.0.2.2"));
});

test("the throttle forgets the oldest addresses", () => {
  const throttle = createThrottle({ limit: 1, maxAddresses: 2 });
  throttle.fail("a");
  throttle.fail("b");
  throttle.fail("c");
  assert.not(throttle.fail("a"), "forgotten");
  assert.ok(throttle.fail("c"));
});

test.run();

import { test } from "../../../support/suite.ts";
import * as assert from "uvu/assert";
import { ask, codeOf, exchange, head } from "../../../support/raw-http.ts";
import { stopRoutes, startRoutes } from "../../../support/routes.ts";

test.after(stopRoutes);

const bearer = { authorization: "Bearer right-token" };

async function guarded(options: Parameters<typeof startRoutes>[0] = {}) {
  const gateway = await startRoutes(options);
  let calls = 0;
  const handler = () => ({ calls: ++calls });
  gateway.route("GET", "/item", { access: "gateway" }, handler);
  gateway.route("POST", "/item", { access: "gateway" }, handler);
  return Object.assign(gateway, { calls: () => calls });
}

test("requests that a hostile page can make a browser send are refused, with and without the token", async () => {
  const gateway = await guarded();
  const { port } = gateway;
  const rows: [string, string, Record<string, string>, string][] = [
    ["image, link, iframe", "GET", { "sec-fetch-site": "cross-site" }, "forbidden_origin"],
    [
      "no-cors POST",
      "POST",
      { origin: "http://evil.test", "sec-fetch-site": "cross-site" },
      "forbidden_origin",
    ],
    [
      "preflight of a JSON POST",
      "OPTIONS",
      {
        origin: "http://evil.test",
        "sec-fetch-site": "cross-site",
        "access-control-request-method": "POST",
      },
      "forbidden_origin",
    ],
    [
      "sandboxed iframe",
      "POST",
      { origin: "null", "sec-fetch-site": "cross-site" },
      "forbidden_origin",
    ],
    [
      "old browser without Sec-Fetch-Site",
      "POST",
      { origin: "http://evil.test" },
      "forbidden_origin",
    ],
    ["rebound name, GET", "GET", { host: `evil.test:${port}` }, "forbidden_host"],
    [
      "rebound name, POST",
      "POST",
      { host: `evil.test:${port}`, origin: `http://evil.test:${port}` },
      "forbidden_host",
    ],
    [
      "page on another loopback port",
      "POST",
      { origin: "http://127.0.0.1:1", "sec-fetch-site": "same-site" },
      "forbidden_origin",
    ],
    [
      "page on localhost",
      "POST",
      { origin: "http://localhost:1", "sec-fetch-site": "cross-site" },
      "forbidden_origin",
    ],
    ["same-site image", "GET", { "sec-fetch-site": "same-site" }, "forbidden_origin"],
    ["two values", "GET", { "sec-fetch-site": "same-origin, cross-site" }, "forbidden_origin"],
    ["another loopback spelling", "GET", { host: `127.1:${port}` }, "forbidden_host"],
    ["the right name with another port", "GET", { host: "127.0.0.1:1" }, "forbidden_host"],
    [
      "an extension",
      "GET",
      { origin: "chrome-extension://aaaabbbbccccddddeeeeffffgggghhhh" },
      "forbidden_origin",
    ],
  ];
  for (const [what, method, headers, code] of rows) {
    for (const credentials of [bearer, {}]) {
      const response = await ask(gateway, method, "/item", { ...credentials, ...headers });
      assert.is(response.status, 403, what);
      assert.is(codeOf(response), code, what);
      assert.not.ok(response.headers["access-control-allow-origin"], what);
      assert.ok(response.headers["x-request-id"], what);
    }
  }
  assert.is(gateway.calls(), 0);
});

test("the loopback names and the server's own pages pass", async () => {
  const gateway = await guarded();
  const { port } = gateway;
  const rows: Record<string, string>[] = [
    {},
    { host: `localhost:${port}` },
    { host: `LOCALHOST:${port}` },
    { host: `[::1]:${port}` },
    { "sec-fetch-site": "none" },
    { "sec-fetch-site": "same-origin" },
    { origin: `http://127.0.0.1:${port}`, "sec-fetch-site": "same-origin" },
    { host: "localhost" },
    { host: "127.0.0.1" },
    { host: "[::1]" },
    { host: `localhost:${port}`, origin: `http://localhost:${port}` },
  ];
  for (const headers of rows) {
    const response = await ask(gateway, "GET", "/item", { ...bearer, ...headers });
    assert.is(response.status, 200, JSON.stringify(headers));
    assert.not.ok(response.headers["access-control-allow-origin"]);
  }
});

test("guards hold on paths that do not exist, too", async () => {
  const gateway = await guarded();
  assert.is((await ask(gateway, "GET", "/nothing", { host: "evil.test" })).status, 403);
});

test("a request needs exactly one Host", async () => {
  const { port } = await guarded();
  const own: [string, string] = ["host", `127.0.0.1:${port}`];
  for (const headers of [[], [own, ["host", "evil.test"]], [["host", "evil.test"], own]] as [
    string,
    string,
  ][][]) {
    const response = await exchange(port, head("GET", "/item", headers));
    assert.ok(response.status === 400 || response.status === 403, `${response.status}`);
    assert.ok(response.headers["x-request-id"]);
  }
});

test("in a request with an absolute URL, the URL's host counts", async () => {
  const gateway = await guarded();
  const evil = await ask(gateway, "GET", "http://evil.test/item", bearer);
  assert.is(codeOf(evil), "forbidden_host");
  const own = await ask(gateway, "GET", `http://127.0.0.1:${gateway.port}/item?a=1`, bearer);
  assert.is(own.status, 200);
});

test("allowedHosts adds names, with any port or with one, and applies at once", async () => {
  const gateway = await guarded();
  assert.is((await ask(gateway, "GET", "/item", { ...bearer, host: "gw.example" })).status, 403);
  await gateway.set("allowedHosts", ["gw.example", "other.example:8443"]);
  assert.is((await ask(gateway, "GET", "/item", { ...bearer, host: "gw.example" })).status, 200);
  assert.is(
    (await ask(gateway, "GET", "/item", { ...bearer, host: "GW.example:9000" })).status,
    200,
  );
  assert.is(
    (await ask(gateway, "GET", "/item", { ...bearer, host: "other.example:8443" })).status,
    200,
  );
  assert.is((await ask(gateway, "GET", "/item", { ...bearer, host: "other.example" })).status, 403);
  // A page of the gateway's own, behind a proxy that speaks TLS.
  const page = {
    ...bearer,
    host: "gw.example",
    origin: "https://gw.example",
    "sec-fetch-site": "same-origin",
  };
  assert.is((await ask(gateway, "GET", "/item", page)).status, 200);
  await gateway.set("allowedHosts", []);
  assert.is((await ask(gateway, "GET", "/item", { ...bearer, host: "gw.example" })).status, 403);
});

test("a server on all interfaces takes any Host until allowedHosts is set", async () => {
  const gateway = await guarded({ gateway: { bind: "0.0.0.0" } });
  assert.is((await ask(gateway, "GET", "/item", { ...bearer, host: "gateway.lan" })).status, 200);
  assert.is(
    (
      await ask(gateway, "GET", "/item", {
        ...bearer,
        host: "gateway.lan",
        origin: "http://evil.test",
      })
    ).status,
    403,
  );
  await gateway.set("allowedHosts", ["gateway.lan"]);
  assert.is((await ask(gateway, "GET", "/item", { ...bearer, host: "gateway.lan" })).status, 200);
  assert.is((await ask(gateway, "GET", "/item", { ...bearer, host: "evil.test" })).status, 403);
  assert.is((await ask(gateway, "GET", "/item", bearer)).status, 200);
});

test("an allowed origin gets CORS headers and preflights before credentials; others get none", async () => {
  const gateway = await guarded({ settings: { allowedOrigins: ["https://app.example/", "null"] } });
  const page = { origin: "https://app.example", "sec-fetch-site": "cross-site" };
  const preflight = await ask(gateway, "OPTIONS", "/item", {
    ...page,
    "access-control-request-method": "POST",
    "access-control-request-headers": "authorization,x-custom",
  });
  assert.is(preflight.status, 204);
  assert.is(preflight.body, "");
  assert.is(preflight.headers["access-control-allow-origin"], "https://app.example");
  assert.match(preflight.headers["access-control-allow-methods"] ?? "", "POST");
  assert.is(preflight.headers["access-control-allow-headers"], "authorization,x-custom");
  assert.match(preflight.headers["vary"] ?? "", "Origin");

  const response = await ask(gateway, "GET", "/item", { ...bearer, ...page });
  assert.is(response.status, 200);
  assert.is(response.headers["access-control-allow-origin"], "https://app.example");
  const refused = await ask(gateway, "GET", "/item", page);
  assert.is(refused.status, 401);
  assert.is(
    refused.headers["access-control-allow-origin"],
    "https://app.example",
    "a page must be able to read why",
  );

  for (const origin of [
    "https://app.example.evil.test",
    "http://app.example",
    "https://app.example:444",
    "null",
  ]) {
    assert.is((await ask(gateway, "GET", "/item", { ...bearer, origin })).status, 403, origin);
  }
});

test("OPTIONS that is no preflight is an ordinary request", async () => {
  const gateway = await guarded();
  const response = await ask(gateway, "OPTIONS", "/item");
  assert.is(response.status, 405);
  assert.is(response.headers["allow"], "GET, HEAD, POST");
  assert.is((await ask(gateway, "OPTIONS", "/nothing")).status, 404);
});

test.run();

import { suite } from "../../../support/suite.ts";
import * as assert from "uvu/assert";
import { failed, type SharedBrowser, sharedBrowser, type Site, startSite } from "../support.ts";

const test = suite("browser: one input from query, body and path");
let browser: SharedBrowser;
let site: Site;

test.before(async () => {
  site = await startSite({
    "/": "<title>Page</title><button>Press</button><input aria-label=Name>",
  });
  browser = await sharedBrowser();
  await browser.visit(site.url);
});
test.after(async () => {
  await browser.stop();
  await site.stop();
});

test("null in a body means unset: the value of the query is used", async () => {
  // Neither of these profiles runs; the default one does.
  for (const path of ["/cookies/clear", "/set/offline", "/storage/local/clear", "/trace/start"])
    failed(
      await browser.post(`${path}?profile=usual`, { profile: null, offline: false }),
      409,
      "browser_not_running",
    );
  failed(
    await browser.post("/cookies/clear?profile=nobody", { profile: null }),
    404,
    "profile_not_found",
  );
  failed(
    await browser.post("/act?targetId=FFFF", { targetId: null, kind: "press", key: "a" }),
    404,
    "tab_not_found",
  );
  const response = await browser.post("/navigate", {
    url: site.url,
    waitUntil: null,
    timeoutMs: null,
  });
  assert.is(response.status, 200);
});

test("a ref that is null is refused, and no other element is used instead", async () => {
  const { body } = await browser.act("evaluate", {
    fn: "window.keys = 0, addEventListener('keydown', () => keys++), 1",
  });
  assert.is(body.result, 1);
  for (const fields of [
    { kind: "press", key: "a", ref: null },
    { kind: "evaluate", fn: "1", ref: null },
    { kind: "click", ref: null },
    { kind: "type", text: "x", ref: null },
    { kind: "drag", startRef: null, endRef: null },
  ])
    failed(await browser.post("/act", fields), 400, "invalid_request_error");
  failed(await browser.post("/screenshot", { ref: null }), 400, "invalid_request_error");
  failed(
    await browser.post("/hooks/file-chooser", { ref: null, paths: ["a.txt"] }),
    400,
    "invalid_request_error",
  );
  const batch = await browser.act("batch", { actions: [{ kind: "press", key: "a", ref: null }] });
  assert.equal(
    [batch.body.ok, batch.body.result[0].error.code, batch.body.result[0].error.param],
    [false, "invalid_request_error", "actions[0].ref"],
  );
  assert.is((await browser.act("evaluate", { fn: "keys" })).body.result, 0);
});

test("an unknown tab is 404 even on the routes for the whole browser", async () => {
  const targetId = "F".repeat(32);
  for (const [path, fields] of [
    ["/set/offline", { offline: true }],
    ["/set/headers", { headers: { "x-a": "1" } }],
    ["/set/geolocation", { latitude: 1, longitude: 1 }],
    ["/set/device", { name: "Pixel 7" }],
    ["/cookies/clear", {}],
    ["/trace/start", {}],
  ] as const)
    failed(await browser.post(path, { ...fields, targetId }), 404, "tab_not_found");
  failed(await browser.get("/cookies", { targetId }), 404, "tab_not_found");
  assert.is((await browser.act("evaluate", { fn: "navigator.onLine" })).body.result, true);
});

test("each member has one value: the body overrides the query, and the first query value is used", async () => {
  const missing = async (path: string, body: object) =>
    failed(await browser.post(path, body), 404, "profile_not_found", "nobody");
  await missing("/cookies/clear?profile=nobody&profile=usual", {});
  await missing("/cookies/clear?profile=nobody", { profile: null });
  await missing("/cookies/clear?profile=usual", { profile: "nobody" });
  for (const [path, body] of [
    ["/cookies/clear?profile=", {}],
    ["/cookies/clear?profile=nobody", { profile: "" }],
    ["/cookies/clear?profile=nobody", { profile: ["nobody"] }],
    ["/cookies/clear?timeoutMs=", {}],
    ["/cookies/clear?timeoutMs=soon", { timeoutMs: null }],
  ] as const)
    failed(await browser.post(path, body), 400, "invalid_request_error");
  failed(
    await browser.post(
      "/cookies/clear?profile=nobody",
      JSON.parse('{"__proto__":{"profile":"x"}}'),
    ),
    404,
    "profile_not_found",
    "nobody",
  );
});

test.run();

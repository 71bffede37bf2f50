import { suite } from "../../../support/suite.ts";
import * as assert from "uvu/assert";
import { type BrowserGateway, type Site, startBrowser, startSite } from "../support.ts";

const test = suite("browser: without the automation library");
let browser: BrowserGateway;
let site: Site;

test.before(async () => {
  process.env["PORTICO_BROWSER_LIBRARY"] = "absent";
  site = await startSite({
    "/": "<title>Plain</title><h1>plain</h1><button>Go</button><div style='height:3000px'></div>",
  });
  browser = await startBrowser();
});
test.after(async () => {
  delete process.env["PORTICO_BROWSER_LIBRARY"];
  await browser.stop();
  await site.stop();
});

test("the browser starts, and tabs, aria snapshots and plain screenshots work", async () => {
  assert.is((await browser.get("/")).body.library, false);
  const opened = await browser.post("/tabs/open", { url: site.url });
  assert.equal([opened.status, opened.body.title, opened.body.url], [200, "Plain", `${site.url}/`]);
  const { body } = await browser.get("/snapshot", { format: "aria" });
  assert.ok(
    body.nodes.some(
      ({ role, name }: { role: string; name: string }) => role === "button" && name === "Go",
    ),
  );
  for (const query of [{}, { mode: "default" }, { limit: 50 }])
    assert.is((await browser.get("/snapshot", query)).body.format, "aria", "it is what can be had");
  const shot = (await browser.post("/screenshot")).body;
  assert.equal([shot.ok, shot.type, shot.width], [true, "png", 1280]);
  assert.ok(
    (await browser.post("/screenshot", { fullPage: true, type: "jpeg" })).body.height > 3000,
  );
  assert.is(
    (await browser.post("/tabs/focus", { targetId: opened.body.targetId.slice(0, 8) })).status,
    200,
  );
  assert.is((await browser.get("/tabs")).body.tabs.length, 2);
  assert.is((await browser.del(`/tabs/${opened.body.targetId}`)).status, 200);
});

test("an operation that needs the library is 501 and names the library", async () => {
  const calls: [string, string, unknown?][] = [
    ["POST", "/navigate", { url: site.url }],
    ["POST", "/act", { kind: "press", key: "a" }],
    ["GET", "/snapshot?format=ai"],
    ["GET", "/snapshot?mode=efficient"],
    ["GET", "/snapshot?labels=true"],
    ["GET", "/snapshot?interactive=true"],
    ["GET", "/snapshot?format=aria&compact=true"],
    ["POST", "/screenshot", { ref: 1 }],
    ["POST", "/pdf"],
    ["GET", "/cookies"],
    ["POST", "/set/offline", { offline: true }],
    ["POST", "/set/device", { name: "iPhone 14" }],
    ["POST", "/trace/start"],
    ["POST", "/download", { ref: 1 }],
    ["POST", "/highlight", { ref: 1 }],
  ];
  for (const [method, path, body] of calls) {
    const response = method === "GET" ? await browser.get(path) : await browser.post(path, body);
    assert.equal(
      [path, response.status, response.body.error?.code],
      [path, 501, "library_unavailable"],
    );
    assert.match(response.body.error.message, "not available");
  }
});

test.run();

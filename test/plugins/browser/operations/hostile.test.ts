/** Snapshots that hide the name of an element, requests that outlive their tab, devices with inconsistent identities. */
import { once } from "node:events";
import * as assert from "uvu/assert";
import { suite } from "../../../support/suite.ts";
import { until } from "../../../support/until.ts";
import {
  type Answer,
  type SharedBrowser,
  failed,
  type Site,
  sharedBrowser,
  startSite,
} from "../support.ts";

const test = suite("browser: misleading pages and requests");
let browser: SharedBrowser;
let site: Site;
const identities: Record<string, Record<string, unknown>> = {};

test.before(async () => {
  site = await startSite({
    "/": "<title>One</title><p>staying</p><button>Go</button>",
    "/names": `<a href="/a"><h3>Title</h3><p>and text</p></a><a href="/b"><img alt="Logo" src="x"></a>
      <a href="/c">plain <em>em</em> text</a><button><div>deep <ul><li>one</li></ul></div></button>
      <button aria-label="Close"><i>x</i></button><div role="button" tabindex="0"><p>Role</p><p>button</p></div>
      <div style="cursor:pointer" onclick="1"><p>Click</p><p>me</p></div>
      <a href="/d"><h4><span>Nested</span> <b>bold</b></h4></a><a href="/n"><p>[ref=99] x</p></a>
      <ul role="tablist"><li role="tab"><p>Tab</p> <p>two</p></li></ul>`,
    "/headers": (req, res) => {
      identities[String(req.headers["user-agent"])] = req.headers;
      res.writeHead(200, { "content-type": "text/html" }).end("<title>headers</title>");
    },
  });
  browser = await sharedBrowser();
  await browser.visit(site.url);
});
test.after(async () => {
  await browser.stop();
  await site.stop();
});

test("a flat view has the name of each element, even if its children contain the text", async () => {
  await browser.visit(`${site.url}/names`);
  for (const query of [
    { interactive: true },
    { mode: "efficient" },
    { interactive: true, depth: 1000 },
  ]) {
    const { snapshot, refs } = (await browser.get("/snapshot", query)).body;
    for (const line of [
      'link "Title and text"',
      'link "Logo"',
      'link "plain em text"',
      'button "deep one"',
      'button "Close"',
      'button "Role button"',
      'link "Nested bold"',
      'tab "Tab two"',
      'link "(ref=99) x"',
    ])
      assert.ok(snapshot.includes(line), `${line} is missing in:\n${snapshot}`);
    assert.match(snapshot, /generic \[ref=e\d+\] \[cursor=pointer\]: Click me/);
    const names = Object.values(refs as Record<string, { name?: string }>).map(({ name }) => name);
    assert.ok(names.includes("Title and text") && names.includes("Logo"));
  }
  assert.match(
    (await browser.get("/snapshot")).body.snapshot,
    /- link \[ref=\d+\]/,
    "a tree does not say it twice",
  );
});

test("a requested format overrides the defaults, and labels need refs", async () => {
  const format = async (query: Record<string, unknown>): Promise<unknown> => {
    const { body } = await browser.get("/snapshot", query);
    return [body.format, body.mode, body.nodes !== undefined];
  };
  assert.equal(await format({ mode: "default" }), ["ai", "efficient", false]);
  assert.equal(await format({ mode: "default", format: "aria" }), ["aria", undefined, true]);
  assert.equal(await format({ mode: "default", format: "ai" }), ["ai", "ai", false]);
  assert.equal(await format({ format: "aria" }), ["aria", undefined, true]);
  assert.equal(await format({ format: "aria", interactive: false, compact: false }), [
    "aria",
    undefined,
    true,
  ]);
  assert.equal(await format({ format: "aria", interactive: true }), ["ai", "role", false]);
  for (const query of [{}, { mode: "default" }, { interactive: true }, { mode: "efficient" }])
    failed(
      await browser.get("/snapshot", { format: "aria", labels: true, ...query }),
      400,
      "invalid_request_error",
      "labels",
    );
});

test("/tabs/open needs an address", async () => {
  const before = (await browser.get("/tabs")).body.tabs.length;
  for (const body of [{}, { url: "" }, { url: null }, { url: 7 }])
    failed(await browser.post("/tabs/open", body), 400, "invalid_request_error");
  assert.is((await browser.get("/tabs")).body.tabs.length, before);
});

test("an emulated device is consistent: client hints, screen, platform", async () => {
  const probe = `({ w: screen.width, h: screen.height, platform: navigator.platform,
    mobile: navigator.userAgentData && navigator.userAgentData.mobile, type: screen.orientation.type })`;
  const look = async () => {
    await browser.visit(`${site.url}/headers`);
    const { result } = (await browser.act("evaluate", { fn: probe })).body;
    const agent = (await browser.act("evaluate", { fn: "navigator.userAgent" })).body.result;
    const headers = identities[agent]!;
    return {
      ...result,
      hints: [headers["sec-ch-ua-mobile"], headers["sec-ch-ua-platform"], headers["sec-ch-ua"]],
    };
  };
  const before = await look();
  assert.is((await browser.post("/set/device", { name: "Pixel 7" })).status, 200);
  const pixel = await look();
  assert.equal([pixel.w, pixel.h, pixel.platform, pixel.mobile], [412, 915, "Linux armv81", true]);
  assert.equal(pixel.hints.slice(0, 2), ["?1", '"Android"']);
  assert.match(pixel.hints[2], /"Chromium";v="\d+"/);
  assert.is(pixel.type, "portrait-primary");
  await browser.post("/set/device", { name: "iPhone 14" });
  const phone = await look();
  assert.equal(
    [phone.w, phone.h, phone.platform, ...phone.hints.slice(0, 2)],
    [390, 844, "iPhone", "?1", '"iOS"'],
  );
  await browser.post("/set/device", { name: "Desktop Chrome" });
  const desktop = await look();
  assert.equal(
    [desktop.w, desktop.h, ...desktop.hints.slice(0, 2)],
    [1920, 1080, "?0", '"Windows"'],
  );
  await browser.post("/set/device", { clear: true });
  assert.equal(await look(), before);
  await browser.post("/set/locale", { locale: "de-DE" });
  assert.equal(
    (await look()).hints.slice(0, 2),
    before.hints.slice(0, 2),
    "a locale takes no hints away",
  );
  await browser.post("/set/locale", { clear: true });
});

/** Requests that would wait for a minute, once they are under way in a fresh tab. */
async function waiting(): Promise<{ targetId: string; answers: Promise<Answer>[] }> {
  const { targetId } = (await browser.post("/tabs/open", { url: site.url })).body;
  const waits: Record<string, unknown>[] = [
    { text: "never" },
    { textGone: "staying" },
    { url: "**/never" },
    { fn: "false" },
    { fn: "new Promise(() => {})" },
    { timeMs: 50_000 },
  ];
  const common = { targetId, timeoutMs: 50_000 };
  const responses = [
    ...waits.map((fields) => browser.act("wait", { ...fields, ...common })),
    browser.act("evaluate", { fn: "new Promise(() => {})", ...common }),
    browser.post("/wait/download", common),
    browser.post("/response/body", { url: "**/never", ...common }),
  ];
  // Their turn has come once one that was asked for later has ended.
  await browser.act("wait", { timeMs: 100, targetId });
  return { targetId, answers: responses };
}

const endedBy = (response: Answer): void =>
  assert.ok(
    [404, 409].includes(response.status) &&
      ["tab_not_found", "browser_not_running"].includes(response.body.error.code),
    JSON.stringify(response.body),
  );

test("waiting requests end at once when their tab is closed or crashes", async () => {
  const closed = await waiting();
  await browser.del(`/tabs/${closed.targetId}`);
  for (const response of await Promise.all(closed.answers)) endedBy(response);
  const crashed = await waiting();
  const tabs = await import("ws").then(({ WebSocket }) => WebSocket);
  const { cdpUrl } = (await browser.get("/")).body;
  const socket = new tabs(
    `${cdpUrl.replace("http", "ws")}/devtools/page/${crashed.targetId}?token=${browser.gateway.token}`,
  );
  await once(socket, "open");
  socket.send(JSON.stringify({ id: 1, method: "Page.crash" }));
  for (const response of await Promise.all(crashed.answers)) endedBy(response);
  failed(
    await browser.act("wait", { textGone: "staying", targetId: crashed.targetId }),
    404,
    "tab_not_found",
  );
  socket.terminate();
});

test("waiting requests end at once when their browser is stopped or dies", async () => {
  const stopped = await waiting();
  await browser.post("/stop");
  for (const response of await Promise.all(stopped.answers)) endedBy(response);
  await browser.post("/start");
  const { pid } = (await browser.get("/")).body;
  const killed = await waiting();
  process.kill(pid, "SIGKILL");
  for (const response of await Promise.all(killed.answers)) endedBy(response);
  await until("the end to be noticed", async () => !(await browser.get("/")).body.running);
});

test.run();

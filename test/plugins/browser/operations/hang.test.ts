import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { suite } from "../../../support/suite.ts";
import * as assert from "uvu/assert";
import { PATIENCE_MS, until } from "../../../support/until.ts";
import { startDifficult } from "./difficult-pages.ts";
import { type Answer, type SharedBrowser, failed, type Site } from "../support.ts";

const test = suite("browser: pages that hang, open dialogs and open windows");
let browser: SharedBrowser;
let site: Site;

test.before(async () => {
  ({ browser, site } = await startDifficult());
});
test.after(async () => {
  await browser.stop();
  await site.stop();
});

test("a page that hangs is 504 in time, and other tabs are not affected", async () => {
  const good = (await browser.post("/tabs/open", { url: site.url })).body.targetId;
  const bad = (await browser.post("/tabs/open", { url: `${site.url}/loop` })).body.targetId;
  const ref = await browser.ref("Freeze");
  // It takes a core until it is closed: of the first limit within which the click comes to the page.
  for (let timeoutMs = 200; !site.hits.includes("/freezes"); timeoutMs *= 4)
    failed(await browser.act("click", { ref, targetId: bad, timeoutMs }), 504, "timeout");
  const hung = Promise.all([
    browser.get("/snapshot", { targetId: bad, timeoutMs: 250 }),
    browser.post("/screenshot", { targetId: bad, timeoutMs: 250 }),
    browser.act("evaluate", { fn: "1", targetId: bad, timeoutMs: 250 }),
    browser.act("press", { key: "a", targetId: bad, timeoutMs: 250 }),
    browser.get("/storage/local", { targetId: bad, timeoutMs: 250 }),
  ]);
  assert.is((await browser.get("/snapshot", { targetId: good })).status, 200);
  assert.is((await browser.act("evaluate", { fn: "6 * 7", targetId: good })).body.result, 42);
  assert.is((await browser.get("/tabs")).status, 200);
  for (const response of await hung) failed(response, 504, "timeout");
  assert.is((await browser.del(`/tabs/${bad}`)).status, 200);
  failed(
    await browser.post("/tabs/open", { url: `${site.url}/hang`, timeoutMs: 800 }),
    504,
    "timeout",
  );
  const { targetId } = await until("its tab", async () =>
    (await browser.get("/tabs")).body.tabs.find(({ url }: { url: string }) =>
      url.endsWith("/hang"),
    ),
  );
  assert.is((await browser.del(`/tabs/${targetId}`)).status, 200);
  await browser.del(`/tabs/${good}`);
});

const isFreeze = (path: string): boolean => path === "/freezes";

test("a page that hangs can be left: by navigating, and after an evaluation without end", async () => {
  const freezes: (() => Promise<(limit: object) => Promise<Answer>>)[] = [
    async () => {
      const ref = await browser.ref("Freeze");
      return (limit) => browser.act("click", { ref, ...limit });
    },
    async () => (limit) =>
      browser.act("evaluate", {
        fn: "() => { navigator.sendBeacon('/freezes'); for (;;); }",
        ...limit,
      }),
  ];
  for (const prepare of freezes) {
    await browser.visit(`${site.url}/loop`);
    const freeze = await prepare();
    const frozen = site.hits.filter(isFreeze).length;
    // As above: of the first limit within which it comes to the page.
    for (let timeoutMs = 200; site.hits.filter(isFreeze).length === frozen; timeoutMs *= 4)
      failed(await freeze({ timeoutMs }), 504, "timeout");
    assert.is((await browser.post("/navigate", { url: site.url })).status, 200);
    assert.is((await browser.act("evaluate", { fn: "6 * 7" })).body.result, 42);
  }
});

test("a page can be left where the second press of a double click hangs it again", async () => {
  await browser.visit(`${site.url}/loop`);
  const ref = await browser.ref("Freeze");
  const frozen = site.hits.filter(isFreeze).length;
  // As above: of the first limit within which it comes to the page.
  for (let timeoutMs = 800; site.hits.filter(isFreeze).length === frozen; timeoutMs *= 4)
    failed(await browser.act("click", { ref, doubleClick: true, timeoutMs }), 504, "timeout");
  assert.is((await browser.post("/navigate", { url: site.url })).status, 200);
  assert.is((await browser.act("evaluate", { fn: "6 * 7" })).body.result, 42);
});

test("dialogs: as armed, else dismissed and reported; never in the way", async () => {
  await browser.visit(`${site.url}/dialogs`);
  const { body } = await browser.get("/snapshot");
  const ref = (name: string): string =>
    Object.entries(body.refs as Record<string, { name?: string }>).find(
      ([, info]) => info.name === name,
    )![0];
  const title = async (): Promise<unknown> =>
    (await browser.act("evaluate", { fn: "document.title" })).body.result;
  const unarmed = await browser.act("click", { ref: ref("Confirm") });
  assert.equal(
    unarmed.body.dialogs.map(({ at: _at, ...rest }: { at: number }) => rest),
    [{ type: "confirm", message: "sure?", handled: "dismissed", armed: false }],
  );
  assert.is(await title(), "false");
  assert.equal((await browser.post("/hooks/dialog", { accept: true })).body.ok, true);
  await browser.act("click", { ref: ref("Confirm") });
  assert.is(await title(), "true");
  await browser.post("/hooks/dialog", { accept: true, promptText: "Ada" });
  await browser.act("click", { ref: ref("Prompt") });
  assert.is(await title(), "Ada");
  await browser.post("/hooks/dialog", { accept: false });
  await browser.act("click", { ref: ref("Prompt") });
  assert.is(await title(), "null");
  const actions = [
    { kind: "click", ref: ref("Later") },
    { kind: "wait", fn: "window.told" },
  ];
  assert.is((await browser.act("batch", { actions })).body.dialogs?.[0].message, "later");
  await browser.act("click", { ref: ref("Hold") });
  await browser.visit(site.url);
  for (const bad of [{}, { accept: "yes" }, { accept: true, promptText: 5 }])
    failed(await browser.post("/hooks/dialog", bad), 400, "invalid_request_error");
});

test("a page that opens dialogs endlessly is 504, and its tab can be closed", async () => {
  const { targetId } = (await browser.post("/tabs/open", { url: `${site.url}/loop` })).body;
  const ref = await browser.ref("Nag");
  let timeoutMs = 50;
  // Of the first limit within which the click comes to the page.
  const dialogs = await until("a dialog", async () => {
    timeoutMs *= 4;
    const response = await browser.act("click", { ref, targetId, timeoutMs });
    failed(response, 504, "timeout");
    return response.body.error.dialogs;
  });
  assert.is(dialogs[0].type, "alert");
  assert.is((await browser.del(`/tabs/${targetId}`)).status, 200);
});

test("200 windows: no more than the limit are open, and one at a time is allowed", async () => {
  await browser.visit(`${site.url}/windows`);
  const { targetId } = (await browser.get("/snapshot")).body;
  const ref = await browser.ref("Popup");
  // Only those are told of that come soon.
  await until(
    "a click that tells of its window",
    async () => (await browser.act("click", { ref })).body.newTabs?.length === 1,
  );
  await until("its page", async () =>
    (await browser.get("/tabs")).body.tabs.some(({ url }: { url: string }) => url.endsWith("/two")),
  );
  assert.is(
    (await browser.get("/snapshot")).body.targetId,
    targetId,
    "a window that a page opens does not become the last used tab",
  );
  assert.is(
    (await browser.act("click", { ref: await browser.ref("Many"), timeoutMs: PATIENCE_MS })).status,
    200,
  );
  const tabs = (await browser.get("/tabs")).body.tabs as { targetId: string }[];
  assert.ok(tabs.length <= 6, String(tabs.length));
  for (const tab of tabs) if (tab.targetId !== targetId) await browser.del(`/tabs/${tab.targetId}`);
});

test("opening more tabs than the limit is refused", async () => {
  const opened: Answer[] = [];
  for (let i = 0; i < 7; i++) opened.push(await browser.post("/tabs/open", { url: "about:blank" }));
  failed(opened.at(-1)!, 409, "conflict", "maxTabs");
  for (const { status, body } of opened)
    if (status === 200) await browser.del(`/tabs/${body.targetId}`);
});

test("a click that makes a page close itself succeeds", async () => {
  await browser.visit(`${site.url}/open-self`);
  await browser.act("click", { ref: await browser.ref("Open") });
  const popup = await until("the window", async () =>
    ((await browser.get("/tabs")).body.tabs as { url: string; targetId: string }[]).find(
      ({ url }) => url.endsWith("/self"),
    ),
  );
  const { body } = await browser.get("/snapshot", { targetId: popup.targetId });
  const [ref] = Object.entries(body.refs as Record<string, { name?: string }>).find(
    ([, info]) => info.name === "Close me",
  )!;
  const response = await browser.act("click", { ref, targetId: popup.targetId });
  assert.equal([response.status, response.body.ok], [200, true]);
  await until(
    "the tab to be gone",
    async () =>
      !((await browser.get("/tabs")).body.tabs as { targetId: string }[]).some(
        ({ targetId }) => targetId === popup.targetId,
      ),
  );
});

test("evaluation can be turned off", async () => {
  await browser.visit(site.url);
  const file = join(browser.gateway.home, "portico.json");
  const before = readFileSync(file, "utf8");
  const config = JSON.parse(before);
  writeFileSync(
    file,
    JSON.stringify({ ...config, browser: { ...config.browser, evaluateEnabled: false } }),
  );
  try {
    const off = await until("the change to be applied", async () => {
      const response = await browser.act("evaluate", { fn: "1" });
      return response.status === 403 ? response : undefined;
    });
    failed(off, 403, "evaluate_disabled");
    failed(await browser.act("wait", { fn: "true" }), 403, "evaluate_disabled");
    assert.is((await browser.act("wait", { text: "Go two" })).status, 200);
    const batch = (await browser.act("batch", { actions: [{ kind: "evaluate", fn: "1" }] })).body;
    assert.is(batch.result[0].error.code, "evaluate_disabled");
  } finally {
    writeFileSync(file, before);
    await until(
      "the change back",
      async () => (await browser.act("evaluate", { fn: "1" })).status === 200,
    );
  }
});

test.run();

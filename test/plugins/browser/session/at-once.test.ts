import { mkdirSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { suite } from "../../../support/suite.ts";
import * as assert from "uvu/assert";
import { type BrowserGateway, failed, type Site, startBrowser, startSite } from "../support.ts";

const test = suite("browser: calls at the same time");
let browser: BrowserGateway;
let site: Site;

test.before(async () => {
  site = await startSite({
    "/": "<title>Page</title>",
    "/silent": () => {},
    "/uploads": `<button onclick="one.click()">One</button><button onclick="two.click()">Two</button>
      <input type=file id=one hidden><input type=file id=two hidden>`,
  });
  browser = await startBrowser();
});
test.after(async () => {
  await browser.stop();
  await site.stop();
});

test("simultaneous calls on a stopped browser each receive their own tab", async () => {
  const responses = await Promise.all([
    browser.post("/tabs/open", { url: `${site.url}/?1` }),
    browser.post("/tabs/open", { url: `${site.url}/?2` }),
    browser.post("/navigate", { url: `${site.url}/?3` }),
  ]);
  assert.equal(
    responses.map(({ status }) => status),
    [200, 200, 200],
  );
  assert.is(new Set(responses.map(({ body }) => body.targetId)).size, 3);
  const { tabs } = (await browser.get("/tabs")).body as { tabs: { url: string }[] };
  assert.equal(
    tabs.map(({ url }) => url).sort(),
    ["1", "2", "3"].map((n) => `${site.url}/?${n}`),
  );
});

test("simultaneous settings all take effect", async () => {
  await Promise.all([
    browser.post("/set/timezone", { timezoneId: "Asia/Tokyo" }),
    browser.post("/set/media", { colorScheme: "dark" }),
    browser.post("/set/locale", { locale: "de-DE" }),
  ]);
  // A tab that opens afterwards has them all.
  const { body } = await browser.post("/tabs/open", { url: site.url });
  const { result } = (
    await browser.post("/act", {
      kind: "evaluate",
      targetId: body.targetId,
      fn: "[Intl.DateTimeFormat().resolvedOptions().timeZone, matchMedia('(prefers-color-scheme: dark)').matches, navigator.language]",
    })
  ).body;
  assert.equal(result, ["Asia/Tokyo", true, "de-DE"]);
});

test("a navigation ends with 404 when its tab is closed", async () => {
  const { targetId } = (await browser.post("/tabs/open", { url: site.url })).body;
  const hitsBefore = site.hits.length;
  const navigating = browser.post("/navigate", { url: `${site.url}/silent`, targetId });
  while (!site.hits.slice(hitsBefore).includes("/silent"))
    await new Promise((resolve) => setTimeout(resolve, 10));
  assert.is((await browser.del(`/tabs/${targetId}`)).status, 200);
  failed(await navigating, 404, "tab_not_found");
});

const outcomes = (responses: { status: number; body: any }[]) =>
  responses.map(({ status, body }) => body.error?.code ?? status).sort();

test("only one of two simultaneous traces starts, and only one of two stops writes it", async () => {
  const twice = (path: string) => Promise.all([browser.post(path), browser.post(path)]);
  assert.equal(outcomes(await twice("/trace/start")), [200, "trace_running"]);
  assert.equal(outcomes(await twice("/trace/stop")), [200, "trace_not_running"]);
  assert.equal(outcomes(await twice("/trace/start")), [200, "trace_running"]);
  assert.equal(outcomes([await browser.post("/trace/stop")]), [200]);
});

test("only one of two profiles created at once with the same name is created", async () => {
  const create = () => browser.post("/profiles/create", { name: "twin" });
  assert.equal(outcomes(await Promise.all([create(), create()])), [200, "conflict"]);
  const removed = await Promise.all([browser.del("/profiles/twin"), browser.del("/profiles/twin")]);
  for (const { status } of removed) assert.ok(status === 200 || status === 404, String(status));
});

test("two simultaneous file choosers with refs each receive their own file", async () => {
  const dir = join(tmpdir(), "portico", "uploads");
  mkdirSync(dir, { recursive: true });
  const names = ["One", "Two"].map((name) => `${name}-${process.pid}.txt`);
  for (const name of names) writeFileSync(join(dir, name), "x");
  const tab = await browser.openTab();
  await tab.visit(`${site.url}/uploads`);
  const refs = [await tab.ref("One"), await tab.ref("Two")];
  const responses = await Promise.all(
    refs.map((ref, index) => tab.post("/hooks/file-chooser", { ref, paths: [names[index]] })),
  );
  assert.equal(outcomes(responses), [200, 200]);
  const { body } = await tab.act("evaluate", { fn: "[one.files[0]?.name, two.files[0]?.name]" });
  assert.equal(body.result, names);
});

test("the browser has one complete state after two are loaded at once", async () => {
  const save = async (name: string) => {
    await browser.post("/cookies/clear");
    for (const part of ["a", "b"]) {
      const cookie = { name: part, value: name, url: site.url };
      assert.is((await browser.post("/cookies/set", { cookie })).status, 200);
    }
    const path = `at-once-${process.pid}-${name}.json`;
    assert.is((await browser.post("/state/save", { path })).status, 200);
    return path;
  };
  const paths = [await save("first"), await save("second")];
  for (let i = 0; i < 5; i++) {
    const responses = await Promise.all(paths.map((path) => browser.post("/state/load", { path })));
    assert.equal(outcomes(responses), [200, 200]);
    const { cookies } = (await browser.get("/cookies")).body as { cookies: { value: string }[] };
    const values = cookies.map(({ value }) => value);
    assert.equal([values.length, new Set(values).size], [2, 1]);
  }
});

test.run();

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
  });
  browser = await startBrowser();
});
test.after(async () => {
  await browser.stop();
  await site.stop();
});

test("calls at once on a stopped browser each get a tab of their own", async () => {
  const answers = await Promise.all([
    browser.post("/tabs/open", { url: `${site.url}/?1` }),
    browser.post("/tabs/open", { url: `${site.url}/?2` }),
    browser.post("/navigate", { url: `${site.url}/?3` }),
  ]);
  assert.equal(
    answers.map(({ status }) => status),
    [200, 200, 200],
  );
  assert.is(new Set(answers.map(({ body }) => body.targetId)).size, 3);
  const { tabs } = (await browser.get("/tabs")).body as { tabs: { url: string }[] };
  assert.equal(
    tabs.map(({ url }) => url).sort(),
    ["1", "2", "3"].map((n) => `${site.url}/?${n}`),
  );
});

test("settings made at once all hold", async () => {
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
  const asked = site.hits.length;
  const navigating = browser.post("/navigate", { url: `${site.url}/silent`, targetId });
  while (!site.hits.slice(asked).includes("/silent"))
    await new Promise((resolve) => setTimeout(resolve, 10));
  assert.is((await browser.del(`/tabs/${targetId}`)).status, 200);
  failed(await navigating, 404, "tab_not_found");
});

test.run();

/** `browser.maxTabs`: the gateway closes further windows of its own browsers, and never those that a person opened. */
import { suite } from "../../../support/suite.ts";
import * as assert from "uvu/assert";
import { until } from "../../../support/until.ts";
import { type Person, pairingOf, startPerson } from "../relay/support.ts";
import {
  type BrowserTab,
  failed,
  sharedBrowser,
  type Site,
  startBrowser,
  startSite,
} from "../support.ts";

const test = suite("browser: the most tabs");
let site: Site;
const titles = ({ body }: { body: { tabs: { title: string }[] } }): string[] =>
  body.tabs.map(({ title }) => title).sort();

test.before(async () => {
  site = await startSite({
    "/a": "<title>A</title>",
    "/b": "<title>B</title>",
    "/c": "<title>C</title>",
    // A click may open one window; the browser blocks further ones.
    "/two": `<title>Two</title><button onclick="window.open('/a')">One</button>`,
    "/windows": `<title>Windows</title><button onclick="for(let i=0;i<5;i++)window.open('/a')">Many</button>`,
  });
});
test.after(() => site.stop());

/** Opens these in tabs of their own. */
async function openAll(browser: BrowserTab, paths: readonly string[]): Promise<void> {
  for (const path of paths)
    assert.is((await browser.post("/tabs/open", { url: site.url + path })).status, 200);
}

test("the maximum number of tabs can be opened at once, and one more receives an error", async () => {
  const browser = await startBrowser({ maxTabs: 3 });
  try {
    await openAll(browser, ["/two"]);
    assert.is((await browser.post("/set/device", { name: "iPhone 13" })).status, 200);
    const click = { kind: "click", ref: await browser.ref("One") };
    assert.is((await browser.act("batch", { actions: [click, click] })).status, 200);
    await until(
      "both windows",
      async () => titles(await browser.get("/tabs")).join() === "A,A,Two",
    );
    const [{ targetId }] = (await browser.get("/tabs")).body.tabs.filter(
      ({ title }: { title: string }) => title === "A",
    );
    assert.is((await browser.del(`/tabs/${targetId}`)).status, 200);
    const responses = await Promise.all(
      ["/b", "/c"].map((path) => browser.post("/tabs/open", { url: site.url + path })),
    );
    const [opened, refused] = responses.sort((a, b) => a.status - b.status);
    assert.is(opened!.status, 200);
    failed(refused!, 409, "conflict", "maxTabs");
  } finally {
    await browser.stop();
  }
});

test("all tabs of a remote browser stay open, and only windows of pages are limited", async () => {
  // May have more than the test's pages make.
  const far = await sharedBrowser();
  await far.visit(`${site.url}/a`);
  await openAll(far, ["/b", "/windows"]);
  const { cdpPort } = (await far.get("/")).body;
  const cdpUrl = `http://127.0.0.1:${cdpPort}/?token=${far.gateway.token}`;
  const near = await startBrowser({
    defaultProfile: "far",
    profiles: { far: { cdpUrl } },
    maxTabs: 2,
  });
  try {
    await near.post("/start");
    const there = ["A", "B", "Windows"];
    assert.equal(titles(await near.get("/tabs")), there);
    failed(await near.post("/tabs/open", { url: `${site.url}/c` }), 409, "conflict", "maxTabs");
    const { targetId } = (await near.get("/tabs")).body.tabs.find(
      (tab: { title: string }) => tab.title === "Windows",
    );
    const { refs } = (await near.get("/snapshot", { targetId })).body;
    await near.act("click", { targetId, ref: Object.keys(refs)[0] });
    await until(
      "the surplus to be closed",
      async () => titles(await far.get("/tabs")).join() === there.join(),
    );
    // A person opens one more tab in that browser.
    await openAll(far, ["/c"]);
    await until("the new tab", async () => titles(await near.get("/tabs")).includes("C"));
    // A window of the page may have come only now.
    await until("no other", async () => titles(await far.get("/tabs")).join() === "A,B,C,Windows");
  } finally {
    await near.stop();
  }
});

test("a person's own tabs stay open, regardless of how many are attached", async () => {
  const browser = await startBrowser({ defaultProfile: "relay", maxTabs: 2 });
  let person: Person | undefined;
  try {
    person = await startPerson();
    const { port, token } = await pairingOf(browser);
    await person.pair(port, token);
    for (const path of ["/a", "/b", "/c"]) {
      const page = await person.open(site.url + path);
      await person.clickIcon(page);
      await person.shows(page, "ON");
      const attached = ({ url }: { url: string }): boolean => url === page.url();
      await until("the relay to hear it", async () =>
        (await browser.get("/")).body.tabs.some(attached),
      );
      // Connects with the first one; the others come later.
      assert.is((await browser.get("/snapshot")).status, 200);
    }
    assert.equal(titles(await browser.get("/tabs")), ["A", "B", "C"]);
    for (const { targetId } of (await browser.get("/tabs")).body.tabs)
      assert.is((await browser.get("/snapshot", { targetId })).status, 200);
    failed(await browser.post("/tabs/open", { url: `${site.url}/a` }), 409, "conflict", "maxTabs");
    await browser.post("/stop");
    assert.is((await browser.post("/start")).status, 200);
    assert.equal(
      titles(await browser.get("/tabs")),
      ["A", "B", "C"],
      "connecting anew closes none either",
    );
  } finally {
    await person?.stop();
    await browser.stop();
  }
});
test.run();

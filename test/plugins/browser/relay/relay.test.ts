import type { ServerResponse } from "node:http";
import { suite } from "../../../support/suite.ts";
import * as assert from "uvu/assert";
import { until } from "../../../support/until.ts";
import { EXTENSION_ID } from "../../../../plugins/browser/relay/pairing.ts";
import { tabsGoWith } from "./gone.ts";
import { type Person, pairingOf, startPerson } from "./support.ts";
import { type BrowserGateway, type Site, startBrowser, startSite } from "../support.ts";

const test = suite("browser: tabs of a person's own browser");
let person: Person;
let browser: BrowserGateway;
let site: Site;
/** The same site under another origin. */
let elsewhere: string;
/** The response that a page waits for, and can do nothing meanwhile. */
let held: ServerResponse | undefined;

test.before(async () => {
  site = await startSite({
    "/": `<title>Mine</title><h1>Mine</h1><label>Name <input></label>
      <button onclick="document.title='Hello '+document.querySelector('input').value">Greet</button>
      <button onclick="document.title='Answer '+prompt('Who?')">Ask</button>
      <button onclick="document.title='n '+(++n)">Count</button><script>let n = 0</script>
      <a href="/next">Next</a><a id="away">Away</a><iframe title="inner" width="300" height="80"></iframe>
      <script>const there = location.origin.replace("127.0.0.1", "localhost");
        away.href = there + "/other"; document.querySelector("iframe").src = there + "/inner"</script>`,
    "/inner": `<button onclick="this.textContent='Pressed'">Inside</button>`,
    "/next": "<title>Next</title><h1>Next</h1>",
    "/other": "<title>Other</title><button onclick=\"document.title='Clicked'\">Here</button>",
    "/held": (_, res) => {
      held = res;
    },
    "/private": "<title>Private</title>the person's own",
  });
  elsewhere = `http://localhost:${site.port}`;
  browser = await startBrowser({ defaultProfile: "relay" });
  person = await startPerson();
});
test.after(async () => {
  await person.stop();
  await browser.stop();
  await site.stop();
});

test("without a tab, the status reports that, and other responses explain what to do", async () => {
  const status = await browser.get("/");
  assert.is(status.body.driver, "extension");
  assert.is(status.body.running, false);
  assert.is(status.body.egress, "best-effort");
  assert.equal(status.body.tabs, []);
  assert.equal((await browser.get("/tabs")).body, { running: false, tabs: [] });
  for (const response of [
    await browser.get("/snapshot"),
    await browser.post("/start"),
    await browser.post("/navigate", { url: site.url }),
    await browser.act("click", { ref: 1 }),
  ]) {
    assert.is(response.status, 409);
    assert.is(response.body.error.code, "browser_not_running");
    assert.match(response.body.error.message, /click the extension's icon on a tab/);
  }
});

/** The page's title, which the browser learns a moment after the page. */
const shows = (title: string) =>
  until(
    `the title ${title}`,
    async () => (await browser.get("/tabs")).body.tabs[0].title === title,
  );

test("an icon that is clicked before pairing asks for it", async () => {
  const page = await person.open(`${site.url}/private`);
  await person.clickIcon(page);
  assert.match((await person.shows(page, "!")).title, /not paired yet/);
  await page.close();
});

test("a wrong token shows on the options page and at the icon", async () => {
  const { port } = await pairingOf(browser);
  assert.match(await person.pair(port, "wrong"), /token is missing or wrong/);
  assert.match(await person.pair(1, "wrong"), /Nothing responds on port 1/);
  await person.pair(port, browser.gateway.token);
  const page = await person.open(`${site.url}/private`);
  await person.clickIcon(page);
  assert.match((await person.shows(page, "!")).title, /token is missing or wrong/);
  await page.close();
});

test("text typed before the options page is filled in does not mix with the saved values", async () => {
  const page = await person.context.newPage();
  await page.addInitScript(() => {
    const { local } = (globalThis as any).chrome.storage;
    const get = local.get.bind(local);
    // What was saved comes just as somebody has put the cursor into a field, or a little later.
    local.get = async (keys: string[]) => {
      const saved = await get(keys);
      await new Promise((resolve) => {
        (globalThis as any).addEventListener("focusin", resolve, { once: true });
        setTimeout(resolve, 100);
      });
      return saved;
    };
  });
  await page.goto(`chrome-extension://${EXTENSION_ID}/options.html`);
  await page.fill("[name=port]", "4711");
  await page.fill("[name=token]", "typed");
  assert.is(await page.inputValue("[name=port]"), "4711");
  assert.is(await page.inputValue("[name=token]"), "typed");
  await page.close();
});

test("the options page pairs, and keeps port and token under these names", async () => {
  const { port, token } = await pairingOf(browser);
  assert.match(await person.pair(port, token), /paired/);
  const stored = await (await person.worker()).evaluate(() =>
    (globalThis as any).chrome.storage.local.get(["port", "token"]),
  );
  assert.equal(stored, { port, token });
});

test("pages of the browser and of extensions are refused", async () => {
  for (const url of [
    "chrome://version/",
    "chrome-extension://jjgjhlpjadmckojocchkdonppogndjhh/offscreen.html",
  ]) {
    const page = await person.open(url);
    await person.clickIcon(page);
    assert.match((await person.shows(page, "!")).title, /cannot|only http/);
    await page.close();
  }
  assert.equal((await browser.get("/tabs")).body.tabs, []);
});

test("a click attaches that tab, and no other", async () => {
  const mine = await person.open(site.url);
  await person.open(`${site.url}/private`);
  await person.clickIcon(mine);
  await person.shows(mine, "ON");
  const status = await until("the relay to hear it", async () => {
    const response = await browser.get("/");
    return response.body.running ? response : undefined;
  });
  assert.equal(
    status.body.tabs.map((tab: { url: string }) => tab.url),
    [`${site.url}/`],
  );
  const { tabs } = (await browser.get("/tabs")).body;
  assert.is(tabs.length, 1);
  assert.is(tabs[0].title, "Mine");
  const { profiles } = (await browser.get("/profiles")).body;
  const relay = profiles.find((profile: { name: string }) => profile.name === "relay");
  assert.is(relay.running, true);
  assert.is(relay.tabCount, 1);
});

test("snapshot, type, click, screenshot, a frame of another site", async () => {
  await browser.act("type", { ref: await browser.ref("Name", "textbox"), text: "Ada" });
  assert.is((await browser.act("click", { ref: await browser.ref("Greet") })).status, 200);
  assert.is((await browser.get("/snapshot")).body.title, "Hello Ada");
  const shot = await browser.post("/screenshot", {});
  assert.is(shot.status, 200);
  assert.ok(shot.body.width > 100);
  const inside = await browser.act("click", { ref: await browser.ref("Inside") });
  assert.is(inside.status, 200, JSON.stringify(inside.body));
  await browser.ref("Pressed");
  const aria = await browser.get("/snapshot", { format: "aria" });
  assert.ok(aria.body.nodes.some((node: { name: string }) => node.name === "Greet"));
});

test("a dialog receives the prepared response", async () => {
  await browser.post("/hooks/dialog", { accept: true, promptText: "Grace" });
  await browser.act("click", { ref: await browser.ref("Ask") });
  assert.is((await browser.get("/snapshot")).body.title, "Answer Grace");
});

test("cookies, overrides, console: what the library offers works here too", async () => {
  await browser.post("/cookies/set", { cookie: { name: "a", value: "b", url: site.url } });
  const { cookies } = (await browser.get("/cookies")).body;
  assert.ok(cookies.some((cookie: { name: string }) => cookie.name === "a"));
  assert.is((await browser.post("/set/timezone", { timezoneId: "Asia/Tokyo" })).status, 200);
  const zone = await browser.act("evaluate", {
    fn: "() => Intl.DateTimeFormat().resolvedOptions().timeZone",
  });
  assert.is(zone.body.result, "Asia/Tokyo");
  assert.is((await browser.post("/set/timezone", { clear: true })).status, 200);
});

test("downloads are refused with the reason", async () => {
  const response = await browser.post("/wait/download");
  assert.is(response.status, 501);
  assert.match(response.body.error.message, /that person's download folder/);
});

test("the tab stays attached over navigations, to other sites too", async () => {
  const before = (await browser.get("/tabs")).body.tabs[0].targetId;
  const there = await browser.post("/navigate", { url: `${elsewhere}/other` });
  assert.is(there.status, 200);
  assert.is(there.body.targetId, before);
  assert.is((await browser.act("click", { ref: await browser.ref("Here") })).status, 200);
  await shows("Clicked");
  await browser.visit(site.url);
  await browser.act("click", { ref: await browser.ref("Away") });
  await browser.ref("Here");
  const page = person.context
    .pages()
    .find((candidate) => candidate.url() === `${elsewhere}/other`)!;
  assert.is((await person.shows(page, "ON")).text, "ON");
  await browser.visit(site.url);
});

test("the agent can open another tab and close it", async () => {
  const opened = await browser.post("/tabs/open", { url: `${site.url}/next` });
  assert.is(opened.status, 200);
  assert.is(opened.body.title, "Next");
  assert.is((await browser.get("/tabs")).body.tabs.length, 2);
  assert.is((await browser.del(`/tabs/${opened.body.targetId}`)).status, 200);
  assert.is((await browser.get("/tabs")).body.tabs.length, 1);
});

test("a killed worker restarts, and the tab stays attached", async () => {
  const ref = await browser.ref("Count");
  assert.is((await browser.act("click", { ref })).status, 200);
  const { targetId } = (await browser.get("/tabs")).body.tabs[0];
  const { port } = await pairingOf(browser);
  const presence = `ws://127.0.0.1:${port}/extension/presence`;
  for (const expected of ["n 2", "n 3"]) {
    // However long it is away, the relay knows that its browser runs.
    await until(
      "the hidden page to say that the browser runs",
      async () => (await person.presence()) === presence,
    );
    await person.killWorker();
    assert.is(await person.presence(), presence);
    // The same ref: nothing of the page or of its session was lost.
    const response = await browser.act("click", { ref });
    assert.is(response.status, 200, JSON.stringify(response.body));
    await shows(expected);
  }
  assert.is((await browser.get("/tabs")).body.tabs[0].targetId, targetId);
});

/** Makes the page wait for a request with all that it does; whatever answers that ends it. */
async function occupied(): Promise<ServerResponse> {
  held = undefined;
  const page = person.context.pages().find((candidate) => candidate.url() === `${site.url}/`)!;
  await page.evaluate(`void setTimeout(() => {
    const request = new XMLHttpRequest();
    request.open("GET", "/held", false);
    request.send();
  })`);
  return until("the page to be busy", () => held);
}

test("refs survive the death of the worker while the page is busy", async () => {
  const before = (await browser.act("evaluate", { fn: "() => n" })).body.result;
  const ref = await browser.ref("Count");
  const response = await occupied();
  const click = browser.act("click", { ref });
  // Meanwhile the extension takes the look for the element, which the page answers when the worker is gone.
  await browser.get("/tabs");
  await person.killWorker();
  response.end();
  const clickResponse = await click;
  assert.is(clickResponse.status, 200, JSON.stringify(clickResponse.body));
  assert.is((await browser.act("evaluate", { fn: "() => n" })).body.result, before + 1);
});

test("a page stays usable if the worker dies before the library's scripts are loaded", async () => {
  await browser.visit(site.url);
  const response = await occupied();
  const first = browser.act("evaluate", { fn: "() => n" });
  // Meanwhile the extension takes the script.
  await browser.get("/tabs");
  await person.killWorker();
  response.end();
  for (const { status, body } of [await first, await browser.act("evaluate", { fn: "() => n" })])
    assert.equal([status, body.result], [200, 0], JSON.stringify(body));
});

test("a stop leaves the tab unchanged, and the first request after a start uses it again", async () => {
  await browser.post("/set/media", { colorScheme: "dark" });
  assert.is((await browser.post("/stop")).body.stopped, true);
  assert.is((await browser.get("/")).body.running, false);
  assert.is((await browser.get("/snapshot")).status, 409);
  const page = person.context.pages().find((candidate) => candidate.url() === `${site.url}/`)!;
  await until("the page's own colours", () =>
    page.evaluate(() => (globalThis as any).matchMedia("(prefers-color-scheme: light)").matches),
  );
  assert.is((await person.badge(page)).text, "ON");
  assert.is((await browser.post("/start")).status, 200);
  assert.is((await browser.act("click", { ref: await browser.ref("Count") })).status, 200);
});

test("a second click detaches the tab", async () => {
  const page = person.context.pages().find((candidate) => candidate.url() === `${site.url}/`)!;
  await person.clickIcon(page);
  await person.shows(page, "");
  await until("the relay to hear it", async () => (await browser.get("/")).body.tabs.length === 0);
  assert.equal((await browser.get("/tabs")).body, { running: false, tabs: [] });
  const response = await browser.get("/snapshot");
  assert.is(response.status, 409);
  assert.match(response.body.error.message, /click the extension's icon/);
  // And nothing comes back by itself.
  await page.reload();
  assert.is((await person.badge(page)).text, "");
  await person.clickIcon(page);
  await person.shows(page, "ON");
  await until("the relay to hear it", async () => (await browser.get("/")).body.running);
  assert.is((await browser.act("click", { ref: await browser.ref("Count") })).status, 200);
});

test("a tab that the person closes is removed", async () => {
  const page = person.context.pages().find((candidate) => candidate.url() === `${site.url}/`)!;
  await page.close();
  await until("the relay to hear it", async () => (await browser.get("/")).body.running === false);
  assert.is((await browser.get("/snapshot")).status, 409);
});

// The last one: the browser does not come back.
test("killing the browser removes its tabs", async () => {
  const page = await person.open(`${site.url}/`);
  await person.clickIcon(page);
  await person.shows(page, "ON");
  await tabsGoWith(() => person.kill(), browser);
});

test.run();

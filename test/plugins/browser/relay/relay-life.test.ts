/** What attached tabs live through: a gateway that is restarted, pages that may not be attached, files, the person's word. */
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chromium, type Page } from "playwright-core";
import { suite } from "../../../support/suite.ts";
import * as assert from "uvu/assert";
import { freePort } from "../../../support/free-port.ts";
import { makeHome } from "../../../support/gateway.ts";
import { until } from "../../../support/until.ts";
import { tabsGoWith } from "./gone.ts";
import { type Person, pairingOf, startPerson } from "./support.ts";
import { type BrowserGateway, type Site, startBrowser, startSite } from "../support.ts";

const test = suite("browser: the life of an attached tab");
const home = makeHome();
let person: Person;
let browser: BrowserGateway;
let site: Site;
let gatewayPort: number;
let page: Page;

const start = () =>
  startBrowser(
    { defaultProfile: "relay" },
    { home, config: { gateway: { port: gatewayPort, auth: { token: "t0ken-of-this-test" } } } },
  );

const attachedTabs = async (): Promise<string[]> =>
  (await browser.get("/")).body.tabs.map((tab: { url: string }) => tab.url);

test.before(async () => {
  // A gateway that is restarted must come back where it was.
  gatewayPort = await freePort(2, 3);
  site = await startSite({
    "/": `<title>Mine</title><button onclick="document.title='n '+(++n)">Count</button><script>let n = 0</script>
      <label>Paper <input type="file" onchange="files[0].text().then((text) => document.title = text)"></label>`,
  });
  browser = await start();
  person = await startPerson();
  const { port, token } = await pairingOf(browser);
  assert.is(port, gatewayPort + 3);
  await person.pair(port, token);
  page = await person.open(`${site.url}/`);
});
/** Each test begins with that one tab handed over, freshly loaded, and browser control as its client. */
test.before.each(async () => {
  await page.goto(`${site.url}/`);
  if ((await attachedTabs()).length === 0) await person.clickIcon(page);
  await person.shows(page, "ON");
  await until("the place to be free", async () => (await browser.post("/start")).status === 200);
});
test.after(async () => {
  await person.stop();
  await browser.stop();
  await site.stop();
  rmSync(home, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 });
});

test("files reach the page", async () => {
  const path = join(tmpdir(), "portico", "uploads", `relay-${process.pid}.txt`);
  mkdirSync(join(tmpdir(), "portico", "uploads"), { recursive: true });
  writeFileSync(path, "on paper");
  const response = await browser.act("upload", { ref: await browser.ref("Paper"), paths: [path] });
  rmSync(path);
  assert.is(response.status, 200, JSON.stringify(response.body));
  await until("the page to have read it", async () => (await page.title()) === "on paper");
});

test("a background tab can be controlled", async () => {
  const front = await person.open(`${site.url}/front`);
  assert.is((await browser.act("click", { ref: await browser.ref("Count") })).status, 200);
  assert.is(await page.title(), "n 1");
  assert.is((await browser.post("/screenshot", {})).status, 200);
  await front.close();
});

test("the library can connect as the only client", async () => {
  await browser.post("/stop");
  const { port, token } = await pairingOf(browser);
  const own = await chromium.connectOverCDP(`http://127.0.0.1:${port}`, {
    headers: { authorization: `Bearer ${token}` },
  });
  const [tab] = own.contexts()[0]!.pages();
  await tab!.getByRole("button", { name: "Count" }).click();
  assert.is(await tab!.title(), "n 1");
  const second = await browser.post("/start");
  assert.is(second.status, 409);
  assert.match(second.body.error.message, /Another client/);
  for (const url of ["file:///etc/hostname", "chrome://version", "view-source:http://127.0.0.1/"]) {
    const refused = await tab!.goto(url).catch((error: Error) => error);
    assert.match(
      (refused as Error)?.message ?? "opened",
      "Only http:, https: and about:blank",
      url,
    );
  }
  await own.close();
  await until("the place to be free", async () => (await browser.post("/start")).status === 200);
  assert.is(await page.title(), "n 1");
});

test("a location can be emulated, and the person decides whether the page receives it", async () => {
  assert.is(
    (await browser.post("/set/geolocation", { latitude: 52.5, longitude: 13.4 })).status,
    200,
  );
  assert.is((await browser.post("/set/geolocation", { clear: true })).status, 200);
});

test("a restarted gateway has its tabs again", async () => {
  await browser.get("/snapshot");
  await browser.stop();
  await person.shows(page, "…");
  browser = await start();
  await person.shows(page, "ON");
  await until("the relay to hear it", async () => (await attachedTabs()).join() === `${site.url}/`);
  await until("the browser to be known to run", () => person.presence());
  assert.is((await browser.act("click", { ref: await browser.ref("Count") })).status, 200);
  assert.is(await page.title(), "n 1");
});

test("a tab that navigates to a forbidden page is detached", async () => {
  await page.goto("chrome://version/");
  await person.shows(page, "!");
  await until("the relay to hear it", async () => (await attachedTabs()).length === 0);
  await page.goto(`${site.url}/`);
  assert.is((await person.badge(page)).text, "");
  assert.is((await browser.get("/snapshot")).status, 409);
  await person.clickIcon(page);
  await person.shows(page, "ON");
  await until("the relay to hear it", async () => (await attachedTabs()).length === 1);
  assert.is((await browser.get("/snapshot")).status, 200);
});

test("the browser's own Cancel detaches the tab", async () => {
  await (await person.worker()).evaluate(async () => {
    const { chrome } = globalThis as any;
    const [target] = (await chrome.debugger.getTargets()).filter(
      (tab: { attached: boolean; tabId?: number; url: string }) =>
        tab.attached && tab.url.startsWith("http:"),
    );
    chrome.debugger.onDetach.dispatch({ tabId: target.tabId }, "canceled_by_user");
  });
  await person.shows(page, "");
  await until("the relay to hear it", async () => (await attachedTabs()).length === 0);
});

test("a tab is attached whether or not the page that keeps the worker awake can be made", async () => {
  await person.clickIcon(page);
  await person.shows(page, "");
  await (await person.worker()).evaluate(() => {
    const { offscreen } = (globalThis as any).chrome;
    const { createDocument } = offscreen;
    offscreen.createDocument = async () => {
      offscreen.createDocument = createDocument;
      throw new Error("Only a single offscreen document may be created.");
    };
  });
  await person.clickIcon(page);
  await person.shows(page, "ON");
  await until("the relay to hear it", async () => (await attachedTabs()).join() === `${site.url}/`);
});

test("a detached debugger attaches again", async () => {
  assert.is((await browser.get("/snapshot")).status, 200);
  await (await person.worker()).evaluate(async () => {
    const { chrome } = globalThis as any;
    const [target] = (await chrome.debugger.getTargets()).filter(
      (tab: { attached: boolean; tabId?: number; url: string }) =>
        tab.attached && tab.url.startsWith("http:"),
    );
    await chrome.debugger.detach({ tabId: target.tabId });
    chrome.debugger.onDetach.dispatch({ tabId: target.tabId }, "target_closed");
  });
  await until("the tab to answer again", async () => {
    const { status, body } = await browser.get("/snapshot");
    return status === 200 && body.title === "Mine";
  });
  assert.is((await browser.act("click", { ref: await browser.ref("Count") })).status, 200);
  assert.is((await person.badge(page)).text, "ON");
});

// The last one: the browser does not come back.
test("closing the browser removes its tabs", () => tabsGoWith(() => person.stop(), browser));

test.run();

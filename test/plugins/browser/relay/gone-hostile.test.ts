/** A person's browser that goes, in order or not, takes its tabs with it: none is shown that is no longer there. */
import { execFileSync } from "node:child_process";
import { suite } from "../../../support/suite.ts";
import * as assert from "uvu/assert";
import { until } from "../../../support/until.ts";
import { type Person, pairingOf, startPerson } from "./support.ts";
import { type BrowserGateway, type Site, startBrowser, startSite } from "../support.ts";

const test = suite("browser: attached tabs whose browser goes");
let browser: BrowserGateway;
let site: Site;
let person: Person;

test.before(async () => {
  site = await startSite({ "/": "<title>Mine</title><p>here</p>" });
  browser = await startBrowser({ defaultProfile: "relay" });
});
test.after.each(() => person?.stop().catch(() => {}));
test.after(async () => {
  await browser?.stop();
  await site?.stop();
});

const attachedTabs = async (): Promise<unknown[]> => (await browser.get("/")).body.tabs;

/** Every process of that browser, as the system ends it when memory is short. */
async function killAll(): Promise<void> {
  const ended = new Promise<void>((resolve) => person.context.once("close", () => resolve()));
  const dir = person.dir;
  for (const line of execFileSync("ps", ["-eo", "pid=,args="]).toString().split("\n"))
    if (line.includes(`--user-data-dir=${dir}`)) {
      try {
        process.kill(Number.parseInt(line, 10), "SIGKILL");
      } catch {
        // it went with the first
      }
    }
  await ended;
}

for (const [how, end] of [
  ["is closed", () => person.stop()],
  ["is killed", killAll],
] as const) {
  test(`one that ${how}`, async () => {
    person = await startPerson();
    const { port, token } = await pairingOf(browser);
    await person.pair(port, token);
    const page = await person.open(`${site.url}/`);
    await person.clickIcon(page);
    await person.shows(page, "ON");
    await until("the tab to be taken up", async () => (await browser.post("/start")).status === 200);
    assert.is((await browser.get("/snapshot")).status, 200);
    const waiting = browser.act("wait", { text: "never", timeoutMs: 60_000 });
    await end();
    await until("the tabs to be gone from the status", async () => (await attachedTabs()).length === 0);
    const { profiles } = (await browser.get("/profiles")).body;
    assert.is(profiles.find(({ name }: { name: string }) => name === "relay").tabCount, 0);
    const ended = await waiting;
    assert.ok([404, 409].includes(ended.status), JSON.stringify(ended.body));
    assert.is((await browser.get("/snapshot")).status, 409);
    assert.equal((await browser.get("/tabs")).body, { running: false, tabs: [] });
  });
}

test.run();

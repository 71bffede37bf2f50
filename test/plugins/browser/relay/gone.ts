/** The tabs of a person's browser disappear when the browser ends, regularly or not. */
import * as assert from "uvu/assert";
import { until } from "../../../support/until.ts";
import type { BrowserGateway } from "../support.ts";

/** The gateway's default profile is the relay, which has a tab of the browser that `end` ends. */
export async function tabsGoWith(end: () => Promise<void>, browser: BrowserGateway): Promise<void> {
  await until("the tab to be taken up", async () => (await browser.post("/start")).status === 200);
  assert.is((await browser.get("/snapshot")).status, 200);
  const waiting = browser.act("wait", { text: "never", timeoutMs: 60_000 });
  await end();
  await until(
    "the tabs to be gone from the status",
    async () => (await browser.get("/")).body.tabs.length === 0,
  );
  const { profiles } = (await browser.get("/profiles")).body;
  assert.is(profiles.find(({ name }: { name: string }) => name === "relay").tabCount, 0);
  const ended = await waiting;
  assert.ok([404, 409].includes(ended.status), JSON.stringify(ended.body));
  assert.is((await browser.get("/snapshot")).status, 409);
  assert.equal((await browser.get("/tabs")).body, { running: false, tabs: [] });
}

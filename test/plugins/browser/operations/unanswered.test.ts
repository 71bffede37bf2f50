import { suite } from "../../../support/suite.ts";
import * as assert from "uvu/assert";
import { startDifficult } from "./difficult-pages.ts";
import { type BrowserGateway, failed, type Site } from "../support.ts";

const test = suite("browser: servers that never answer");
let browser: BrowserGateway;
let site: Site;

test.before(async () => {
  ({ browser, site } = await startDifficult());
});
test.after(async () => {
  await browser.stop();
  await site.stop();
});

test("a server that never answers: the page that is there can be used again after a while", async () => {
  await browser.visit(`${site.url}/leaves`);
  const stay = await browser.ref("Stay");
  assert.is((await browser.act("click", { ref: await browser.ref("Away") })).status, 200);
  failed(await browser.get("/snapshot", { timeoutMs: 300 }), 504, "timeout", "on its way");
  assert.is((await browser.act("click", { ref: stay })).status, 200);
  assert.is((await browser.get("/snapshot")).body.title, "clicked");
});

test("a frame that never answers is left out, not waited for", async () => {
  await browser.post("/navigate", { url: `${site.url}/deaf`, waitUntil: "commit" });
  await browser.act("wait", { text: "Beside" });
  const { status, body } = await browser.get("/snapshot");
  assert.is(status, 200);
  assert.match(body.snapshot, /button "Beside" \[ref=\d+\]/);
  assert.match(body.snapshot, /- iframe/);
});

test.run();

import { suite } from "../../support/suite.ts";
import * as assert from "uvu/assert";
import { startDifficult } from "./operations/difficult-pages.ts";
import {
  type BrowserTab,
  failed,
  type SharedBrowser,
  type Site,
  triedLongEnough,
} from "./support.ts";

const test = suite("browser: pages that resist");
let browser: SharedBrowser;
let site: Site;
let tab: BrowserTab;

/** What waits for limits of the gateway's own, of five and ten seconds: each in its tab, from the start. */
const waiting: Record<string, (own: BrowserTab) => Promise<void>> = {
  "a server that never answers: the page that is there can be used again after a while": async (
    own,
  ) => {
    await own.visit(`${site.url}/leaves`);
    const stay = await own.ref("Stay");
    assert.is((await own.act("click", { ref: await own.ref("Away") })).status, 200);
    failed(await own.get("/snapshot", { timeoutMs: 300 }), 504, "timeout", "does not respond");
    assert.is((await own.act("click", { ref: stay })).status, 200);
    assert.is((await own.get("/snapshot")).body.title, "clicked");
  },
  "a frame that never answers is left out, not waited for": async (own) => {
    await own.post("/navigate", { url: `${site.url}/deaf`, waitUntil: "commit" });
    assert.is((await own.act("wait", { text: "Beside" })).status, 200);
    await own.act("evaluate", { fn: "void setTimeout(() => document.body.append('Later'), 200)" });
    assert.is((await own.act("wait", { text: "Later" })).status, 200);
    const { status, body } = await own.get("/snapshot");
    assert.is(status, 200);
    assert.match(body.snapshot, /button "Beside" \[ref=\d+\]/);
    assert.match(body.snapshot, /- iframe/);
  },
};
const begun = new Map<string, Promise<void>>();

test.before(async () => {
  ({ browser, site } = await startDifficult());
  for (const [name, steps] of Object.entries(waiting)) {
    const done = steps(await browser.openTab());
    done.catch(() => {});
    begun.set(name, done);
  }
  tab = await browser.openTab();
});
test.after(async () => {
  await browser.stop();
  await site.stop();
});

test("a ref from before a navigation fails at once, and the error names similar elements", async () => {
  await tab.visit(site.url);
  const ref = await tab.ref("Same");
  const link = await tab.ref("Go two");
  await tab.visit(`${site.url}/two`);
  for (const fields of [
    { kind: "click", ref },
    { kind: "type", ref, text: "x" },
    { kind: "hover", ref },
    { kind: "evaluate", fn: "1", ref },
    { kind: "drag", startRef: ref, endRef: link },
  ]) {
    // One that waited would not be done within the time of this file.
    const response = await tab.post("/act", { ...fields, timeoutMs: 300_000 });
    failed(response, 404, "ref_not_found", "new snapshot");
  }
  const fresh = await tab.ref("Same");
  const again = await tab.act("click", { ref });
  failed(again, 404, "ref_not_found");
  assert.equal(again.body.error.candidates, [{ ref: `e${fresh}`, role: "button", name: "Same" }]);
  for (const path of ["/highlight", "/download", "/screenshot"])
    failed(await tab.post(path, { ref }), 404, "ref_not_found");
});

test("a removed element is a stale ref too, even in a frame", async () => {
  await tab.visit(`${site.url}/block`);
  const staleRef = await tab.ref("Vanishing");
  const inner = await tab.ref("Inner");
  assert.is((await tab.act("click", { ref: staleRef })).status, 200);
  failed(await tab.act("click", { ref: staleRef }), 404, "ref_not_found");
  assert.is((await tab.act("click", { ref: await tab.ref("Drop frame") })).status, 200);
  failed(await tab.act("click", { ref: inner }), 404, "ref_not_found");
});

test("the error of an impossible action gives the reason: covered, disabled, not editable, hidden", async () => {
  await tab.visit(`${site.url}/block`);
  const { body } = await tab.get("/snapshot");
  const ref = (name: string): string =>
    Object.entries(body.refs as Record<string, { name?: string }>).find(
      ([, info]) => info.name === name,
    )![0];
  // One after another: actions of a tab wait for each other.
  const tried = (kind: string, fields: object) =>
    triedLongEnough((limit) => tab.act(kind, { ...fields, ...limit }));
  failed(await tried("click", { ref: ref("Disabled") }), 422, "action_failed", "is disabled");
  const covered = /covered by <div id="veil" class="overlay">/;
  failed(await tried("click", { ref: ref("Covered") }), 422, "action_failed", covered);
  failed(
    await tab.act("type", { ref: ref("Read only"), text: "y" }),
    422,
    "action_failed",
    "not editable",
  );
  failed(
    await tried("type", { ref: ref("In fieldset"), text: "y" }),
    422,
    "action_failed",
    "disabled",
  );
  failed(await tab.act("check", { ref: ref("Read only") }), 422, "action_failed");
  failed(await tab.act("select", { ref: ref("Tick"), values: ["a"] }), 422, "action_failed");
  const fake = await tab.act("type", { ref: ref("Fake box"), text: "y" });
  failed(fake, 422, "action_failed", "does not accept the value");
  assert.is(
    (
      await tab.act("evaluate", {
        fn: "() => { document.querySelector('#veil').style.display = 'none' }",
      })
    ).status,
    200,
  );
  assert.is((await tab.act("click", { ref: ref("Covered") })).status, 200);
  assert.is(
    (
      await tab.act("evaluate", {
        fn: "() => { document.querySelector('[aria-label=Tick]').style.display = 'none' }",
      })
    ).status,
    200,
  );
  failed(await tried("click", { ref: ref("Tick") }), 422, "action_failed", "not visible");
});

test("an action waits for an element that becomes ready soon", async () => {
  await tab.visit(`${site.url}/block`);
  assert.is((await tab.act("click", { ref: await tab.ref("Late") })).status, 200);
});

test("an obstacle that has gone is not reported, even if the action still waits", async () => {
  await tab.visit(`${site.url}/moving`);
  const ref = await tab.ref("Late");
  await tab.act("evaluate", { fn: "begin()" });
  const { status, body } = await tab.act("click", { ref });
  assert.is(status, 200, JSON.stringify(body));
});

test("the response to a click that navigates has the new address", async () => {
  await tab.visit(site.url);
  assert.is((await tab.act("click", { ref: await tab.ref("Go two") })).body.url, `${site.url}/two`);
  await tab.visit(site.url);
  const slow = await tab.act("click", { ref: await tab.ref("Go slow"), snapshot: "efficient" });
  assert.is(slow.body.url, `${site.url}/slow`);
  assert.match(slow.body.snapshot, "At last");
});

for (const name of Object.keys(waiting)) test(name, () => begun.get(name));

test.run();

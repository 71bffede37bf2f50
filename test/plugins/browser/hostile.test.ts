import { suite } from "../../support/suite.ts";
import * as assert from "uvu/assert";
import { startDifficult } from "./operations/difficult-pages.ts";
import { type SharedBrowser, failed, type Site, triedLongEnough } from "./support.ts";

const test = suite("browser: pages that resist");
let browser: SharedBrowser;
let site: Site;

test.before(async () => {
  ({ browser, site } = await startDifficult());
});
test.after(async () => {
  await browser.stop();
  await site.stop();
});

test("a ref from before a navigation fails at once, with what looks like it", async () => {
  await browser.visit(site.url);
  const ref = await browser.ref("Same");
  await browser.visit(`${site.url}/two`);
  for (const fields of [
    { kind: "click", ref },
    { kind: "type", ref, text: "x" },
    { kind: "hover", ref },
    { kind: "evaluate", fn: "1", ref },
    { kind: "drag", startRef: ref, endRef: ref },
  ]) {
    // One that waited would not be done within the time of this file.
    const answer = await browser.post("/act", { ...fields, timeoutMs: 300_000 });
    failed(answer, 404, "ref_not_found", "take a new snapshot");
  }
  const fresh = await browser.ref("Same");
  const again = await browser.act("click", { ref });
  failed(again, 404, "ref_not_found");
  assert.equal(again.body.error.candidates, [{ ref: `e${fresh}`, role: "button", name: "Same" }]);
  for (const path of ["/highlight", "/download", "/screenshot"])
    failed(await browser.post(path, { ref }), 404, "ref_not_found");
});

test("an element that went away is a stale ref too, in a frame as well", async () => {
  await browser.visit(`${site.url}/block`);
  const gone = await browser.ref("Vanishing");
  const inner = await browser.ref("Inner");
  assert.is((await browser.act("click", { ref: gone })).status, 200);
  failed(await browser.act("click", { ref: gone }), 404, "ref_not_found");
  assert.is((await browser.act("click", { ref: await browser.ref("Drop frame") })).status, 200);
  failed(await browser.act("click", { ref: inner }), 404, "ref_not_found");
});

test("an action that cannot be done says which: covered, disabled, not editable, hidden", async () => {
  await browser.visit(`${site.url}/block`);
  const { body } = await browser.get("/snapshot");
  const ref = (name: string): string =>
    Object.entries(body.refs as Record<string, { name?: string }>).find(([, info]) => info.name === name)![0];
  const answers = await Promise.all([
    triedLongEnough((limit) => browser.act("click", { ref: ref("Disabled"), ...limit })),
    triedLongEnough((limit) => browser.act("click", { ref: ref("Covered"), ...limit })),
  ]);
  failed(answers[0]!, 422, "action_failed", "is disabled");
  failed(answers[1]!, 422, "action_failed", /covered by <div id="veil" class="overlay">/);
  failed(await browser.act("type", { ref: ref("Read only"), text: "y" }), 422, "action_failed", "not editable");
  failed(
    await triedLongEnough((limit) => browser.act("type", { ref: ref("In fieldset"), text: "y", ...limit })),
    422,
    "action_failed",
    "disabled",
  );
  failed(await browser.act("check", { ref: ref("Read only") }), 422, "action_failed");
  failed(await browser.act("select", { ref: ref("Tick"), values: ["a"] }), 422, "action_failed");
  const fake = await browser.act("type", { ref: ref("Fake box"), text: "y" });
  failed(fake, 422, "action_failed", "does not take it");
  assert.is(
    (await browser.act("evaluate", { fn: "() => { document.querySelector('#veil').style.display = 'none' }" })).status,
    200,
  );
  assert.is((await browser.act("click", { ref: ref("Covered") })).status, 200);
  assert.is(
    (
      await browser.act("evaluate", {
        fn: "() => { document.querySelector('[aria-label=Tick]').style.display = 'none' }",
      })
    ).status,
    200,
  );
  const hidden = await triedLongEnough((limit) => browser.act("click", { ref: ref("Tick"), ...limit }));
  failed(hidden, 422, "action_failed", "not visible");
});

test("what comes soon is waited for", async () => {
  await browser.visit(`${site.url}/block`);
  assert.is((await browser.act("click", { ref: await browser.ref("Late") })).status, 200);
});

test("what stands in the way no more counts no more, though the action still has to wait", async () => {
  await browser.visit(`${site.url}/moving`);
  const ref = await browser.ref("Late");
  await browser.act("evaluate", { fn: "begin()" });
  const { status, body } = await browser.act("click", { ref });
  assert.is(status, 200, JSON.stringify(body));
});

test("a click that navigates answers where it led", async () => {
  await browser.visit(site.url);
  assert.is((await browser.act("click", { ref: await browser.ref("Go two") })).body.url, `${site.url}/two`);
  await browser.visit(site.url);
  const slow = await browser.act("click", { ref: await browser.ref("Go slow"), snapshot: "efficient" });
  assert.is(slow.body.url, `${site.url}/slow`);
  assert.match(slow.body.snapshot, "At last");
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

import { suite } from "uvu";
import * as assert from "uvu/assert";
import { type Answer, type BrowserGateway, type Site, startBrowser, startSite } from "./support.ts";

const test = suite("browser: pages that resist");
let browser: BrowserGateway;
let site: Site;

test.before(async () => {
  site = await startSite({
    "/": `<title>Home</title><button id=b>Same</button><a href="/two">Go two</a><a href="/slow">Go slow</a>`,
    "/two": "<title>Two</title><button>Same</button>",
    "/slow": (_req, res) =>
      void setTimeout(
        () => res.writeHead(200, { "content-type": "text/html" }).end("<title>Slow</title><button>At last</button>"),
        400,
      ),
    "/block": `<title>Block</title><button disabled>Disabled</button><button aria-disabled="true">Aria off</button><fieldset disabled><input aria-label="In fieldset"></fieldset>
      <input aria-label="Read only" readonly value="x"><div role="textbox" aria-label="Fake box">t</div><input type="checkbox" aria-label="Tick">
      <div style="position:relative;width:200px;height:40px"><button>Covered</button><div id="veil" class="overlay" style="position:absolute;inset:0"></div></div>
      <button id="late" disabled>Late</button><button style="visibility:hidden" id="ghost">Ghost</button><button onclick="this.remove()">Vanishing</button>
      <iframe srcdoc="<button>Inner</button>"></iframe><button onclick="document.querySelector('iframe').remove()">Drop frame</button>
      <script>setTimeout(()=>late.disabled=false,600)</script>`,
    "/never": () => {},
    "/leaves": `<title>Leaves</title><a href="/never">Away</a><button onclick="document.title='clicked'">Stay</button>`,
    "/deaf": `<title>Deaf</title><button>Beside</button><iframe src="/never"></iframe>`,
    "/loop":
      "<title>Loop</title><button onclick='for(;;){}'>Freeze</button><button onclick='for(;;)alert(1)'>Nag</button>",
    "/hang": "<title>Hang</title><script>for(;;){}</script>",
    "/dialogs": `<title>Dialogs</title><button onclick="document.title=String(confirm('sure?'))">Confirm</button><button onclick="document.title=String(prompt('name?','dflt'))">Prompt</button>
      <button onclick="onbeforeunload=(e)=>e.preventDefault()">Hold</button><button onclick="setTimeout(()=>alert('later'),150)">Later</button>`,
    "/windows": `<title>Windows</title><button onclick="for(let i=0;i<200;i++)window.open('/two?'+i,'w'+i)">Many</button><button onclick="window.open('/two')">Popup</button>`,
    "/self": "<title>Self</title><button onclick='window.close()'>Close me</button>",
    "/open-self": `<title>Opener</title><button onclick="window.open('/self')">Open</button>`,
  });
  browser = await startBrowser({ maxTabs: 6 });
});
test.after(async () => {
  await browser.stop();
  await site.stop();
});

const failed = (answer: Answer, status: number, code: string, words?: string | RegExp): void => {
  assert.equal([answer.status, answer.body.error?.code], [status, code], JSON.stringify(answer.body));
  if (words !== undefined) assert.match(answer.body.error.message, words);
  assert.not.match(JSON.stringify(answer.body), /\\u001b|\n\s+at |node_modules/);
};

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
    const answer = await browser.post("/act", fields);
    failed(answer, 404, "ref_not_found", "take a new snapshot");
    assert.ok(answer.ms < 1000, "not after a time-out");
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
    browser.act("click", { ref: ref("Disabled"), timeoutMs: 500 }),
    browser.act("click", { ref: ref("Covered"), timeoutMs: 1500 }),
  ]);
  failed(answers[0]!, 422, "action_failed", "is disabled");
  failed(answers[1]!, 422, "action_failed", /covered by <div id="veil" class="overlay">/);
  failed(await browser.act("type", { ref: ref("Read only"), text: "y" }), 422, "action_failed", "not editable");
  failed(
    await browser.act("type", { ref: ref("In fieldset"), text: "y", timeoutMs: 400 }),
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
  failed(await browser.act("click", { ref: ref("Tick"), timeoutMs: 300 }), 422, "action_failed", "not visible");
});

test("what comes soon is waited for", async () => {
  await browser.visit(`${site.url}/block`);
  assert.is((await browser.act("click", { ref: await browser.ref("Late") })).status, 200);
});

test("a click that navigates answers where it led", async () => {
  await browser.visit(site.url);
  assert.is((await browser.act("click", { ref: await browser.ref("Go two") })).body.url, `${site.url}/two`);
  await browser.visit(site.url);
  const slow = await browser.act("click", { ref: await browser.ref("Go slow"), snapshot: "efficient" });
  assert.is(slow.body.url, `${site.url}/slow`);
  assert.match(slow.body.snapshot, "At last");
});

test.run();

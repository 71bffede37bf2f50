/** Values that would be swallowed, run away or bring everything to a halt without a word. */
import * as assert from "uvu/assert";
import { suite } from "../../../support/suite.ts";
import { failed, type SharedBrowser, sharedBrowser, type Site, startSite } from "../support.ts";

const test = suite("browser: values in responses");
let browser: SharedBrowser;
let site: Site;

test.before(async () => {
  site = await startSite({
    "/": `<title>One</title><input type="date" aria-label="Date"><input type="time" aria-label="Time">
      <input type="color" aria-label="Color"><input type="range" min="0" max="10" aria-label="Range">
      <input type="number" aria-label="Number">
      <select aria-label="List"><option value="a">Apple</option><option value="c" disabled>Cherry</option></select>
      <div draggable="true" role="button" tabindex="0">Start</div>
      <div style="position:relative"><button>Goal</button><div class="veil" style="position:absolute;inset:0"></div></div>
      <p>text</p><iframe title="Inner" srcdoc="<button>Framed</button>"></iframe>`,
    "/two": "<title>Two</title><button>Other</button>",
    "/codes": `<title>T\u001b[31mred\u0007</title><button aria-label="B\u001b[2J\u009bx">b</button>
      <a href="/t" title="L\u001b]0;x\u0007"><b>l\u0007</b></a>
      <button onclick="alert('A\u001b[31m\u0008')">Ask</button>`,
  });
  browser = await sharedBrowser();
  await browser.visit(site.url);
});
test.after(async () => {
  await browser.stop();
  await site.stop();
});

const held = async (ref: string): Promise<unknown> =>
  (await browser.act("evaluate", { ref, fn: "(field) => field.value" })).body.result;

test("a field with a picker accepts a valid value, and keeps its old value otherwise", async () => {
  for (const [name, good, expected, bad] of [
    ["Date", "2026-01-31", "2026-01-31", "tomorrow"],
    ["Time", " 12:30 ", "12:30", "noon"],
    ["Color", "#00FF00", "#00ff00", "no colour"],
    ["Range", "7", "7", "99"],
    ["Number", "12.5", "12.5", "a dozen"],
  ] as const) {
    const ref = await browser.ref(name);
    for (const slowly of [false, true]) {
      assert.is((await browser.act("type", { ref, text: good, slowly })).status, 200, name);
      assert.is(await held(ref), expected);
      failed(
        await browser.act("type", { ref, text: bad, slowly }),
        422,
        "action_failed",
        "does not accept",
      );
      assert.is(await held(ref), expected, `${name} keeps its value`);
    }
    failed(
      await browser.act("fill", { fields: [{ ref, value: bad }] }),
      422,
      "action_failed",
      "does not accept",
    );
  }
  const ref = await browser.ref("Date");
  assert.is((await browser.act("type", { ref, text: "" })).status, 200);
  assert.is(await held(ref), "");
});

test("an option that is disabled, and a goal that is covered, are named", async () => {
  const list = await browser.ref("List");
  failed(
    await browser.act("select", { ref: list, values: ["c"] }),
    422,
    "action_failed",
    "the option is disabled",
  );
  const fields = { startRef: await browser.ref("Start"), endRef: await browser.ref("Goal") };
  failed(
    await browser.act("drag", fields),
    422,
    "action_failed",
    /"Goal" .* is covered by <div class="veil">/,
  );
});

test("a result of any shape is returned, and none grows without end", async () => {
  const result = async (fn: string): Promise<unknown> =>
    (await browser.act("evaluate", { fn })).body.result;
  assert.equal(await result("() => { const a = { b: 1 }; a.self = a; a.list = [a]; return a; }"), {
    b: 1,
    self: "[circular]",
    list: ["[circular]"],
  });
  assert.equal(await result("() => { const twin = { x: 1 }; return [twin, twin]; }"), [
    { x: 1 },
    { x: 1 },
  ]);
  assert.equal(
    await result(
      "() => ({ e: new Error('oh'), r: /a/g, n: 1n, bytes: new Uint8Array(2), gone: undefined })",
    ),
    {
      e: "Error: oh",
      r: "/a/g",
      n: "1",
      bytes: [0, 0],
    },
  );
  for (const fn of [
    "() => { let a = {}; for (let i = 0; i < 60; i++) a = { x: a, y: a }; return a; }",
    "() => { const text = 'x'.repeat(1e6); return Array(10000).fill([text]); }",
  ])
    failed(await browser.act("evaluate", { fn }), 422, "action_failed", "too large");
  const deep = await browser.act("evaluate", {
    fn: "() => { let a = []; for (let i = 0; i < 120; i++) a = [a]; return a; }",
  });
  assert.match(JSON.stringify(deep.body), "too deep");
});

test("an element that is not a frame is bad input, and a removed frame is a stale ref", async () => {
  for (const frame of ["p", await browser.ref("Goal")])
    failed(
      await browser.get("/snapshot", { frame }),
      400,
      "invalid_request_error",
      /`frame` must select an iframe/,
    );
  const { snapshot } = (await browser.get("/snapshot", { frame: "iframe" })).body;
  assert.match(snapshot, "Framed");
  const removedFrame = (await browser.get("/snapshot")).body.snapshot.match(
    /iframe \[ref=(\d+)\]/,
  )[1];
  await browser.visit(`${site.url}/two`);
  failed(
    await browser.get("/snapshot", { frame: removedFrame }),
    404,
    "ref_not_found",
    "new snapshot",
  );
});

test("the counts of a difference match the shown lines", async () => {
  const first = (await browser.get("/snapshot", { diff: true })).body;
  assert.ok(first.stats.lines > 0 && first.stats.interactive === 1);
  const { snapshot, refs, stats } = (await browser.get("/snapshot", { diff: true })).body;
  assert.equal([snapshot, refs, stats], ["", {}, { lines: 0, chars: 0, refs: 0, interactive: 0 }]);
});

test("every key of web storage is returned", async () => {
  for (const key of ["__proto__", "constructor", ""])
    assert.is((await browser.post("/storage/local/set", { key, value: `of ${key}` })).status, 200);
  const { values } = (await browser.get("/storage/local")).body;
  assert.equal(Object.entries(values).sort(), [
    ["", "of "],
    ["__proto__", "of __proto__"],
    ["constructor", "of constructor"],
  ]);
  const storedValues = (await browser.get("/storage/local", { key: "__proto__" })).body.values;
  assert.equal(Object.entries(storedValues), [["__proto__", "of __proto__"]]);
  assert.is((await browser.post("/storage/local/clear")).status, 200);
});

test("headers that would prevent all loading are refused", async () => {
  for (const headers of [
    { Host: "x" },
    { "content-length": "5" },
    { "Proxy-Authorization": "x" },
    { upgrade: "x" },
  ])
    failed(await browser.post("/set/headers", { headers }), 400, "invalid_request_error", "header");
  for (const value of ["a\u0001", "a\u007f", "a\nb"])
    failed(
      await browser.post("/set/headers", { headers: { a: value } }),
      400,
      "invalid_request_error",
      "control",
    );
  await browser.visit(site.url);
});

test("names of Object.prototype are ordinary names", async () => {
  const { profile, cdpPort, driver } = (
    await browser.post("/profiles/create", { name: "constructor" })
  ).body;
  assert.equal([profile, driver], ["constructor", "managed"]);
  assert.ok(cdpPort >= 18_800 && cdpPort <= 18_899, String(cdpPort));
  for (const name of ["Constructor", "PORTICO"])
    failed(await browser.post("/profiles/create", { name }), 409, "conflict", "already");
  assert.is((await browser.del("/profiles/constructor")).status, 200);
  for (const level of ["constructor", "toString", "__proto__"])
    failed(await browser.get("/console", { level }), 400, "invalid_request_error", "level");
  await browser.get("/", { constructor: "x", __proto__: "y" });
});

test("a contradictory profile is refused", async () => {
  const managed = { name: "far", driver: "managed", cdpUrl: "http://127.0.0.1:1" };
  failed(await browser.post("/profiles/create", managed), 400, "invalid_request_error", "cdpUrl");
  failed(await browser.post("/start?profile=usual"), 409, "conflict", "9222");
});

test("no message holds terminal codes, whatever the caller named; a function that never comes true says how long", async () => {
  failed(
    await browser.post("/response/body", { url: "\u001b[31mred", timeoutMs: 50 }),
    504,
    "timeout",
    "response from red",
  );
  failed(
    await browser.act("wait", { fn: "false", timeoutMs: 120 }),
    504,
    "timeout",
    "timed out after 120 ms",
  );
});

test("nothing that a page calls itself or its parts holds terminal codes", async () => {
  await browser.visit(`${site.url}/codes`);
  const ask = await browser.ref("Ask");
  const responses = [
    await browser.get("/tabs"),
    await browser.get("/snapshot"),
    await browser.get("/snapshot", { mode: "efficient" }),
    await browser.get("/snapshot", { format: "aria" }),
    await browser.act("click", { ref: ask }),
    await browser.post("/tabs/open", { url: `${site.url}/codes` }),
  ];
  for (const { status, body } of responses) {
    assert.is(status, 200);
    assert.not.match(JSON.stringify(body), /\\u00[01][0-9a-f]|\\[bf]|[\u007f-\u009f]/);
  }
  await browser.del(`/tabs/${responses.at(-1)!.body.targetId}`);
});

test.run();

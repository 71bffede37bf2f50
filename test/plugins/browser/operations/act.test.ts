import { suite } from "../../../support/suite.ts";
import * as assert from "uvu/assert";
import {
  type Answer,
  type SharedBrowser,
  failed,
  type Site,
  sharedBrowser,
  startSite,
} from "../support.ts";

const test = suite("browser: actions");
let browser: SharedBrowser;
let site: Site;

const FORM = `<title>Form</title>
<input aria-label="Name" value="old"><textarea aria-label="Note"></textarea><div contenteditable role="textbox" aria-label="Rich">rich</div>
<input type="checkbox" aria-label="Agree"><input type="radio" name="r" aria-label="Red"><input type="radio" name="r" aria-label="Blue">
<select aria-label="One"><option value="a">Apple<option value="b">Pear</select>
<select aria-label="Many" multiple><option>x<option>y<option>z</select>
<input type="range" aria-label="Range" min="0" max="10" value="5"><input type="date" aria-label="Day">
<button onclick="count(event)" ondblclick="log('dbl')" oncontextmenu="log('context');return false">Button</button>
<div id="hover" onmouseover="log('hover')" role="button" aria-label="Hover">h</div>
<div id="from" draggable="true" role="button" aria-label="From" ondragstart="event.dataTransfer.setData('text','payload')">from</div>
<div id="to" role="button" aria-label="To" ondragover="event.preventDefault()" ondrop="log('drop ' + event.dataTransfer.getData('text'))">to</div>
<form action="/done"><input aria-label="Query" name="q" onkeydown="log('key ' + event.key)"></form>
<p style="margin-top:3000px"><button>Far down</button></p>
<script>window.events=[];function log(e){events.push(e)};function count(e){log('click'+(e.shiftKey?' shift':'')+(e.ctrlKey?' ctrl':''))}</script>`;

test.before(async () => {
  site = await startSite({
    "/": FORM,
    "/done": "<title>Done</title><p>done",
    "/wait": `<title>Wait</title><p id=p>before</p><iframe srcdoc="<p id=q></p><script>setTimeout(()=>q.textContent='in the frame',200)</script>"></iframe>
      <script>setTimeout(()=>{p.textContent='after';history.pushState(0,'','/later?x=1');window.ready=true},150)</script>`,
  });
  browser = await sharedBrowser();
});
test.after(async () => {
  await browser.stop();
  await site.stop();
});
test.before.each(async () => {
  await browser.visit(site.url);
});

const value = async (fn: string): Promise<unknown> =>
  (await browser.act("evaluate", { fn })).body.result;
const events = (): Promise<unknown> => value("events.splice(0)");
const ok = ({ status, body }: Answer): void =>
  assert.equal([status, body.ok, body.error], [200, true, undefined]);

test("click, twice, with another button, with keys held; every form of a ref", async () => {
  const ref = await browser.ref("Button");
  for (const form of [Number(ref), ref, `e${ref}`, `@e${ref}`])
    ok(await browser.act("click", { ref: form }));
  assert.equal(await events(), ["click", "click", "click", "click"]);
  ok(await browser.act("click", { ref, doubleClick: true }));
  assert.equal(await events(), ["click", "click", "dbl"]);
  ok(await browser.act("click", { ref, button: "right" }));
  assert.equal(await events(), ["context"]);
  ok(await browser.act("click", { ref, modifiers: ["Shift", "Control"] }));
  assert.equal(await events(), ["click shift ctrl"]);
  ok(await browser.act("click", { ref: await browser.ref("Far down") }));
  const response = await browser.act("click", { ref });
  assert.equal(Object.keys(response.body).sort(), ["ok", "targetId", "url"]);
});

test("type replaces, slowly goes key by key, submit presses Enter", async () => {
  const name = await browser.ref("Name");
  ok(await browser.act("type", { ref: name, text: "new" }));
  assert.is(await value("document.querySelector('[aria-label=Name]').value"), "new");
  ok(await browser.act("type", { ref: name, text: "" }));
  assert.is(await value("document.querySelector('[aria-label=Name]').value"), "");
  ok(await browser.act("type", { ref: await browser.ref("Rich"), text: "now" }));
  assert.is(await value("document.querySelector('[aria-label=Rich]').textContent"), "now");
  const query = await browser.ref("Query");
  ok(await browser.act("type", { ref: query, text: "ab", slowly: true }));
  assert.equal(await events(), ["key a", "key b"]);
  const sent = await browser.act("type", { ref: query, text: "x y", submit: true });
  ok(sent);
  assert.is(sent.body.url, `${site.url}/done?q=x+y`);
});

test("fill: text, boxes, lists, by declared or natural kind", async () => {
  const { body } = await browser.get("/snapshot");
  const ref = (name: string): string =>
    Object.entries(body.refs as Record<string, { name?: string }>).find(
      ([, info]) => info.name === name,
    )![0];
  ok(
    await browser.act("fill", {
      fields: [
        { ref: ref("Name"), type: "text", value: "Ada" },
        { ref: ref("Note"), value: "two\nlines" },
        { ref: ref("Agree"), type: "checkbox", value: true },
        { ref: ref("Blue"), type: "radio", value: true },
        { ref: ref("One"), type: "select", value: "Pear" },
        { ref: ref("Many"), type: "select", value: ["x", "z"] },
        { ref: ref("Day"), value: "2026-11-21" },
        { ref: ref("Range"), value: 7 },
      ],
    }),
  );
  const form = `() => { const q = (l) => document.querySelector('[aria-label=' + l + ']'); return [q('Name').value, q('Note').value, q('Agree').checked, q('Blue').checked, q('One').value, [...q('Many').selectedOptions].map((o) => o.text), q('Day').value, q('Range').value]; }`;
  assert.equal(await value(form), [
    "Ada",
    "two\nlines",
    true,
    true,
    "b",
    ["x", "z"],
    "2026-11-21",
    "7",
  ]);
  ok(
    await browser.act("fill", {
      fields: [
        { ref: ref("Agree"), value: false },
        { ref: ref("One"), value: "a" },
      ],
    }),
  );
  assert.equal(
    await value(
      "[document.querySelector('[aria-label=Agree]').checked, document.querySelector('[aria-label=One]').value]",
    ),
    [false, "a"],
  );
  const bad = await browser.act("fill", {
    fields: [
      { ref: ref("Name"), value: "x" },
      { ref: 99999, value: "y" },
    ],
  });
  failed(bad, 404, "ref_not_found");
  for (const fields of [undefined, [], [{}], "x", [{ ref: ref("Name"), value: {} }]])
    failed(await browser.act("fill", { fields }), 400, "invalid_request_error");
});

test("press, hover, scroll, drag", async () => {
  ok(await browser.act("click", { ref: await browser.ref("Query") }));
  for (const key of ["a", "Shift+B", "Backspace"]) ok(await browser.act("press", { key }));
  assert.equal(await events(), ["key a", "key Shift", "key B", "key Backspace"]);
  failed(await browser.act("press", { key: "NoSuchKey" }), 400, "invalid_request_error");
  ok(await browser.act("hover", { ref: await browser.ref("Hover") }));
  assert.equal(await events(), ["hover"]);
  ok(await browser.act("scrollIntoView", { ref: await browser.ref("Far down") }));
  assert.ok(((await value("scrollY")) as number) > 1000);
  ok(
    await browser.act("drag", {
      startRef: await browser.ref("From"),
      endRef: await browser.ref("To"),
    }),
  );
  assert.ok(((await events()) as string[]).includes("drop payload"));
});

test("select, check, uncheck, resize", async () => {
  ok(await browser.act("select", { ref: await browser.ref("One"), values: ["Pear"] }));
  ok(await browser.act("select", { ref: await browser.ref("Many"), values: ["y", "z"] }));
  assert.equal(
    await value(
      "[document.querySelector('[aria-label=One]').value, [...document.querySelector('[aria-label=Many]').selectedOptions].map((o) => o.text)]",
    ),
    ["b", ["y", "z"]],
  );
  const none = await browser.act("select", { ref: await browser.ref("One"), values: ["Kiwi"] });
  failed(none, 422, "action_failed");
  assert.match(none.body.error.message, "no such option");
  const agree = await browser.ref("Agree");
  for (const [kind, checked] of [
    ["check", true],
    ["check", true],
    ["uncheck", false],
  ] as const) {
    ok(await browser.act(kind, { ref: agree }));
    assert.is(await value("document.querySelector('[aria-label=Agree]').checked"), checked);
  }
  ok(await browser.act("resize", { width: 640, height: 480 }));
  assert.equal(await value("[innerWidth, innerHeight]"), [640, 480]);
  failed(await browser.act("resize", { width: 0, height: 480 }), 400, "invalid_request_error");
  ok(await browser.act("resize", { width: 1280, height: 720 }));
});

test("wait: text, its end, address, load state, a function, time", async () => {
  const wait = async (fields: Record<string, unknown>): Promise<Answer> => {
    await browser.post("/navigate", { url: `${site.url}/wait`, waitUntil: "commit" });
    return browser.act("wait", fields);
  };
  for (const fields of [
    { text: "after" },
    { text: "in the frame" },
    { textGone: "before" },
    { url: "/later" },
    { url: "**/later*" },
    { loadState: "networkidle" },
    { fn: "window.ready" },
    { fn: "() => window.ready === true" },
    { timeMs: 20 },
    { text: "after", url: "later", fn: "window.ready" },
  ]) {
    assert.equal(
      [JSON.stringify(fields), (await wait(fields)).status],
      [JSON.stringify(fields), 200],
    );
  }
  for (const fields of [
    { text: "never" },
    { textGone: "after" },
    { url: "never" },
    { fn: "false" },
  ]) {
    failed(await browser.act("wait", { ...fields, timeoutMs: 250 }), 504, "timeout");
  }
  for (const fields of [{}, { fn: "1 +" }, { loadState: "soon" }, { timeMs: -1 }])
    failed(await browser.act("wait", fields), 400, "invalid_request_error");
});

test("evaluate: expressions, functions, promises, statements, elements", async () => {
  const cases: [string, unknown][] = [
    ["1 + 1", 2],
    ["() => [1, { a: null }]", [1, { a: null }]],
    ["async () => 'late'", "late"],
    ["const a = 3; return a", 3],
    ["undefined", null],
    ["function named() { return this === window }", false],
    ["10n", "10"],
    ["document.title", "Form"],
  ];
  for (const [fn, expected] of cases.filter(([fn]) => !fn.startsWith("function")))
    assert.equal([fn, await value(fn)], [fn, expected]);
  const ref = await browser.ref("Name");
  assert.is(
    (await browser.act("evaluate", { fn: "(element) => element.value", ref })).body.result,
    "old",
  );
  const slow =
    "(element) => { element.remove(); return new Promise((done) => setTimeout(done, 400, 'gone')) }";
  assert.is(
    (await browser.act("evaluate", { fn: slow, ref })).body.result,
    "gone",
    "it may remove its element",
  );
  failed(await browser.act("evaluate", { fn: slow, ref }), 404, "ref_not_found");
  const thrown = await browser.act("evaluate", { fn: "() => { throw new Error('my own') }" });
  failed(thrown, 422, "action_failed");
  assert.match(thrown.body.error.message, "my own");
  assert.not.match(thrown.body.error.message, / at |\n/);
  failed(await browser.act("evaluate", { fn: "(((" }), 400, "invalid_request_error");
  failed(
    await browser.act("evaluate", { fn: "new Promise(() => {})", timeoutMs: 200 }),
    504,
    "timeout",
  );
});

test("batch: in order, stops at the first failure unless the request says otherwise", async () => {
  const name = await browser.ref("Name");
  const actions = [
    { kind: "type", ref: name, text: "b" },
    { kind: "click", ref: 99999 },
    { kind: "evaluate", fn: "document.querySelector('[aria-label=Name]').value" },
  ];
  const stopped = (await browser.act("batch", { actions })).body;
  assert.equal(
    [stopped.ok, stopped.result.map((outcome: { ok: boolean }) => outcome.ok)],
    [false, [true, false]],
  );
  assert.is(stopped.result[1].error.code, "ref_not_found");
  const through = (await browser.act("batch", { actions, stopOnError: false })).body;
  assert.equal(
    through.result.map((outcome: { ok: boolean }) => outcome.ok),
    [true, false, true],
  );
  assert.is(through.result[2].result, "b");
  const good = (await browser.act("batch", { actions: [actions[0], actions[2]] })).body;
  assert.equal([good.ok, good.result[1]], [true, { ok: true, kind: "evaluate", result: "b" }]);
  const nested = (
    await browser.act("batch", {
      actions: [{ kind: "batch", actions: [] }, { kind: "clik" }],
      stopOnError: false,
    })
  ).body;
  assert.equal(
    nested.result.map((outcome: { error: { param: string } }) => outcome.error.param),
    ["actions[0].kind", "actions[1].kind"],
  );
  failed(await browser.act("batch", { actions: [] }), 400, "invalid_request_error");
});

test("an action of a batch has a timeout that a timer can keep, or is refused for it", async () => {
  const timeouts = [0, -1, 1.5, 600_001, 3_000_000_000, "soon", []];
  const actions = timeouts.map((timeoutMs) => ({ kind: "evaluate", fn: "1", timeoutMs }));
  const { body } = await browser.act("batch", { actions, stopOnError: false });
  assert.equal(
    body.result.map(({ error }: { error?: { code: string; param: string } }) => [
      error?.code,
      error?.param,
    ]),
    timeouts.map((_, i) => ["invalid_request_error", `actions[${i}].timeoutMs`]),
  );
  const good = { actions: [{ kind: "evaluate", fn: "1", timeoutMs: 600_000 }] };
  assert.ok((await browser.act("batch", good)).body.ok);
});

test("close", async () => {
  const { targetId } = (await browser.post("/tabs/open", { url: site.url })).body;
  const response = await browser.act("close", { targetId });
  assert.equal([response.status, response.body.closed], [200, true]);
  failed(await browser.act("close", { targetId }), 404, "tab_not_found");
});

test("an invalid action is refused with the reason", async () => {
  const ref = await browser.ref("Button");
  const cases: [object, string][] = [
    [{}, "kind"],
    [{ kind: "clik", ref }, "kind"],
    [{ kind: "click" }, "ref"],
    [{ kind: "click", ref: "#button" }, "ref"],
    [{ kind: "click", ref: 0 }, "ref"],
    [{ kind: "click", selector: "#button" }, "selector"],
    [{ kind: "click", ref, button: "side" }, "button"],
    [{ kind: "click", ref, modifiers: ["Hyper"] }, "modifiers[0]"],
    [{ kind: "type", ref }, "text"],
    [{ kind: "select", ref, values: "a" }, "values"],
    [{ kind: "drag", startRef: ref }, "endRef"],
    [{ kind: "constructor" }, "kind"],
  ];
  for (const [body, param] of cases) {
    const response = await browser.post("/act", body);
    assert.equal(
      [JSON.stringify(body), response.status, response.body.error.code, response.body.error.param],
      [JSON.stringify(body), 400, "invalid_request_error", param],
    );
  }
  assert.match((await browser.act("clik", { ref })).body.error.message, "Did you mean click");
  assert.match((await browser.act("click", { selector: "#x" })).body.error.message, "snapshot");
});

test.run();

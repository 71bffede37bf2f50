/** Small replicas of what real editors and component libraries do; `npm run pages` operates the libraries themselves. */
import * as assert from "uvu/assert";
import { suite } from "../../../support/suite.ts";
import { failed, type SharedBrowser, sharedBrowser, type Site, startSite } from "../support.ts";

const test = suite("browser: editors and component libraries that draw what they show");
let browser: SharedBrowser;
let site: Site;

/** Takes keys by a hidden text area, shows line numbers, and puts the selection into the text area when it is copied. */
const LINE_NUMBERS = `<div id=ed><div style="overflow:hidden;position:relative;width:3px;height:0">
<textarea id=proxy aria-label=Code style="position:absolute;bottom:-1em;width:1000px;height:1em;padding:0"></textarea></div><div id=shown></div></div>
<script>
let held = "before it was", all = false;
const draw = () => shown.innerHTML = held.split("\\n").map((line, i) => "<div>" + (i + 1) + "</div><pre>" + line + "</pre>").join("");
const write = (text) => { held = all ? text : held + text; all = false; draw(); };
proxy.onkeydown = (e) => {
  if (e.ctrlKey && e.key === "a") { all = true; e.preventDefault(); }
  else if (/^Arrow/.test(e.key)) all = false;
  else if (/^(Delete|Backspace)$/.test(e.key) && all) write("");
  else if (e.key === "Enter") { write("\\n"); e.preventDefault(); }
};
proxy.oninput = () => { const text = proxy.value; proxy.value = ""; if (!window.stuck) write(text); };
proxy.addEventListener("copy", () => { proxy.value = all ? held : ""; proxy.select(); });
draw();
</script>`;

/** Takes keys by an element without width that has an edit context; shows only the first line of its text. */
const EDIT_CONTEXT = `<div id=ed role=code style="width:400px;height:60px;position:relative;overflow:hidden">
<div id=proxy class=native-edit-context role=textbox aria-label=Code tabindex=0 style="position:absolute;left:30px;width:0;height:19px"></div>
<div id=shown></div></div><p>Plain text</p>
<script>
let held = "before it was", all = false;
const draw = () => shown.textContent = "1" + held.split("\\n")[0];
const write = (text) => { held = all ? text : held + text; all = false; draw(); };
const context = proxy.editContext = new EditContext();
context.addEventListener("textupdate", ({ text }) => { context.updateText(0, context.text.length, ""); if (!window.stuck) write(text); });
proxy.onkeydown = (e) => {
  if (e.ctrlKey && e.key === "a") all = true;
  else if (/^Arrow/.test(e.key)) all = false;
  else if (/^(Delete|Backspace)$/.test(e.key) && all) write("");
  else if (e.key === "Enter") write("\\n");
  else return;
  e.preventDefault();
};
document.addEventListener("copy", (e) => { if (!all) return; e.clipboardData.setData("text/plain", held); e.preventDefault(); });
draw();
</script>`;

/** An editable element with line numbers, which reads what was typed into it some time after the input event. */
const LATE_READER = `<div id=ed contenteditable role=textbox aria-label=Code></div>
<script>
let held = "before it was", all = false, reading;
const draw = () => {
  ed.innerHTML = '<div contenteditable=false>1</div><pre></pre>';
  ed.lastChild.textContent = held || "\\u200b";
};
const readShown = () => ed.lastChild.innerText.replace("\\u200b", "");
const isPending = () => reading !== undefined;
const write = (text) => {
  if (window.stuck && text !== "") return draw();
  held = isPending() ? readShown() + text : all ? text : held + text;
  all = false;
  clearTimeout(reading);
  reading = undefined;
  draw();
};
ed.onkeydown = (e) => {
  if (e.ctrlKey && e.key === "a") { all = true; getSelection().selectAllChildren(ed.lastChild); }
  else if (/^Arrow/.test(e.key)) all = false;
  else if (/^(Delete|Backspace)$/.test(e.key) && all) write("");
  else if (e.key === "Enter") write("\\n");
  else return;
  e.preventDefault();
};
ed.onkeypress = (e) => { write(e.key); e.preventDefault(); };
ed.oninput = () => {
  clearTimeout(reading);
  reading = setTimeout(() => { if (!window.stuck) held = readShown(); all = false; reading = undefined; draw(); }, 120);
};
ed.addEventListener("copy", (e) => { e.clipboardData.setData("text/plain", all ? held : ""); e.preventDefault(); });
ed.addEventListener("paste", (e) => { write(e.clipboardData.getData("text/plain")); e.preventDefault(); });
draw();
</script>`;

/** As React does it: its root listens for everything and has an empty handler; what it clicks has an empty one too. */
const FRAMEWORK = `<div id=root><button>Other</button><div id=day>Fifth of May</div><a id=today>Today</a></div>
<script>for (const type of ["click","dblclick","keydown","keyup","mousedown","mouseup","pointerdown","pointerup","input","change","focusin","focusout","drop","copy"])
  root.addEventListener(type, () => {});
root.onclick = day.onclick = today.onclick = () => {};</script>`;

const MORE = `<h1 id=role>Story</h1><div contenteditable role=presentation id=pres><pre>before it was</pre></div>
<ul><li draggable=true>Draggable card</li></ul><div id=zone style="padding:9px">Drop zone</div>
<div role=combobox aria-label=Fruit aria-expanded=false tabindex=0>Choose</div>
<script>zone.addEventListener("drop", () => {})</script>`;

test.before(async () => {
  site = await startSite({
    "/line-numbers": LINE_NUMBERS,
    "/edit-context": EDIT_CONTEXT,
    "/late-reader": LATE_READER,
    "/framework": FRAMEWORK,
    "/more": MORE,
  });
  browser = await sharedBrowser();
});
test.after(async () => {
  await browser.stop();
  await site.stop();
});

const held = async (): Promise<unknown> =>
  (await browser.act("evaluate", { fn: "held" })).body.result;

const TEXTS = ["word", "", "1", "two lines\nof text", "if (a) { b(); }"];

for (const path of ["/line-numbers", "/edit-context", "/late-reader"])
  for (const slowly of [false, true])
    test(`${path}${slowly ? ", slowly" : ""}: a 200 means that the editor contains the text`, async () => {
      await browser.visit(site.url + path);
      const ref = await browser.ref("Code", "textbox");
      for (const text of TEXTS) {
        const { status, body } = await browser.act("type", { ref, text, slowly });
        assert.equal([status, body.value, await held()], [200, undefined, text]);
      }
    });

test("an editor without its own size is in every view, and its container accepts the text too", async () => {
  await browser.visit(`${site.url}/edit-context`);
  for (const view of [{}, { interactive: true }, { mode: "efficient" }]) {
    const { body } = await browser.get("/snapshot", view);
    assert.match(body.snapshot, /textbox "Code".*\[ref=/);
  }
  const { body } = await browser.get("/snapshot");
  const ref = /- code \[ref=(\d+)\]/.exec(body.snapshot)?.[1];
  assert.is((await browser.act("type", { ref, text: "by the container" })).status, 200);
  assert.is(await held(), "by the container");
  const paragraph = /paragraph \[ref=(\d+)\]/.exec(body.snapshot)?.[1];
  failed(await browser.act("type", { ref: paragraph, text: "x" }), 422, "action_failed");
});

test("an editor that keeps its old text is 422, whatever it displays beside the text", async () => {
  await browser.visit(`${site.url}/line-numbers`);
  await browser.act("evaluate", { fn: "window.stuck = true" });
  const ref = await browser.ref("Code");
  failed(await browser.act("type", { ref, text: "word" }), 422, "action_failed");
  assert.is(await held(), "before it was");
});

for (const path of ["/line-numbers", "/edit-context", "/late-reader"])
  for (const [what, old, text] of [
    ["an empty editor whose line number is the text", "", "1"],
    ["three empty lines", "\n\n", "123"],
    ["a text that went, and only the line number is left", "gone", "1"],
  ] as const)
    test(`${path}: digits that the editor ignores are 422: ${what}`, async () => {
      await browser.visit(site.url + path);
      const ref = await browser.ref("Code", "textbox");
      assert.is((await browser.act("type", { ref, text: old })).status, 200);
      await browser.act("evaluate", { fn: "window.stuck = true" });
      failed(await browser.act("type", { ref, text }), 422, "action_failed");
    });

test("the contents of a framework's root are listed, and the root itself is not", async () => {
  await browser.visit(`${site.url}/framework`);
  const { body } = await browser.get("/snapshot", { interactive: true });
  const lines = (body.snapshot as string).split("\n").map((line) => line.replace(/ \[.*\]/, ""));
  assert.equal(lines, ['- button "Other"', "- generic: Fifth of May", '- button "Today"']);
});

test("an editable element that claims to be mere presentation, a draggable and a drop zone are listed", async () => {
  await browser.visit(`${site.url}/more`);
  const { body } = await browser.get("/snapshot", { interactive: true });
  for (const line of [/- textbox.*before it was/, /Draggable card/, /Drop zone/])
    assert.match(body.snapshot, line);
  assert.is(
    (await browser.act("evaluate", { fn: "pres.getAttribute('role')" })).body.result,
    "presentation",
  );
});

test("a drag onto itself and a selection from a list that the page draws are refused", async () => {
  await browser.visit(`${site.url}/more`);
  const ref = await browser.ref("Fruit");
  const refs = { startRef: ref, endRef: `@e${String(ref).replace(/\D/g, "")}` };
  failed(await browser.act("drag", refs), 400, "invalid_request_error");
  failed(await browser.act("select", { ref, values: ["Apple"] }), 422, "action_failed", /[Cc]lick/);
});

test.run();

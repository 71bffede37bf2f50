import { suite } from "../../../support/suite.ts";
import * as assert from "uvu/assert";
import { type SharedBrowser, sharedBrowser, type Site, startSite } from "../support.ts";

const test = suite("browser: operable elements are listed");
let browser: SharedBrowser;
let site: Site;

const PAGE = `<!doctype html><title>Operable</title><h2>Reply</h2><div id=empty contenteditable style="min-height:30px"></div>
<div contenteditable aria-label="Message" style="min-height:30px"></div><div contenteditable data-placeholder="Write a note"><p>draft</p></div>
<iframe title="Rich text" srcdoc="<body contenteditable=true><p>old</p></body>"></iframe><table><tr><td contenteditable>10</td></tr></table>
<details><summary>More options</summary><button>Inside</button></details><div tabindex=0>Plain focusable</div>
<ul><li onclick="document.title='row'">Row with a handler</li><li id=late>Row with a listener</li><li id=prop>Row with a property</li><li>Plain row</li></ul>
<canvas width=200 height=80 onclick="document.title='canvas'"></canvas>
<map name=m><area shape=rect coords="0,0,40,40" href="#area" alt="Area one"></map><img usemap="#m" width=40 height=40 alt="" src="data:image/gif;base64,R0lGODlhAQABAAAAACw=">
<script>late.addEventListener("pointerdown",()=>{});prop.onclick=()=>{};window.changes=0;new MutationObserver(all=>changes+=all.length).observe(document.querySelector("ul"),{subtree:true,attributes:true,childList:true})</script>`;
const MODAL = `<!doctype html><title>Modal</title><main><button>Behind</button></main><dialog id=d aria-label="Sure?"><button>Yes</button></dialog><script>d.showModal()</script>`;
const PNG = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  "base64",
);

const PDF =
  "%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj 2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj 3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 99 99]>>endobj trailer<</Root 1 0 R>>";

test.before(async () => {
  site = await startSite({
    "/": PAGE,
    "/modal": MODAL,
    "/document": (_req, res) =>
      void res.writeHead(200, { "content-type": "application/pdf" }).end(PDF),
    "/picture": (_req, res) => void res.writeHead(200, { "content-type": "image/png" }).end(PNG),
  });
  browser = await sharedBrowser();
});
test.after(async () => {
  await browser.stop();
  await site.stop();
});

const VIEWS: Record<string, unknown>[] = [{ interactive: true }, { mode: "efficient" }];

for (const view of VIEWS) {
  test(`each operable element has a ref in a view of ${JSON.stringify(view)}`, async () => {
    await browser.visit(site.url);
    const { snapshot } = (await browser.get("/snapshot", view)).body;
    for (const line of [
      /textbox \[ref=/,
      /textbox "Message" \[ref=/,
      /textbox "Write a note" .*draft/,
      /textbox .*: old/,
      /textbox "10" \[ref=/,
      /ref=.*More options|More options.*ref=/,
      /ref=.*Plain focusable/,
      /ref=.*Row with a handler/,
      /ref=.*Row with a listener/,
      /ref=.*Row with a property/,
      /"canvas" \[ref=/,
      /Area one/,
    ])
      assert.match(snapshot, line);
    assert.not.match(snapshot, /Plain row/);
  });
}

test("an empty editable element has a ref for typing in the whole view; refs are stable; the page cannot detect them", async () => {
  await browser.visit(site.url);
  const { snapshot } = (await browser.get("/snapshot")).body;
  const [, ref] = /- textbox \[ref=(\d+)\]/.exec(snapshot) ?? [];
  assert.is((await browser.get("/snapshot")).body.snapshot, snapshot);
  assert.is((await browser.act("type", { ref, text: "hello" })).status, 200);
  const { result } = (
    await browser.act("evaluate", {
      fn: "[empty.textContent, empty.getAttribute('role'), changes, getComputedStyle(late).cursor]",
    })
  ).body;
  assert.equal(result, ["hello", null, 0, "auto"]);
});

test("elements behind an open modal dialog are marked", async () => {
  await browser.visit(`${site.url}/modal`);
  for (const view of [{}, { interactive: true }]) {
    const lines = ((await browser.get("/snapshot", view)).body.snapshot as string).split("\n");
    for (const line of lines.filter((candidate) => /"(Yes|Sure\?)"/.test(candidate)))
      assert.not.match(line, /\[behind\]/);
    for (const line of lines.filter((candidate) => candidate.includes('"Behind"')))
      assert.match(line, /\[behind\]|^((?!ref=).)*$/);
  }
});

test("the snapshot of an image document reports that", async () => {
  await browser.visit(`${site.url}/picture`);
  assert.match((await browser.get("/snapshot")).body.snapshot, /picture \(image\/png\)/);
});

test("every view of a PDF document reports that", async () => {
  await browser.visit(`${site.url}/document`);
  for (const view of [{}, { interactive: true }, { mode: "efficient" }])
    assert.match((await browser.get("/snapshot", view)).body.snapshot, /PDF|application\/pdf/);
});

test.run();

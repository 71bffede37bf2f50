import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { suite } from "../../../support/suite.ts";
import * as assert from "uvu/assert";
import { failed, type SharedBrowser, sharedBrowser, type Site, startSite } from "../support.ts";

const test = suite("browser: presses that do not reach their element");
let browser: SharedBrowser;
let site: Site;

/** An open menu that closes, and moves what is below it, as soon as the pointer leaves it. */
const MENU = `<style>.sub{display:none;height:40px}.m:hover .sub{display:block}</style>
  <div class=m><button>Products</button><div class=sub>Sub</div></div>`;
const PAGE = `<!doctype html><title>Evasive</title>${MENU}
<style>.w{position:relative;display:inline-block}.t{display:none;position:absolute;inset:0;background:gold}.w:hover .t{display:block}</style>
<button onclick="log('one')">One</button><br><a href="#there" onclick="log('link')">Go there</a><br>
<button oncontextmenu="log('right');return false">Context</button><br><button ondblclick="log('double')">Double</button><br>
<label><input type=checkbox onclick="log('box')">Box</label><br><a download=a.txt href="/file" onclick="log('file')">File</a><br>
<span><button onmouseover="redraw(this,'again')">Redrawn</button></span><br>
<span><button onmousedown="this.replaceWith(this.cloneNode(true));log('down')">Gone when pressed</button></span><br>
<button onmouseenter="if(!this.n){this.n=1;this.style.marginLeft='200px'}" onclick="log('moved')">Moves once</button><br>
<div class=w><button onclick="log('tip')">With tip</button><div class=t>tip</div></div>
<input type=file id=f hidden onchange="log(this.files[0].name)"><br><a href="/slow">Slow</a><div style="height:60px"></div>
<script>window.events=[];function log(e){events.push(e)}
function redraw(e,name){if(e.drawn)return;const c=e.cloneNode(true);c.drawn=1;c.onclick=()=>log(name);e.replaceWith(c)}</script>`;

test.before(async () => {
  site = await startSite({
    "/": PAGE,
    "/file": (_req, res) =>
      void res.writeHead(200, { "content-disposition": "attachment" }).end("x"),
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

const events = async (): Promise<unknown> =>
  (await browser.act("evaluate", { fn: "events.splice(0)" })).body.result;

async function openMenu(): Promise<void> {
  const response = await browser.act("hover", { ref: await browser.ref("Products") });
  assert.is(response.status, 200);
}

for (const [name, fields, event] of [
  ["One", {}, "one"],
  ["Go there", {}, "link"],
  ["Context", { button: "right" }, "right"],
  ["Double", { doubleClick: true }, "double"],
  ["Box", {}, "box"],
] as const) {
  test(`below a menu that closes when the pointer leaves it, ${name} is clicked once`, async () => {
    const ref = await browser.ref(name);
    await openMenu();
    const response = await browser.act("click", { ref, ...fields });
    assert.equal([response.status, await events()], [200, [event]]);
  });
}

test("the same holds for a batch and a download", async () => {
  const [ref, file] = [await browser.ref("One"), await browser.ref("File")];
  await openMenu();
  const response = await browser.act("batch", { actions: [{ kind: "click", ref: ref }] });
  assert.equal([response.body.ok, await events()], [true, ["one"]]);
  await openMenu();
  assert.is((await browser.post("/download", { ref: file })).status, 200);
  assert.equal(await events(), ["file"]);
});

test("an element that moves once is clicked at its new position, and a rerendered element is clicked in its new form", async () => {
  assert.is((await browser.act("click", { ref: await browser.ref("Moves once") })).status, 200);
  assert.equal(await events(), ["moved"]);
  assert.is((await browser.act("click", { ref: await browser.ref("Redrawn") })).status, 200);
  assert.equal(await events(), ["again"]);
});

test("an element that its own click rerenders is not clicked twice", async () => {
  assert.is(
    (await browser.act("click", { ref: await browser.ref("Gone when pressed") })).status,
    200,
  );
  assert.equal(await events(), ["down"]);
});

test("an element that its own hover covers is 422 with the reason", async () => {
  failed(
    await browser.act("click", { ref: await browser.ref("With tip") }),
    422,
    "action_failed",
    /covered/,
  );
  assert.equal(await events(), []);
});

test("a click ends with the mouse press, regardless of how long the next page takes", async () => {
  const silent = createServer(() => {});
  await new Promise<void>((resolve) => silent.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(silent.address() as AddressInfo).port}/`;
  await browser.act("evaluate", {
    fn: `document.querySelector("a[href='/slow']").href = ${JSON.stringify(url)}`,
  });
  const response = await browser.act("click", { ref: await browser.ref("Slow") });
  assert.is(response.status, 200);
  silent.closeAllConnections();
  silent.close();
});

test.run();

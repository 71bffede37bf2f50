import { mkdir, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { suite } from "../../../support/suite.ts";
import * as assert from "uvu/assert";
import { failed, type SharedBrowser, sharedBrowser, type Site, startSite } from "../support.ts";

const test = suite("browser: places, focus, drags, drops, permissions");
let browser: SharedBrowser;
let site: Site;

const PAGE = `<!doctype html><title>Places</title><style>body{margin:0}</style>
<div role=button id=pad aria-label=Pad style="width:200px;height:100px;background:gold">pad</div><input aria-label=Name value=ab><h1 tabindex=-1>Heading</h1>
<ul><li id=a style="padding:12px">Card A</li><li id=b style="padding:12px">Card B</li></ul>
<div role=button aria-label="Drop files here" id=zone style="padding:40px">drop</div><div role=button aria-label="No zone">nothing</div>
<script>window.events=[];pad.onclick=e=>events.push([e.offsetX,e.offsetY,e.detail]);pad.oncontextmenu=e=>{events.push("context");e.preventDefault()};
let t,on=0;a.onpointerdown=()=>{t=setTimeout(()=>on=1,250)};addEventListener("pointermove",()=>{if(!on)clearTimeout(t)});
addEventListener("pointerup",e=>{clearTimeout(t);if(on){on=0;events.push("dropped on "+document.elementFromPoint(e.clientX,e.clientY).id)}});
zone.ondragover=e=>e.preventDefault();zone.ondrop=async e=>{e.preventDefault();events.push("file "+e.dataTransfer.files[0].name+" "+await e.dataTransfer.files[0].text())}</script>`;

test.before(async () => {
  site = await startSite({ "/": PAGE });
  browser = await sharedBrowser();
});
test.after(async () => {
  await browser.stop();
  await site.stop();
});
test.before.each(async () => {
  await browser.visit(site.url);
});

const evaluate = async (fn: string): Promise<unknown> =>
  (await browser.act("evaluate", { fn })).body.result;

test("click at a place of the page or of an element; outside it is an error", async () => {
  const ref = await browser.ref("Pad");
  assert.is((await browser.act("click", { x: 150, y: 20 })).status, 200);
  assert.is((await browser.act("click", { ref, x: 10, y: 90 })).status, 200);
  assert.is((await browser.act("click", { x: 5, y: 5, button: "right" })).status, 200);
  assert.equal(await evaluate("events.splice(0)"), [[150, 20, 1], [10, 90, 1], "context"]);
  failed(await browser.act("click", { x: 90_000, y: 5 }), 422, "action_failed");
  for (const fields of [{}, { x: 1 }, { ref, y: 1 }])
    failed(await browser.act("click", fields), 400, "invalid_request_error");
});

for (const slowly of [false, true]) {
  test(`type without a ref goes to the focus, slowly: ${slowly}`, async () => {
    failed(await browser.act("type", { text: "x", slowly }), 422, "action_failed");
    await browser.act("click", { ref: await browser.ref("Name") });
    await browser.act("press", { key: "End" });
    assert.is((await browser.act("type", { text: "cd", slowly })).status, 200);
    assert.is(await evaluate("document.querySelector('input').value"), "abcd");
  });
}

test("an element that must be held before a drag is dragged", async () => {
  const response = await browser.act("drag", {
    startRef: await browser.ref("Card A").catch(() => textRef("Card A")),
    endRef: await textRef("Card B"),
  });
  assert.equal([response.status, await evaluate("events")], [200, ["dropped on b"]]);
});

/** Of an element that has no name, by its text. */
async function textRef(text: string): Promise<string> {
  const { body } = await browser.get("/snapshot");
  return new RegExp(`\\[ref=(\\w+)\\][^\\n]*: ${text}`).exec(body.snapshot)?.[1] ?? "";
}

test("upload drops files where no chooser opens, and fails where nothing takes them", async () => {
  const dir = join(tmpdir(), "portico", "uploads");
  await mkdir(dir, { recursive: true });
  await writeFile(join(dir, "pointer-test.txt"), "held");
  const paths = ["pointer-test.txt"];
  const ref = await browser.ref("Drop files here");
  assert.is((await browser.act("upload", { ref, paths })).status, 200);
  assert.equal(await evaluate("events"), ["file pointer-test.txt held"]);
  const none = await browser.ref("No zone");
  failed(await browser.act("upload", { ref: none, paths }), 422, "action_failed");
});

test("permissions are granted until they are cleared, and keep the permission for the location", async () => {
  const states = () =>
    evaluate(
      "Promise.all(['notifications', 'geolocation', 'camera'].map(async (name) => (await navigator.permissions.query({ name })).state))",
    );
  const before = await states();
  const permissions = ["notifications", "camera"];
  assert.is((await browser.post("/set/permissions", { permissions })).status, 200);
  await browser.post("/set/geolocation", { latitude: 1, longitude: 2 });
  assert.equal(await states(), ["granted", "granted", "granted"]);
  await browser.post("/set/geolocation", { clear: true });
  const [notifications, place, camera] = (await states()) as string[];
  assert.equal([notifications, place === "granted", camera], ["granted", false, "granted"]);
  assert.is((await browser.post("/set/permissions", { clear: true })).status, 200);
  assert.equal(await states(), before);
  failed(
    await browser.post("/set/permissions", { permissions: ["to-fly"] }),
    400,
    "invalid_request_error",
  );
  failed(await browser.post("/set/permissions", {}), 400, "invalid_request_error");
});

test.run();

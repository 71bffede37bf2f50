/** Controls that a page has drawn itself: boxes under their labels, things that are dragged with the pointer. */
import * as assert from "uvu/assert";
import { suite } from "../../../support/suite.ts";
import { type SharedBrowser, failed, type Site, sharedBrowser, startSite } from "../support.ts";

const test = suite("browser: controls that a page draws itself");
let browser: SharedBrowser;
let site: Site;

const HIDDEN = `position:absolute;width:1px;height:1px;margin:-1px;overflow:hidden;clip:rect(0,0,0,0)`;

test.before(async () => {
  site = await startSite({
    "/boxes": `<title>Boxes</title><style>.hidden { ${HIDDEN} }</style>
      <p><input type="checkbox" id="before" class="hidden"><label for="before">Before</label></p>
      <p><label>Around <input type="checkbox" id="around" class="hidden"><i>x</i></label></p>
      <p><input type="radio" name="r" id="one" class="hidden"><label for="one">One</label></p>
      <p style="position:relative"><input type="checkbox" id="veiled"><label for="veiled">Veiled</label>
        <span class="veil" style="position:absolute;inset:0"></span></p>
      <div style="position:relative;padding-left:2rem"><input type="checkbox" id="behind" style="position:absolute;left:0;z-index:-1;opacity:0">
        <label for="behind">Behind</label></div>
      <p style="margin-top:3000px"><input type="checkbox" id="away" style="position:absolute;left:-9999px"><label for="away">Away</label></p>
      <p><label style="position:relative;display:inline-block;width:60px;height:34px">
        <input type="checkbox" id="slide" aria-label="Slide" style="opacity:0;width:0;height:0">
        <span style="position:absolute;inset:0;background:#ccc"></span></label></p>
      <p><input type="radio" name="s" id="left" style="position:absolute;clip:rect(0,0,0,0);pointer-events:none"><label for="left">Left</label>
        <input type="radio" name="s" id="right" style="position:absolute;clip:rect(0,0,0,0);pointer-events:none"><label for="right">Right</label></p>
      <p><input type="checkbox" style="width:0;height:0;opacity:0" aria-label="Twin"><input type="checkbox" style="width:0;height:0;opacity:0" aria-label="Twin"></p>
      <p><input type="checkbox" id="off" class="hidden" disabled><label for="off">Off</label></p>`,
    "/drag": `<title>Drag</title>
      <div id="from" role="button" aria-label="From" style="width:50px;height:50px;touch-action:none">from</div>
      <div id="to" role="button" aria-label="To" style="width:150px;height:80px;margin-top:100px">to</div>
      <script>
        // As libraries for sorting do: a drag begins after some pixels, and needs moves after that.
        let start, moves = 0;
        from.onpointerdown = (e) => { start = [e.clientX, e.clientY]; from.setPointerCapture(e.pointerId); };
        from.onpointermove = (e) => { if (start && Math.hypot(e.clientX - start[0], e.clientY - start[1]) > 5) moves++; };
        from.onpointerup = () => { start = undefined; document.title = moves > 1 ? "dragged" : "only clicked"; };
      </script>`,
  });
  browser = await sharedBrowser();
});
test.after(async () => {
  await browser.stop();
  await site.stop();
});

const isChecked = async (id: string): Promise<unknown> =>
  (await browser.act("evaluate", { fn: `document.getElementById("${id}").checked` })).body.result;

test("a box under its own label is clicked on the label", async () => {
  await browser.visit(`${site.url}/boxes`);
  for (const [name, id] of [
    ["Before", "before"],
    ["Around x", "around"],
    ["One", "one"],
    ["Behind", "behind"],
    ["Away", "away"],
    ["Slide", "slide"],
    ["Left", "left"],
    ["Right", "right"],
  ] as const) {
    const ref = await browser.ref(name);
    const check = { ref, timeoutMs: 60_000 };
    assert.is((await browser.act("check", check)).status, 200, name);
    assert.is(await isChecked(id), true, name);
    assert.is((await browser.act("check", check)).status, 200, name);
    assert.is(await isChecked(id), true, name);
  }
  const ref = await browser.ref("Before");
  assert.is((await browser.act("uncheck", { ref, timeoutMs: 60_000 })).status, 200);
  assert.is(await isChecked("before"), false);
  assert.is((await browser.act("click", { ref })).status, 200);
  assert.is(await isChecked("before"), true);
  assert.is((await browser.act("fill", { fields: [{ ref, value: false }] })).status, 200);
  assert.is(await isChecked("before"), false);
});

test("a hidden box has a ref that expires with its page, and no ref if it is ambiguous", async () => {
  await browser.visit(`${site.url}/boxes`);
  const ref = await browser.ref("Slide");
  assert.is(await browser.ref("Slide"), ref);
  const { body } = await browser.get("/snapshot", { interactive: true });
  assert.match(body.snapshot, `- checkbox "Slide" [ref=e${ref}]`);
  assert.match(body.snapshot, /- checkbox "Twin"\n/);
  await browser.visit(`${site.url}/boxes`);
  failed(await browser.act("check", { ref, timeoutMs: 60_000 }), 404, "ref_not_found");
});

test("a box that another element covers or that is disabled has none", async () => {
  await browser.visit(`${site.url}/boxes`);
  failed(
    await browser.act("check", { ref: await browser.ref("Veiled") }),
    422,
    "action_failed",
    /covered by <span/,
  );
  failed(
    await browser.act("check", { ref: await browser.ref("Off") }),
    422,
    "action_failed",
    /disabled/,
  );
  assert.is(await isChecked("veiled"), false);
});

test("a drag is more than one move", async () => {
  await browser.visit(`${site.url}/drag`);
  const drag = await browser.act("drag", {
    startRef: await browser.ref("From"),
    endRef: await browser.ref("To"),
  });
  assert.is(drag.status, 200);
  assert.is((await browser.act("wait", { fn: "document.title === 'dragged'" })).status, 200);
});

test.run();

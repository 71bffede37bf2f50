import { suite } from "../../../support/suite.ts";
import * as assert from "uvu/assert";
import { failed, type SharedBrowser, sharedBrowser, type Site, startSite } from "../support.ts";

const test = suite("browser: typing, and changes by the field");
let browser: SharedBrowser;
let site: Site;

/** A text area hidden in a clip, by which an editor takes keys; the editor draws its text itself. */
const PROXY = `<div id=ed style="position:relative;border:1px solid;min-height:30px"><div style="overflow:hidden;position:relative;width:3px;height:0">
  <textarea aria-label=Code style="position:absolute;bottom:-1em;width:1000px;height:1em;padding:0"></textarea></div><pre id=out>old code</pre></div>
<script>{ const area = document.querySelector("[aria-label=Code]"); let all = false, typed = false;
  area.onkeydown = (e) => { if (e.key === "a" && e.ctrlKey) { all = true; e.preventDefault(); } if (/^(Delete|Backspace)$/.test(e.key) && all) { out.textContent = ""; all = false; } };
  area.oninput = () => { out.textContent = all ? area.value : typed ? out.textContent + area.value : area.value + out.textContent; typed = true; all = false; area.value = ""; }; }</script>`;
const PAGE = `<!doctype html><title>Fields</title><h1>Heading</h1><p>Text</p><div role=textbox aria-label="Fake box">x</div>
<input aria-label=Fixed readonly value=ro><input aria-label=Off disabled value=off><input aria-label=Plain value=old>
<input aria-label=Upper oninput="this.value=this.value.toUpperCase()"><input aria-label=Amount oninput="this.value=Number(this.value.replace(/\\D/g,'')).toLocaleString('en')">
<input aria-label=Stuck value=same oninput="this.value='same'"><input aria-label=Digits oninput="this.value=this.value.replace(/\\D/g,'')">
<input aria-label=Short maxlength=3 value=abc><input aria-label=Secret type=password oninput="this.value=this.value.slice(0,4)">
<input aria-label=Tags onkeydown="if(event.key===','){event.preventDefault();tags.push(this.value);this.value=''}" oninput="if(/,/.test(this.value)){tags.push(...this.value.split(','));this.value=''}">
<div id=rich contenteditable role=textbox aria-label=Rich><p>before it</p><p>was</p></div>
<div id=beside contenteditable role=textbox aria-label=Beside>before it was</div>${PROXY}<p id=o></p>
<script>window.tags=[];addEventListener("keydown",e=>o.textContent+=e.key);
beside.addEventListener("beforeinput",e=>{e.preventDefault();beside.textContent=(e.data||"")+"before it was"});
beside.addEventListener("paste",e=>e.preventDefault())</script>`;

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
const heldBy = (name: string): Promise<unknown> =>
  evaluate(`document.querySelector("[aria-label=${name}]").value`);

for (const slowly of [false, true]) {
  const how = slowly ? "slowly" : "as a whole";
  test(`an element that accepts no text is 422, ${how}, and no key reaches another element`, async () => {
    for (const name of ["Heading", "Fake box", "Fixed", "Off"])
      failed(
        await browser.act("type", { ref: await browser.ref(name), text: "ed", slowly }),
        422,
        "action_failed",
      );
    assert.is(await evaluate("o.textContent"), "");
  });

  test(`a text that the page reformats is 200 with its value, ${how}`, async () => {
    for (const [name, text, value] of [
      ["Plain", "new", undefined],
      ["Upper", "abc", "ABC"],
      ["Amount", "1234567", "1,234,567"],
      ["Short", "abcdef", "abc"],
      ["Secret", "hunter22", "••••"],
    ] as const) {
      const { status, body } = await browser.act("type", {
        ref: await browser.ref(name),
        text,
        slowly,
      });
      assert.equal([name, status, body.value, body.result?.value], [name, 200, value, value]);
    }
  });

  test(`a field that keeps its old text is 422, ${how}`, async () => {
    for (const [name, text] of [
      ["Stuck", "other"],
      ["Digits", "letters"],
      ["Beside", "new words"],
    ] as const)
      failed(
        await browser.act("type", { ref: await browser.ref(name), text, slowly }),
        422,
        "action_failed",
      );
    assert.is(await heldBy("Stuck"), "same");
  });

  test(`editors contain only the new text, ${how}`, async () => {
    for (const text of ["new", "two words", ""]) {
      const rich = await browser.act("type", { ref: await browser.ref("Rich"), text, slowly });
      assert.equal([rich.status, await evaluate("rich.innerText.trim()")], [200, text]);
      const ref = await browser.ref("Code");
      assert.is((await browser.act("type", { ref, text, slowly })).status, 200);
      assert.is(await evaluate("out.textContent"), text);
    }
  });
}

test("a field that turns text into entries may be empty afterwards", async () => {
  const response = await browser.act("type", { ref: await browser.ref("Tags"), text: "a,b" });
  assert.equal([response.status, response.body.value], [200, ""]);
  assert.equal(await evaluate("tags"), ["a", "b"]);
});

test("fill returns the values that the page changed, and stops at a field that keeps its text", async () => {
  const fields = [
    { ref: await browser.ref("Plain"), value: "new" },
    { ref: await browser.ref("Upper"), value: "abc" },
  ];
  const { body } = await browser.act("fill", { fields });
  assert.equal(body.result, { fields: [{ ref: fields[1]!.ref, value: "ABC" }] });
  const stuck = { ref: await browser.ref("Stuck"), value: "x" };
  failed(await browser.act("fill", { fields: [stuck] }), 422, "action_failed");
});

test.run();

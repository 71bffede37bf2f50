import { readFileSync } from "node:fs";
import { suite } from "../../../support/suite.ts";
import * as assert from "uvu/assert";
import { pause } from "../../../../plugins/browser/deadline.ts";
import {
  type Answer,
  type SharedBrowser,
  failed,
  type Site,
  sharedBrowser,
  startSite,
} from "../support.ts";
import { until, untilRight } from "../../../support/until.ts";

const test = suite("browser: snapshots");
let browser: SharedBrowser;
let site: Site;
let other: Site;
let release: (() => void) | undefined;

const MIX = (child: string): string => `<title>Mix</title>
<h1>Hello [ref=1]</h1><p>button "Pay" [ref=2]
- button "Fake" [ref=3]</p>
<form><label>Email <input placeholder="you@x"></label><select aria-label="Colour"><option>Red<option selected>Blue</select>
<button disabled>Save</button><button type=button>Go</button></form>
<div id=host></div><script>host.attachShadow({mode:"open"}).innerHTML="<button>In shadow</button>"</script>
<a href="/two">Next page</a><nav><ul><li><a href="/deep"><span><b>Deep link</b></span></a></ul></nav>
<div onclick="1" style="cursor:pointer">Clickable div</div>
<iframe title="same" srcdoc="<button>Frame button</button><input aria-label='Frame input'>"></iframe>
<iframe title="cross" src="${child}"></iframe>`;

test.before(async () => {
  other = await startSite({
    "/child": "<button>Cross button</button>",
    "/password": "<input type=password aria-label=Cross value=cross-s3cret>",
  });
  site = await startSite({
    "/": (_req, res) =>
      res
        .writeHead(200, { "content-type": "text/html" })
        .end(MIX(`http://localhost:${other.port}/child`)),
    "/two": "<title>Two</title><button>Go</button><p>second",
    "/list": `<title>List</title><ul id=l></ul><button onclick="const li=document.createElement('li');li.innerHTML='<button>New '+l.children.length+'</button>';l.append(li)">Add</button>`,
    "/many": (_req, res) =>
      res
        .writeHead(200, { "content-type": "text/html" })
        .end(
          `<title>Many</title>${Array.from({ length: 2_000 }, (_, i) => `<p>text ${i}<button>b${i}</button>`).join("")}`,
        ),
    "/passwords": `<title>Passwords</title><label>Name <input id=n value="ada"></label>
      <div role=form><label>Secret <input type=password id=p value="top-s3cret"></label><input type=password value=" two  words "></div>
      <label>Shown <input id=s value="seen-by-all"></label><div id=host></div>
      <script>host.attachShadow({mode:"open"}).innerHTML="<input type=password aria-label=Deep value=shadow-s3cret>"</script>
      <iframe id=same srcdoc="<input type=password aria-label=Inner value=frame-s3cret>"></iframe>
      <iframe src="http://localhost:${other.port}/password"></iframe>`,
    "/busy": `<title>Busy</title><button>Go</button><script>
      const occupy = () => { const held = new XMLHttpRequest(); held.open("GET", "/hold", false); held.send(); };</script>`,
    "/hold": (_req, res) => {
      release = () => res.end();
    },
    "/large": (_req, res) =>
      res
        .writeHead(200, { "content-type": "text/html" })
        .end(`<p id="part">small</p>${"<p>text<b>more</b></p>".repeat(8_000)}`),
  });
  browser = await sharedBrowser();
  await browser.visit(site.url);
});
test.after(async () => {
  await browser.stop();
  await site.stop();
  await other.stop();
});

type Info = { role: string; name?: string; native: string };
const keysOf = (body: { refs: Record<string, Info> }, name: string): string[] =>
  Object.entries(body.refs)
    .filter(([, info]) => info.name === name)
    .map(([key]) => key);

test("ai: numbers, frames of every kind, shadow roots; page text imitates nothing", async () => {
  const { status, body } = await browser.get("/snapshot");
  assert.is(status, 200);
  assert.equal(
    [body.ok, body.format, body.title, body.url, body.truncated],
    [true, "ai", "Mix", `${site.url}/`, false],
  );
  const printed = [...body.snapshot.matchAll(/\[ref=([^\]]*)\]/g)].map(
    (match: RegExpMatchArray) => match[1]!,
  );
  assert.ok(printed.length > 10 && printed.every((ref) => /^\d+$/.test(ref)));
  assert.equal(
    printed,
    Object.keys(body.refs).sort((a, b) => printed.indexOf(a) - printed.indexOf(b)),
  );
  assert.is(new Set(printed).size, printed.length);
  for (const name of ["Go", "In shadow", "Frame button", "Cross button", "Next page", "Deep link"])
    assert.is(keysOf(body, name).length, 1, name);
  assert.is(keysOf(body, "Fake").length, 0);
  assert.not.match(body.snapshot, /^\s*- button "Fake"/m);
  assert.is(body.stats.refs, printed.length);
  assert.is(body.stats.lines, body.snapshot.split("\n").length);
  assert.is(body.stats.chars, body.snapshot.length);
  assert.ok(body.stats.interactive >= 9);
});

test("role views: e<n> of the same table", async () => {
  const ai = (await browser.get("/snapshot")).body;
  const go = keysOf(ai, "Go")[0];
  const flat = (await browser.get("/snapshot", { interactive: true })).body;
  assert.equal(keysOf(flat, "Go"), [`e${go}`]);
  assert.ok(
    flat.snapshot
      .split("\n")
      .every((line: string) => line.startsWith("- ") || line.startsWith("  - /")),
    "flat",
  );
  assert.not.match(flat.snapshot, /heading/);
  assert.match(flat.snapshot, "Clickable div");
  const compact = (await browser.get("/snapshot", { compact: true })).body;
  assert.match(compact.snapshot, /heading "Hello/);
  assert.ok(compact.stats.lines < ai.stats.lines);
  const shallow = (await browser.get("/snapshot", { depth: 1 })).body;
  assert.ok(shallow.stats.lines < ai.stats.lines);
  const part = (await browser.get("/snapshot", { selector: "form" })).body;
  assert.equal([keysOf(part, "Go").length, keysOf(part, "Next page").length], [1, 0]);
  // A snapshot of a part must not make the rest unreachable.
  assert.is((await browser.act("hover", { ref: keysOf(ai, "Next page")[0] })).status, 200);
  for (const body of [flat, compact, shallow, part])
    assert.ok(Object.keys(body.refs).every((key) => /^e\d+$/.test(key)));
});

test("frame: by selector or by ref; its refs work, and so do those outside", async () => {
  const ai = (await browser.get("/snapshot")).body;
  const frameRef = Object.entries(ai.refs as Record<string, Info>).find(
    ([, info]) => info.role === "iframe",
  )![0];
  for (const frame of ['iframe[title="same"]', frameRef, `e${frameRef}`]) {
    const { status, body } = await browser.get("/snapshot", { frame });
    assert.is(status, 200, frame);
    assert.equal([keysOf(body, "Frame button").length, keysOf(body, "Go").length], [1, 0]);
  }
  const cross = (await browser.get("/snapshot", { frame: 'iframe[title="cross"]' })).body;
  assert.is((await browser.act("click", { ref: keysOf(cross, "Cross button")[0] })).status, 200);
  assert.is((await browser.act("click", { ref: keysOf(ai, "Go")[0] })).status, 200);
  for (const query of [
    { frame: "iframe.none" },
    { selector: "#none" },
    { selector: "!!" },
    { depth: -1 },
    { format: "html" },
    { mode: "fast" },
    { maxChars: 0 },
    { limit: 0 },
    { interactive: "maybe" },
  ]) {
    const response = await browser.get("/snapshot", query);
    assert.equal(
      [JSON.stringify(query), response.status, response.body.error.code],
      [JSON.stringify(query), 400, "invalid_request_error"],
    );
  }
});

test("efficient: short, flat, compact", async () => {
  const { body } = await browser.get("/snapshot", { mode: "efficient" });
  assert.ok(body.stats.chars < (await browser.get("/snapshot")).body.stats.chars);
  assert.ok(Object.keys(body.refs).every((key) => /^e\d+$/.test(key)));
  assert.not.match(body.snapshot, "/placeholder");
});

test("aria: nodes without refs, depth-first", async () => {
  const { status, body } = await browser.get("/snapshot", { format: "aria" });
  assert.is(status, 200);
  assert.is(body.format, "aria");
  assert.ok(body.nodes.length > 10);
  assert.equal(Object.keys(body.nodes[0]).sort(), ["depth", "name", "role"]);
  const roles = body.nodes.map(
    (node: { role: string; name: string }) => `${node.role} ${node.name}`,
  );
  for (const node of [
    "button Go",
    "button In shadow",
    "button Frame button",
    "button Cross button",
    "link Next page",
  ])
    assert.ok(roles.includes(node), node);
  assert.not.match(body.snapshot, /\[ref=/);
  assert.equal(body.refs, {});
  const few = (await browser.get("/snapshot", { format: "aria", limit: 3 })).body;
  assert.equal([few.nodes.length, few.truncated], [3, true]);
});

interface Labelled {
  path: string;
  labels: { ref: string; box: { x: number; y: number; width: number; height: number } }[];
  refs: Record<string, { name?: string }>;
}

test("labels: a picture, and where each ref is", async () => {
  const labelOf = ({ labels, refs }: Labelled, name: string) =>
    labels.find(({ ref }) => refs[ref]?.name === name);
  // An element in a frame is left out where the frame takes too long to say where it is.
  const body = await untilRight(
    async (): Promise<Labelled> => (await browser.get("/snapshot", { labels: true })).body,
    (snapshot) => labelOf(snapshot, "Cross button") !== undefined,
  );
  const png = readFileSync(body.path);
  assert.is(png.readUInt32BE(0), 0x89504e47);
  assert.ok(body.labels.length >= 8);
  for (const { ref, box } of body.labels) {
    assert.ok(body.refs[ref] !== undefined, ref);
    assert.ok(box.width > 0 && box.height > 0);
  }
  const cross = labelOf(body, "Cross button")!;
  const frame = (
    await browser.act("evaluate", {
      fn: `() => { const b = document.querySelector("iframe[title=cross]").getBoundingClientRect(); return [b.x, b.y]; }`,
    })
  ).body.result;
  assert.ok(
    cross.box.x >= frame[0] && cross.box.y >= frame[1],
    "boxes in frames are in page coordinates",
  );
  assert.is(
    (await browser.act("evaluate", { fn: "document.querySelector('portico-labels')" })).body.result,
    null,
  );
});

test("limits: cut between nodes", async () => {
  const { body } = await browser.get("/snapshot", { maxChars: 400 });
  assert.ok(body.truncated && body.stats.chars <= 400);
  assert.ok(Object.keys(body.refs).every((key) => body.snapshot.includes(`[ref=${key}]`)));
  const tiny = (await browser.get("/snapshot", { maxChars: 60 })).body;
  assert.ok(tiny.truncated && tiny.stats.chars <= 60 && tiny.stats.refs > 0);
  const few = (await browser.get("/snapshot", { limit: 4 })).body;
  assert.ok(few.truncated && few.stats.refs <= 4);
});

test("numbers stay with their elements and are never given twice", async () => {
  const first = (await browser.get("/snapshot")).body;
  const again = (await browser.get("/snapshot")).body;
  assert.equal(again.refs, first.refs);
  await browser.visit(`${site.url}/two`);
  const two = (await browser.get("/snapshot")).body;
  assert.equal(
    Object.keys(two.refs).filter((key) => key in first.refs),
    [],
  );
  await browser.visit(site.url);
  const back = (await browser.get("/snapshot")).body;
  assert.equal(
    Object.keys(back.refs).filter((key) => key in first.refs || key in two.refs),
    [],
  );
});

test("diff: only what changed, per view", async () => {
  await browser.visit(`${site.url}/list`);
  const base = (await browser.get("/snapshot", { diff: true })).body;
  assert.equal(base.diff, { full: true });
  const same = (await browser.get("/snapshot", { diff: true })).body;
  assert.equal([same.snapshot, same.diff], ["", { full: false, added: 0, removed: 0 }]);
  const add = keysOf(base, "Add")[0];
  await browser.act("click", { ref: add });
  const changed = (await browser.get("/snapshot", { diff: true })).body;
  assert.match(changed.snapshot, /^\+ .*button "New 0" \[ref=\d+\]$/m);
  assert.not.match(changed.snapshot, '+ - button "Add"');
  assert.equal(keysOf(changed, "New 0").length, 1);
  assert.is((await browser.act("click", { ref: keysOf(changed, "New 0")[0] })).status, 200);
  assert.equal((await browser.get("/snapshot", { diff: true, interactive: true })).body.diff, {
    full: true,
  });
});

test("the response to an action has a fresh snapshot", async () => {
  await browser.visit(`${site.url}/list`);
  const response = await browser.act("click", {
    ref: await browser.ref("Add"),
    snapshot: "efficient",
  });
  assert.is(response.status, 200);
  assert.match(response.body.snapshot, /button "New 0" \[ref=e\d+\]/);
  assert.is((await browser.act("click", { ref: keysOf(response.body, "New 0")[0] })).status, 200);
  assert.is((await browser.act("press", { key: "a", snapshot: "all" })).status, 400);
});

test("a page that is busy for a while still has its title", async () => {
  await browser.visit(`${site.url}/busy`);
  await browser.act("evaluate", { fn: "void setTimeout(occupy)" });
  await until("the page to be busy", () => release);
  const pending = browser.get("/snapshot");
  // Longer than the page is waited for before its tree is asked for.
  await pause(1_100);
  release!();
  const { body } = await pending;
  assert.equal([body.title, keysOf(body, "Go").length], ["Busy", 1]);
});

test("a page of many nodes is cut, and its first refs work", async () => {
  await browser.visit(`${site.url}/many`);
  const { status, body } = await browser.get("/snapshot");
  assert.equal([status, body.truncated], [200, true]);
  assert.ok(body.stats.chars <= 80_000);
  const efficient = await browser.get("/snapshot", { mode: "efficient" });
  assert.ok(efficient.body.stats.chars <= 10_000);
  assert.is((await browser.act("click", { ref: keysOf(body, "b3")[0] })).status, 200);
});

test("a page that is too large for the time says how large it is, and a part of it can be had", async () => {
  await browser.visit(`${site.url}/large`);
  // A page that has not been laid out yet, or a machine that is busy, may take a second to say anything.
  const response = await untilRight(
    () => browser.get("/snapshot", { timeoutMs: 100 }),
    ({ body: { error } }) => !error?.message.includes("does not respond"),
  );
  failed(response, 504, "timeout", /the page has 160\d\d elements.*selector/);
  const { body } = await browser.get("/snapshot", { selector: "#part" });
  assert.match(body.snapshot, "small");
});

test("the values of password fields are dots in every format, also in frames and shadow roots, and stay in the page", async () => {
  await browser.visit(`${site.url}/passwords`);
  const views = [
    "",
    "interactive=true",
    "mode=efficient",
    "format=aria",
    "labels=true",
    "compact=true",
  ];
  for (const view of [
    ...views,
    "selector=%23p",
    "selector=div",
    "frame=%23same",
    "diff=true",
    "depth=9",
  ]) {
    const showsOthers = !/selector|frame|diff/.test(view);
    const responses: Answer[] = [];
    // If a page does not report its password fields within a second, all of its fields are masked.
    await until(`the texts of other fields (${view})`, async () => {
      const response = await browser.get(`/snapshot?${view}`);
      responses.push(response);
      return !showsOthers || /ada[\s\S]*seen-by-all/.test(response.body.snapshot);
    });
    for (const { status, body } of responses) {
      assert.is(status, 200, view);
      assert.not.match(JSON.stringify(body), /s3cret|two +words/, `${view}: ${body.snapshot}`);
      if (view !== "diff=true") assert.match(body.snapshot, /•/, `${view}: ${body.snapshot}`);
    }
  }
  const { body } = await browser.post("/act", {
    kind: "evaluate",
    fn: "() => document.querySelector('#p').value",
  });
  assert.is(body.result, "top-s3cret");
});

test.run();

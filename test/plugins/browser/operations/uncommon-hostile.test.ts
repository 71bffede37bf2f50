/** Documents that are no HTML, elements that nobody can reach, values that a field would swallow in part. */
import * as assert from "uvu/assert";
import { suite } from "../../../support/suite.ts";
import {
  type SharedBrowser,
  failed,
  type Page,
  type Site,
  sharedBrowser,
  startSite,
} from "../support.ts";

const test = suite("browser: uncommon pages and values");
let browser: SharedBrowser;
let site: Site;

const document =
  (type: string, text: string): Page =>
  (_req, res) =>
    void res.writeHead(200, { "content-type": type }).end(text);

test.before(async () => {
  site = await startSite({
    "/svg": document(
      "image/svg+xml",
      `<svg xmlns="http://www.w3.org/2000/svg"><title>Map</title><text y="20">Here</text></svg>`,
    ),
    "/xml": document("application/xml", `<?xml version="1.0"?><root><item>one</item></root>`),
    "/bare": "<title>Bare</title><script>onload = () => document.body.remove()</script>",
    "/nothing":
      "<title>Nothing</title><script>onload = () => document.documentElement.remove()</script>",
    "/form": `<title>Form</title><label>One <select><option value="a">Apple<option value="b">Banana</select></label>
      <label>Two <select><option value="a">Apple<option value="b">Banana</select></label>
      <label>Many <select multiple><option value="a">Apple<option value="b">Banana</select></label>
      <label>Text <input></label><label>Area <textarea></textarea></label>
      <label><input type="checkbox">Box</label><label><input type="radio" name="r">First</label>
      <button onclick="document.title = prompt('name?', 'default')">Ask</button>`,
    "/reach": `<title>Reach</title><button inert>Inert</button>
      <button style="position:absolute;left:-9999px">Outside</button>
      <p style="height:3000px;scroll-behavior:smooth"></p><button onclick="document.title = 'far'">Far</button>`,
  });
  browser = await sharedBrowser();
  await browser.visit(`${site.url}/form`);
});
test.after(async () => {
  await browser.stop();
  await site.stop();
});

test("a document without a body has a snapshot like any other", async () => {
  for (const [path, shown] of [
    ["svg", "Here"],
    ["xml", "item"],
    ["bare", ""],
    ["nothing", ""],
  ] as const) {
    await browser.visit(`${site.url}/${path}`);
    for (const query of [{}, { labels: true }]) {
      const { status, body } = await browser.get("/snapshot", { ...query, timeoutMs: 20_000 });
      assert.is(status, 200, `${path}: ${JSON.stringify(body)}`);
      if (Object.keys(query).length === 0) assert.ok(body.snapshot.includes(shown), body.snapshot);
    }
  }
  await browser.visit(`${site.url}/svg`);
  const { status, body } = await browser.get("/snapshot", { selector: "text", timeoutMs: 20_000 });
  assert.is(status, 200, JSON.stringify(body));
});

test("a single-choice list does not select the first of several values", async () => {
  await browser.visit(`${site.url}/form`);
  const [single, two, many] = [
    await browser.ref("One"),
    await browser.ref("Two"),
    await browser.ref("Many"),
  ];
  failed(
    await browser.act("select", { ref: single, values: ["b", "a"] }),
    422,
    "action_failed",
    "accepts only one",
  );
  const fields = [{ ref: two, value: ["b", "a"] }];
  failed(await browser.act("fill", { fields }), 422, "action_failed", "accepts only one");
  const chosen = async (ref: string): Promise<unknown> =>
    (
      await browser.act("evaluate", {
        ref,
        fn: "(list) => [...list.selectedOptions].map((o) => o.value)",
      })
    ).body.result;
  assert.equal([await chosen(single), await chosen(two)], [["a"], ["a"]], "nothing has changed");
  assert.equal((await browser.act("select", { ref: many, values: ["a", "b"] })).body.result, [
    "a",
    "b",
  ]);
  assert.equal((await browser.act("select", { ref: single, values: ["b"] })).body.result, ["b"]);
});

test("a value that a field cannot represent is refused", async () => {
  await browser.visit(`${site.url}/form`);
  const [text, box, radio] = [
    await browser.ref("Text"),
    await browser.ref("Box"),
    await browser.ref("First"),
  ];
  const fill = (ref: string, value: unknown) => browser.act("fill", { fields: [{ ref, value }] });
  await fill(box, true);
  for (const [ref, value] of [
    [box, "maybe"],
    [box, 2],
    [box, ["a"]],
    [radio, "blue"],
    [text, ["a", "b"]],
  ] as const) {
    const response = await fill(ref, value);
    failed(response, 400, "invalid_request_error");
    assert.is(response.body.error.param, "fields[0].value");
  }
  const checked = (await browser.act("evaluate", { ref: box, fn: "(box) => box.checked" })).body
    .result;
  assert.is(checked, true, "a box that was told nonsense stays as it was");
  for (const value of ["off", "No", 0, false, "unchecked"])
    assert.is((await fill(box, value)).status, 200);
});

test("all forms of a line break are equivalent", async () => {
  const ref = await browser.ref("Area");
  for (const slowly of [false, true]) {
    await browser.act("type", { ref, text: "a\r\nb\rc\nd", slowly });
    assert.is(
      (await browser.act("evaluate", { ref, fn: "(area) => area.value" })).body.result,
      "a\nb\nc\nd",
    );
  }
});

test("a prompt that is accepted without a text receives its default", async () => {
  await browser.post("/hooks/dialog", { accept: true });
  await browser.act("click", { ref: await browser.ref("Ask") });
  assert.is((await browser.get("/tabs")).body.tabs[0].title, "default");
});

test("an unreachable address is reported with its reason", async () => {
  await browser.visit(`${site.url}/reach`);
  failed(
    await browser.act("click", { ref: await browser.ref("Inert") }),
    422,
    "action_failed",
    "inert",
  );
  failed(
    await browser.act("click", { ref: await browser.ref("Outside") }),
    422,
    "action_failed",
    "into view",
  );
  assert.is((await browser.act("click", { ref: await browser.ref("Far") })).status, 200);
});

test("a profile cannot be made on the port where other tools look for a browser", async () => {
  for (const more of [{}, { driver: "managed" }, { color: "#112233" }])
    failed(
      await browser.post("/profiles/create", { name: "mine", cdpPort: 9222, ...more }),
      400,
      "invalid_request_error",
      "9222",
    );
  const { profiles } = (await browser.get("/profiles")).body;
  assert.not.ok(profiles.some(({ name }: { name: string }) => name === "mine"));
});

test("a cookie is set as requested, or refused", async () => {
  await browser.visit(`${site.url}/form`);
  const set = (cookie: object) =>
    browser.post("/cookies/set", { cookie: { value: "1", ...cookie } });
  for (const cookie of [
    { name: "path", path: "/deep" },
    { name: "secure", secure: true },
    { name: "address", url: "https://example.com/shop/list", secure: false },
    { name: "both", url: "http://example.com/", path: "/there", sameSite: "None", secure: true },
  ]) {
    assert.is((await set(cookie)).status, 200, cookie.name);
    const { cookies } = (await browser.get("/cookies")).body;
    const { url: _url, ...expected } = cookie;
    const stored = cookies.find(({ name }: { name: string }) => name === cookie.name);
    assert.equal({ ...stored, ...expected }, stored, `${cookie.name}: ${JSON.stringify(stored)}`);
    if (cookie.name === "address")
      assert.equal([stored.domain, stored.path], ["example.com", "/shop/"]);
  }
  failed(await set({ name: "none", sameSite: "None" }), 400, "invalid_request_error", "secure");
  for (const url of ["http://", "http://x:99999", "http://a b"]) {
    failed(
      await set({ name: "url", url }),
      400,
      "invalid_request_error",
      "an http or https address",
    );
    failed(
      await browser.get("/cookies", { url }),
      400,
      "invalid_request_error",
      "an http or https address",
    );
  }
});

test("a time zone is known in any capitals; one that is refused leaves the one before", async () => {
  await browser.visit(`${site.url}/form`);
  const zone = async (): Promise<unknown> =>
    (await browser.act("evaluate", { fn: "new Intl.DateTimeFormat().resolvedOptions().timeZone" }))
      .body.result;
  for (const [zoneName, expected] of [
    ["asia/tokyo", "Asia/Tokyo"],
    ["utc", "UTC"],
    ["EUROPE/berlin", "Europe/Berlin"],
  ]) {
    assert.is(
      (await browser.post("/set/timezone", { timezoneId: zoneName })).status,
      200,
      zoneName,
    );
    assert.is(await zone(), expected);
  }
  // Ours to know, and not the browser's.
  failed(
    await browser.post("/set/timezone", { timezoneId: "us/pacific" }),
    400,
    "invalid_request_error",
  );
  assert.is(await zone(), "Europe/Berlin");
});

test("a value that does not match a pattern is reported in words", async () => {
  const refused = async (more: object): Promise<string> =>
    (await browser.post("/profiles/create", { name: "worded", ...more })).body.error.message;
  for (const [more, words] of [
    [{ args: ["--remote-debugging-port=1"] }, "a switch"],
    [{ color: "red" }, "a colour"],
    [{ cdpUrl: "example" }, "an http"],
    [{ proxy: "ftp://x" }, "socks5"],
    [{ userAgent: "a\nb" }, "single line"],
  ] as const) {
    const message = await refused(more);
    assert.match(message, words);
    assert.not.match(message, /match|\^/);
  }
});

test.run();

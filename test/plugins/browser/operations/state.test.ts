import { suite } from "../../../support/suite.ts";
import * as assert from "uvu/assert";
import { PATIENCE_MS, until } from "../../../support/until.ts";
import {
  type Answer,
  type SharedBrowser,
  failed,
  type Site,
  sharedBrowser,
  startSite,
} from "../support.ts";

const test = suite("browser: console, network and storage of a page");
let browser: SharedBrowser;
let site: Site;

test.before(async () => {
  site = await startSite({
    "/": "<title>Home</title>home",
    "/talk": `<title>Talk</title><script>console.debug('fine');console.log('said','it');console.warn('careful');console.error('bad\\u001b[31m');
      setTimeout(()=>{throw new TypeError('broken')});fetch('/api/items?page=1');fetch('/none');fetch('http://127.0.0.1:9/').catch(()=>{})</script>`,
    "/api/items": (_req, res) =>
      res
        .writeHead(200, { "content-type": "application/json", "x-kind": "items" })
        .end('{"items":[1,2,3]}'),
    "/halves": (req, res) => {
      res.writeHead(200, { "content-type": "text/plain" }).write("who");
      if (req.url !== "/halves?open") res.end("le");
    },
    "/bytes": (_req, res) =>
      res.writeHead(200, { "content-type": "image/png" }).end(Buffer.from([1, 2, 3])),
    "/echo": (req, res) =>
      res.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(req.headers)),
    "/locked": (req, res) => {
      if (req.headers.authorization)
        res.writeHead(200, { "content-type": "text/plain" }).end(req.headers.authorization);
      else res.writeHead(401, { "www-authenticate": 'Basic realm="x"' }).end("no");
    },
    "/frame": `<title>Framed</title><iframe src="/echo"></iframe>`,
  });
  browser = await sharedBrowser();
});
test.after(async () => {
  await browser.stop();
  await site.stop();
});

const value = async (fn: string): Promise<unknown> =>
  (await browser.act("evaluate", { fn })).body.result;
const ok = ({ status, body }: Answer): void =>
  assert.equal([status, body.ok, body.error], [200, true, undefined]);

test("console, errors and requests are kept, filtered, cleared", async () => {
  await browser.visit(`${site.url}/talk`);
  await browser.act("wait", { loadState: "networkidle" });
  const all = (await browser.get("/console")).body.messages as { level: string; text: string }[];
  const logged = all.filter(({ text }) => !text.startsWith("Failed to load"));
  assert.equal(
    logged.map(({ level, text }) => `${level} ${text}`),
    ["debug fine", "info said it", "warning careful", "error bad"],
  );
  const errors = (await browser.get("/console", { level: "error" })).body.messages as {
    level: string;
  }[];
  assert.ok(errors.length >= 1 && errors.every(({ level }) => level === "error"));
  failed(await browser.get("/console", { level: "loud" }), 400, "invalid_request_error");
  const thrown = (await browser.get("/errors", { clear: true })).body.errors;
  assert.equal([thrown.length, thrown[0].name, thrown[0].message], [1, "TypeError", "broken"]);
  assert.equal((await browser.get("/errors")).body.errors, []);
  const requests = (await browser.get("/requests")).body.requests as {
    url: string;
    status: number | null;
    failure: string | null;
    resourceType: string;
    id: string;
    ms: number | null;
    method: string;
    startedAt: number;
  }[];
  const page = requests.find(({ url }) => url.endsWith("/talk"))!;
  assert.equal(Object.keys(page).sort(), [
    "failure",
    "id",
    "method",
    "ms",
    "resourceType",
    "startedAt",
    "status",
    "url",
  ]);
  assert.equal(
    [page.method, page.resourceType, page.status, page.failure],
    ["GET", "document", 200, null],
  );
  assert.is(requests.find(({ url }) => url.endsWith("/none"))!.status, 404);
  const filtered = (await browser.get("/requests", { filter: "/api/", clear: true })).body.requests;
  assert.equal(
    filtered.map(({ url }: { url: string }) => url),
    [`${site.url}/api/items?page=1`],
  );
  assert.equal((await browser.get("/requests")).body.requests, []);
});

test("response bodies: seen or still to come, exactly, in part, by a pattern", async () => {
  await browser.visit(`${site.url}/talk`);
  await browser.act("wait", { loadState: "networkidle" });
  for (const url of [`${site.url}/api/items?page=1`, "/api/items", "**/api/*"]) {
    const { body } = await browser.post("/response/body", { url });
    assert.equal(
      [
        body.ok,
        body.response.url,
        body.response.status,
        body.response.body,
        body.response.truncated,
      ],
      [true, `${site.url}/api/items?page=1`, 200, '{"items":[1,2,3]}', false],
    );
    assert.is(body.response.headers["x-kind"], "items");
  }
  const cut = (await browser.post("/response/body", { url: "/api/items", maxChars: 5 })).body
    .response;
  assert.equal([cut.body, cut.truncated], ['{"ite', true]);
  const coming = browser.post("/response/body", { url: "/bytes", timeoutMs: PATIENCE_MS });
  await browser.act("evaluate", { fn: "setTimeout(() => fetch('/bytes'), 50)" });
  const { response } = (await coming).body;
  assert.equal(
    [response.encoding, Buffer.from(response.body, "base64")],
    ["base64", Buffer.from([1, 2, 3])],
  );
  failed(
    await browser.post("/response/body", { url: "/api/items", next: true, timeoutMs: 150 }),
    504,
    "timeout",
  );
  failed(await browser.post("/response/body", {}), 400, "invalid_request_error");
});

test("a response that arrives during the wait for an older body is not missed", async () => {
  await browser.visit(`${site.url}/`);
  await browser.act("evaluate", { fn: "void fetch('/halves?open')" });
  await until("the first response", async () => {
    const { requests } = (await browser.get("/requests", { filter: "halves" })).body;
    return requests[0]?.status === 200;
  });
  const pending = browser.post("/response/body", { url: "/halves" });
  await browser.act("evaluate", { fn: "void fetch('/halves')" });
  assert.is((await pending).body.response?.body, "whole");
});

test("cookies", async () => {
  await browser.visit(site.url);
  ok(await browser.post("/cookies/set", { cookie: { name: "a", value: "1" } }));
  ok(
    await browser.post("/cookies/set", {
      cookie: { name: "b", value: "2", url: `${site.url}/`, httpOnly: true },
    }),
  );
  ok(
    await browser.post("/cookies/set", {
      cookie: {
        name: "c",
        value: "3",
        domain: "example.com",
        path: "/x",
        sameSite: "Strict",
        secure: true,
      },
    }),
  );
  const { cookies } = (await browser.get("/cookies")).body;
  assert.equal(
    cookies
      .map(
        ({ name, value: v, domain }: { name: string; value: string; domain: string }) =>
          `${name}=${v} ${domain}`,
      )
      .sort(),
    ["a=1 127.0.0.1", "b=2 127.0.0.1", "c=3 example.com"],
  );
  assert.is((await browser.get("/cookies", { url: site.url })).body.cookies.length, 2);
  assert.is(await value("document.cookie"), "a=1");
  for (const cookie of [
    undefined,
    {},
    { name: "x" },
    { name: "x", value: 1 },
    { name: "x", value: "y", url: "file:///x" },
    { name: "x", value: "y", url: site.url, domain: "z" },
    { name: "x", value: "y", sameSite: "Maybe" },
    { name: "bad name;", value: "y", url: site.url },
  ]) {
    failed(await browser.post("/cookies/set", { cookie }), 400, "invalid_request_error");
  }
  ok(await browser.post("/cookies/clear"));
  assert.equal((await browser.get("/cookies")).body.cookies, []);
});

test("storage, of either kind", async () => {
  await browser.visit(site.url);
  for (const kind of ["local", "session"]) {
    ok(await browser.post(`/storage/${kind}/set`, { key: "k", value: "v" }));
    ok(await browser.post(`/storage/${kind}/set`, { key: "length", value: "odd" }));
    assert.equal((await browser.get(`/storage/${kind}`)).body.values, { k: "v", length: "odd" });
    assert.equal((await browser.get(`/storage/${kind}`, { key: "k" })).body.values, { k: "v" });
    assert.is(await value(`${kind}Storage.getItem('k')`), "v");
    ok(await browser.post(`/storage/${kind}/clear`));
    assert.equal((await browser.get(`/storage/${kind}`)).body.values, {});
    failed(await browser.post(`/storage/${kind}/set`, { key: "k" }), 400, "invalid_request_error");
  }
  failed(await browser.get("/storage/indexed"), 400, "invalid_request_error");
  await browser.visit("about:blank");
  failed(await browser.get("/storage/local"), 422, "action_failed");
});

const PROBE = `async () => ({ zone: Intl.DateTimeFormat().resolvedOptions().timeZone, number: (1.5).toLocaleString(), language: navigator.language,
  dark: matchMedia('(prefers-color-scheme: dark)').matches, ratio: devicePixelRatio, phone: /iPhone/.test(navigator.userAgent), touch: navigator.maxTouchPoints > 0,
  place: await new Promise((done) => navigator.geolocation.getCurrentPosition(({ coords }) => done([coords.latitude, coords.longitude, coords.accuracy]), () => done(null))) })`;

test("overrides hold over navigations and in new tabs until they are cleared", async () => {
  await browser.visit(site.url);
  const plain = await value(PROBE);
  const set: [string, object][] = [
    ["timezone", { timezoneId: "Asia/Tokyo" }],
    ["locale", { locale: "de-DE" }],
    ["media", { colorScheme: "dark" }],
    ["device", { name: "iPhone 14" }],
    ["geolocation", { latitude: 52.5, longitude: 13.4, accuracy: 10, origin: site.url }],
    ["headers", { headers: { "X-Test": "yes" } }],
    ["credentials", { username: "ada", password: "pw" }],
  ];
  for (const [name, body] of set) ok(await browser.post(`/set/${name}`, body));
  const expected = {
    zone: "Asia/Tokyo",
    number: "1,5",
    language: "de-DE",
    dark: true,
    ratio: 3,
    phone: true,
    touch: true,
    place: [52.5, 13.4, 10],
  };
  assert.equal(await value(PROBE), expected, "in the open page");
  await browser.visit(`${site.url}/frame`);
  assert.equal(await value(PROBE), expected, "after a navigation");
  const opened = await browser.post("/tabs/open", { url: `${site.url}/echo` });
  assert.is(opened.status, 200);
  const sent = JSON.parse(String(await value("document.body.innerText"))) as Record<string, string>;
  assert.equal(
    [
      sent["x-test"],
      /iPhone/.test(sent["user-agent"]!),
      sent["accept-language"]?.startsWith("de-DE"),
    ],
    ["yes", true, true],
  );
  assert.equal(await value(PROBE), expected, "in a new tab");
  assert.is((await browser.visit(`${site.url}/locked`)).body.status, 200);
  for (const [name] of set) ok(await browser.post(`/set/${name}`, { clear: true }));
  await browser.visit(`${site.url}/echo`);
  assert.equal(await value(PROBE), plain, "cleared");
  assert.not.match(String(await value("document.body.innerText")), "x-test");
});

test("offline", async () => {
  ok(await browser.post("/set/offline", { offline: true }));
  failed(await browser.post("/navigate", { url: site.url }), 422, "action_failed");
  // The page that says so has a process of its own, which hears of it in its time.
  await until("the page to hear of it", async () => (await value("navigator.onLine")) === false);
  ok(await browser.post("/set/offline", { offline: false }));
  await browser.visit(site.url);
});

test("an invalid override is refused and changes nothing", async () => {
  const cases: [string, object][] = [
    ["offline", {}],
    ["offline", { offline: "no" }],
    ["headers", {}],
    ["headers", { headers: { "bad name": "x" } }],
    ["headers", { headers: { a: "b\r\nc: d" } }],
    ["headers", { headers: { a: 1 } }],
    ["credentials", {}],
    ["credentials", { username: "a" }],
    ["geolocation", {}],
    ["geolocation", { latitude: 91, longitude: 0 }],
    ["geolocation", { latitude: 1 }],
    ["geolocation", { latitude: 1, longitude: 2, origin: "nowhere" }],
    ["media", {}],
    ["media", { colorScheme: "blue" }],
    ["timezone", {}],
    ["timezone", { timezoneId: "Mars/Base" }],
    ["locale", {}],
    ["locale", { locale: "not a locale" }],
    ["device", {}],
    ["device", { name: "Nokia 3310" }],
  ];
  for (const [name, body] of cases) {
    const response = await browser.post(`/set/${name}`, body);
    assert.equal(
      [name, JSON.stringify(body), response.status, response.body.error?.code],
      [name, JSON.stringify(body), 400, "invalid_request_error"],
    );
  }
  assert.match(
    (await browser.post("/set/device", { name: "iPhone 41" })).body.error.message,
    "Did you mean",
  );
  await browser.visit(site.url);
  assert.equal(((await value(PROBE)) as { dark: boolean }).dark, false);
});

test.run();

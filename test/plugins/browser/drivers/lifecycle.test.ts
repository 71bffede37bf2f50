import { existsSync, readFileSync } from "node:fs";
import { createServer as createHttp } from "node:http";
import { type AddressInfo, connect, createServer as createTcp } from "node:net";
import { suite } from "../../../support/suite.ts";
import * as assert from "uvu/assert";
import { freePort } from "../../../support/free-port.ts";
import { PATIENCE_MS, until } from "../../../support/until.ts";
import { type BrowserGateway, failed, type Site, startBrowser, startSite } from "../support.ts";

const test = suite("browser: lifecycle, profiles, tabs");
let browser: BrowserGateway;
let site: Site;

const listening = async (server: {
  listen(port: number, host: string, done: () => void): unknown;
  address(): unknown;
}): Promise<number> => {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return (server.address() as AddressInfo).port;
};

// A browser's debugging port behind a token and HTTP basic, as hosted ones have it.
const requests: { url: string; authorization: string | undefined }[] = [];
let debugPort = 0;
const front = createHttp(async (req, res) => {
  requests.push({ url: req.url ?? "", authorization: req.headers.authorization });
  const response = await fetch(`http://127.0.0.1:${debugPort}${(req.url ?? "").split("?")[0]}`, {
    headers: { authorization: `Bearer ${browser.gateway.token}` },
  });
  res.writeHead(response.status, { "content-type": "application/json" }).end(await response.text());
});
front.on("upgrade", (req, socket) => {
  requests.push({ url: req.url ?? "", authorization: req.headers.authorization });
  const upstream = connect(debugPort, "127.0.0.1", () => {
    const key = req.headers["sec-websocket-key"];
    upstream.write(
      `GET ${(req.url ?? "").split("?")[0]} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${browser.gateway.token}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: ${key}\r\nSec-WebSocket-Version: 13\r\n\r\n`,
    );
    upstream.pipe(socket);
    socket.pipe(upstream);
  });
  for (const end of [upstream, socket])
    end
      .on("error", () => {})
      .on("close", () => {
        upstream.destroy();
        socket.destroy();
      });
});
const silent = createTcp(() => {});
const deaf = createHttp((_req, res) =>
  res.end(JSON.stringify({ webSocketDebuggerUrl: "ws://127.0.0.1:9/devtools/browser/x" })),
);
deaf.on("upgrade", () => {});

test.before(async () => {
  site = await startSite({
    "/": "<title>One</title><h1>one</h1><button>Go</button>",
    "/two": "<title>Two</title>two",
  });
  const port = { front: await listening(front) };
  browser = await startBrowser({
    profiles: {
      far: {
        cdpUrl: `http://us%20er:pass%3Aword@127.0.0.1:${port.front}/?token=T0KEN`,
        color: "#00AA00",
      },
    },
  });
});
test.after(async () => {
  await browser.stop();
  await site.stop();
  for (const server of [front, deaf]) {
    server.closeAllConnections();
    server.close();
  }
  silent.close();
});

test("before a start, the status and the tabs report a stopped browser, and everything else is 409", async () => {
  const status = await browser.get("/");
  assert.is(status.status, 200);
  const {
    enabled,
    profile,
    running,
    driver,
    pid,
    cdpPort,
    cdpUrl,
    headless,
    color,
    attachOnly,
    egress,
    library,
  } = status.body;
  assert.equal(
    { enabled, profile, running, driver, pid, headless, attachOnly, egress, library },
    {
      enabled: true,
      profile: "portico",
      running: false,
      driver: "managed",
      pid: null,
      headless: true,
      attachOnly: false,
      egress: "enforced",
      library: true,
    },
  );
  assert.ok(cdpPort >= 18800 && cdpPort <= 18899);
  assert.is(cdpUrl, `http://127.0.0.1:${cdpPort}`);
  assert.match(color, /^#[0-9a-f]{6}$/i);
  assert.type(status.body.executablePath, "string");
  assert.type(status.body.userDataDir, "string");
  assert.equal((await browser.get("/tabs")).body, { running: false, tabs: [] });
  const idle: [string, string, unknown?][] = [
    ["GET", "/snapshot"],
    ["POST", "/screenshot"],
    ["POST", "/pdf"],
    ["POST", "/act", { kind: "press", key: "a" }],
    ["POST", "/tabs/focus", { targetId: "x" }],
    ["GET", "/console"],
    ["GET", "/errors"],
    ["GET", "/requests"],
    ["POST", "/trace/start"],
    ["POST", "/trace/stop"],
    ["POST", "/highlight", { ref: 1 }],
    ["POST", "/hooks/dialog", { accept: true }],
    ["POST", "/wait/download"],
    ["POST", "/download", { ref: 1 }],
    ["GET", "/cookies"],
    ["POST", "/cookies/clear"],
    ["GET", "/storage/local"],
    ["POST", "/set/offline", { offline: true }],
    ["POST", "/response/body", { url: "x" }],
    ["DELETE", "/tabs/x"],
  ];
  const send = (method: string, path: string, body?: any) => {
    if (method === "GET") return browser.get(path);
    if (method === "DELETE") return browser.del(path);
    return browser.post(path, body);
  };
  for (const [method, path, body] of idle) {
    const response = await send(method, path, body);
    assert.equal(
      [path, response.status, response.body.error.code],
      [path, 409, "browser_not_running"],
    );
  }
});

test("an error of the request is reported before an error of the browser", async () => {
  const wrong: [string, string, object, string][] = [
    ["GET", "/console", { level: "loud" }, "level"],
    ["POST", "/pdf", { format: "Z9" }, "format"],
    ["POST", "/hooks/file-chooser", { paths: ["/etc/passwd"] }, "paths[0]"],
    ["POST", "/hooks/file-chooser", { paths: ["not-there.txt"], ref: 1 }, "paths[0]"],
    ["POST", "/download", { ref: 1, path: "/etc/x" }, "path"],
    ["POST", "/wait/download", { path: "../../x" }, "path"],
    ["POST", "/trace/stop", { path: "/etc/x.zip" }, "path"],
    ["POST", "/state/save", { path: "/etc/x" }, "path"],
    ["POST", "/state/load", { path: "/etc/passwd" }, "path"],
  ];
  for (const [method, path, fields, param] of wrong) {
    const response = await (method === "GET"
      ? browser.get(path, fields as Record<string, string>)
      : browser.post(path, fields));
    const { code, param: at } = response.body.error;
    assert.equal([path, response.status, code, at], [path, 400, "invalid_request_error", param]);
  }
});

test("start and stop may be repeated; the port and the process are shown", async () => {
  const [first, two] = await Promise.all([browser.post("/start"), browser.post("/start")]);
  assert.equal([first.status, first.body.ok, first.body.profile], [200, true, "portico"]);
  assert.is(first.body.pid, two.body.pid);
  const { body } = await browser.get("/");
  assert.equal([body.running, body.pid], [true, first.body.pid]);
  debugPort = body.cdpPort;
  assert.is.not(debugPort, 9222);
  const headers = { authorization: `Bearer ${browser.gateway.token}` };
  const version = (await (await fetch(`${body.cdpUrl}/json/version`, { headers })).json()) as {
    Browser: string;
  };
  assert.match(version.Browser, /Chrome/);
  assert.is((await browser.post("/start", { headless: true })).body.pid, body.pid);
  failed(await browser.post("/start", { headless: false }), 409, "conflict", "POST /stop");
});

test("tabs: open, list, focus, prefix, last used, close", async () => {
  const first = (await browser.post("/tabs/open", { url: `${site.url}/` })).body;
  assert.equal([first.title, first.url, first.type], ["One", `${site.url}/`, "page"]);
  const second = (await browser.post("/tabs/open", { url: `${site.url}/two` })).body;
  const { running, tabs } = (await browser.get("/tabs")).body;
  assert.ok(running);
  assert.equal(
    tabs.slice(-2),
    [first, second].map(({ targetId, title, url, type }) => ({ targetId, title, url, type })),
  );
  assert.is((await browser.get("/snapshot")).body.targetId, second.targetId);
  const prefix = first.targetId.slice(0, 10).toLowerCase();
  assert.equal((await browser.post("/tabs/focus", { targetId: prefix })).body, {
    ok: true,
    targetId: first.targetId,
  });
  assert.is((await browser.get("/snapshot")).body.title, "One");
  const missing = await browser.post("/tabs/focus", { targetId: "nosuchtab" });
  assert.equal([missing.status, missing.body.error.code], [404, "tab_not_found"]);
  assert.equal((await browser.del(`/tabs/${second.targetId}`)).body, {
    ok: true,
    targetId: second.targetId,
  });
  assert.not.ok(
    (await browser.get("/tabs")).body.tabs.some(
      (tab: { targetId: string }) => tab.targetId === second.targetId,
    ),
  );
  const gone = await browser.get("/snapshot", { targetId: second.targetId });
  assert.equal([gone.status, gone.body.error.code], [404, "tab_not_found"]);
  assert.is((await browser.get("/snapshot")).body.targetId, first.targetId);
});

test("navigation: the response has the final address or the failure", async () => {
  assert.equal((await browser.post("/navigate", { url: `${site.url}/two` })).body.status, 200);
  for (const waitUntil of ["load", "domcontentloaded", "networkidle", "commit"]) {
    assert.is(
      (await browser.post("/navigate", { url: `${site.url}/`, waitUntil })).status,
      200,
      waitUntil,
    );
  }
  assert.is((await browser.post("/navigate", { url: `${site.url}/nowhere` })).body.status, 404);
  assert.equal((await browser.post("/navigate", { url: "about:blank" })).body.status, null);
  const closedUrl = `http://127.0.0.1:${await freePort()}`;
  failed(await browser.post("/navigate", { url: closedUrl }), 422, "action_failed", "ECONNREFUSED");
  failed(
    await browser.post("/navigate", { url: "http://127.0.0.1:7/" }),
    422,
    "action_failed",
    "refuses this port",
  );
  const cases: [unknown, number, string][] = [
    [{}, 400, "invalid_request_error"],
    [{ url: 5 }, 400, "invalid_request_error"],
    [{ url: "" }, 400, "invalid_request_error"],
    [{ url: site.url, waitUntil: "soon" }, 400, "invalid_request_error"],
    [{ url: site.url, timeoutMs: 0 }, 400, "invalid_request_error"],
    [{ url: "http://no-such-name.invalid/" }, 422, "action_failed"],
    [{ url: site.url, targetId: "zzz" }, 404, "tab_not_found"],
    [{ url: site.url, profile: "nope" }, 404, "profile_not_found"],
    [{ url: site.url, profile: "a/b" }, 400, "invalid_request_error"],
  ];
  for (const [body, status, code] of cases) {
    const response = await browser.post("/navigate", body);
    assert.equal(
      [JSON.stringify(body), response.status, response.body.error.code],
      [JSON.stringify(body), status, code],
    );
  }
});

test("a browser that dies is reported, and can start again", async () => {
  await browser.visit(site.url);
  const before = await browser.ref("Go");
  const { pid } = (await browser.get("/")).body;
  process.kill(pid, "SIGKILL");
  await until(
    "the end of the browser to be noticed",
    async () => !(await browser.get("/")).body.running,
  );
  const dead = await browser.get("/snapshot");
  assert.equal([dead.status, dead.body.error.code], [409, "browser_not_running"]);
  const { body } = await browser.visit(site.url);
  assert.is.not((await browser.get("/")).body.pid, pid);
  assert.is(body.status, 200);
  const stale = await browser.act("click", { ref: before });
  assert.equal([stale.status, stale.body.error.code], [404, "ref_not_found"]);
  debugPort = (await browser.get("/")).body.cdpPort;
});

test("a remote profile: credentials go along and are shown nowhere", async () => {
  assert.is((await browser.post("/start", { profile: "far" })).status, 200);
  const basic = `Basic ${Buffer.from("us er:pass:word").toString("base64")}`;
  assert.ok(requests.length >= 2);
  for (const { url, authorization } of requests)
    assert.equal([url.includes("token=T0KEN"), authorization], [true, basic]);
  const responses = await Promise.all([
    browser.get("/", { profile: "far" }),
    browser.get("/profiles"),
    browser.get("/tabs", { profile: "far" }),
    browser.get("/snapshot", { profile: "far" }),
  ]);
  for (const { status, body } of responses) {
    assert.is(status, 200);
    assert.not.match(JSON.stringify(body), /T0KEN|pass|us%20er|us er/);
  }
  assert.equal(
    [responses[0]!.body.driver, responses[0]!.body.egress, responses[0]!.body.pid],
    ["remote", "best-effort", null],
  );
  assert.ok(responses[2]!.body.tabs.length > 0);
  assert.equal((await browser.post("/stop", { profile: "far" })).body.stopped, true);
  assert.ok(
    (await browser.get("/")).body.running,
    "letting go of a remote browser does not end it",
  );
  assert.not.match(JSON.stringify(browser.gateway.lines), /T0KEN|pass%3Aword/);
});

test("a remote browser that does not respond causes a time-out", async () => {
  const urls = { silent: await listening(silent), deaf: await listening(deaf), nobody: 9 };
  const profiles = Object.entries(urls).map(([name, port]) => [
    name,
    { cdpUrl: `http://127.0.0.1:${port}` },
  ]);
  const hasty = await startBrowser({
    remoteCdpTimeoutMs: 1000,
    remoteCdpHandshakeTimeoutMs: 1000,
    profiles: Object.fromEntries(profiles),
  });
  const cases = [
    ["silent", 504, "timeout"],
    ["deaf", 504, "timeout"],
    ["nobody", 409, "browser_not_running"],
  ] as const;
  try {
    await Promise.all(
      cases.map(async ([profile, status, code]) => {
        for (const path of ["/start", "/tabs/open"]) {
          const response = await hasty.post(path, { profile, url: "about:blank" });
          assert.equal(
            [profile, response.status, response.body.error.code],
            [profile, status, code],
          );
        }
      }),
    );
  } finally {
    await hasty.stop();
  }
});

test("profiles can be created, used, and moved to the trash", async () => {
  const made = await browser.post("/profiles/create", { name: "work", color: "#123456" });
  assert.equal([made.status, made.body.ok, made.body.profile], [200, true, "work"]);
  const { profiles } = (await browser.get("/profiles")).body;
  const work = profiles.find((profile: { name: string }) => profile.name === "work");
  assert.equal(
    { ...work, cdpPort: 0, cdpUrl: "" },
    {
      name: "work",
      driver: "managed",
      cdpPort: 0,
      cdpUrl: "",
      color: "#123456",
      running: false,
      tabCount: 0,
      isDefault: false,
      source: "created",
    },
  );
  assert.equal(
    profiles
      .filter((profile: { isDefault: boolean }) => profile.isDefault)
      .map((profile: { name: string }) => profile.name),
    ["portico"],
  );
  assert.is(
    new Set(profiles.map((profile: { cdpPort: number | null }) => profile.cdpPort).filter(Boolean))
      .size,
    2,
  );
  assert.is(
    profiles.find((profile: { name: string }) => profile.name === "relay").driver,
    "extension",
  );
  assert.is((await browser.post("/tabs/open", { profile: "work", url: site.url })).status, 200);
  const { userDataDir } = (await browser.get("/", { profile: "work" })).body;
  assert.ok(existsSync(userDataDir));
  const reset = (await browser.post("/reset-profile", { name: "work" })).body;
  assert.ok(reset.ok && existsSync(reset.trashed));
  const deleted = await browser.del("/profiles/work");
  assert.equal([deleted.status, deleted.body.ok], [200, true]);
  assert.not.ok(existsSync(userDataDir));
  assert.is((await browser.get("/", { profile: "work" })).status, 404);
  const bad: [unknown, number][] = [
    [{ name: "a/b" }, 400],
    [{ name: "../x" }, 400],
    [{ name: "" }, 400],
    [{}, 400],
    [{ name: "portico" }, 409],
    [{ name: "x", color: "red" }, 400],
    [{ name: "x", cdpUrl: "ftp://x" }, 400],
    [{ name: "x", driver: "remote" }, 400],
  ];
  for (const [body, status] of bad)
    assert.is((await browser.post("/profiles/create", body)).status, status, JSON.stringify(body));
  assert.is((await browser.del("/profiles/nope")).status, 404);
  assert.is((await browser.del("/profiles/portico")).status, 409);
  assert.is((await browser.del("/profiles/a%2Fb")).status, 400);
});

test("stop ends the process", async () => {
  const { pid } = (await browser.get("/")).body;
  assert.equal((await browser.post("/stop")).body.stopped, true);
  assert.throws(() => process.kill(pid, 0));
  assert.equal((await browser.post("/stop")).body.stopped, false);
  assert.equal((await browser.get("/tabs")).body, { running: false, tabs: [] });
});

/** It has ended, and this process has not heard of it: no event comes in meanwhile. */
function killUnheard(pid: number): void {
  process.kill(pid, "SIGKILL");
  const stat = `/proc/${pid}/stat`;
  while (existsSync(stat) && !readFileSync(stat, "utf8").includes(") Z "));
}

test("a browser that was just killed is shown as stopped, and the next start creates a new process", async () => {
  await browser.visit(site.url);
  const { pid } = (await browser.get("/")).body;
  const common = { timeoutMs: PATIENCE_MS };
  const waits = [{ textGone: "one" }, { text: "never" }, { fn: "false" }].map((fields) =>
    browser.act("wait", { ...fields, ...common }),
  );
  await browser.act("wait", { timeMs: 50 });
  killUnheard(pid);
  const [started, ...ended] = await Promise.all([browser.visit(site.url), ...waits]);
  assert.is(started!.status, 200);
  for (const response of ended) failed(response, 409, "browser_not_running");
  assert.is.not((await browser.get("/")).body.pid, pid);
});

test("a setting that fails because the browser dies is not reported as bad input", async () => {
  await browser.visit(site.url);
  const { pid } = (await browser.get("/")).body;
  process.kill(pid, "SIGSTOP");
  const responses = [
    browser.post("/set/headers", { headers: { a: "b" } }),
    browser.post("/set/offline", { offline: true }),
    browser.post("/cookies/set", { cookie: { name: "a", value: "b", url: site.url } }),
  ];
  process.kill(pid, "SIGKILL");
  for (const response of await Promise.all(responses)) failed(response, 409, "browser_not_running");
});

test.run();

const off = suite("browser: disabled, attach-only");

off("a disabled browser says so on every route", async () => {
  const disabled = await startBrowser({ enabled: false });
  try {
    for (const response of [
      await disabled.get("/"),
      await disabled.get("/tabs"),
      await disabled.post("/start"),
      await disabled.get("/snapshot"),
    ]) {
      assert.equal([response.status, response.body.error.code], [503, "browser_disabled"]);
    }
  } finally {
    await disabled.stop();
  }
});

off("attach-only never starts a browser", async () => {
  const profiles = { mine: { cdpPort: await freePort() } };
  const attaching = await startBrowser({ attachOnly: true, defaultProfile: "mine", profiles });
  try {
    const response = await attaching.post("/start");
    assert.equal([response.status, response.body.error.code], [409, "browser_not_running"]);
    assert.is((await attaching.get("/")).body.attachOnly, true);
  } finally {
    await attaching.stop();
  }
});

off("a browser that cannot be started says why", async () => {
  const broken = await startBrowser({ executablePath: "/nowhere/chrome" });
  try {
    const response = await broken.post("/start");
    assert.is(response.status, 503);
    assert.match(response.body.error.message, "executablePath");
  } finally {
    await broken.stop();
  }
});

off("a window without a display is refused at once", async () => {
  const env = { DISPLAY: undefined, WAYLAND_DISPLAY: undefined };
  const blind = await startBrowser({}, { env });
  try {
    for (const path of ["/start", "/start?headless=false"]) {
      const response = await blind.post(path, { headless: false });
      failed(response, 422, "action_failed", "DISPLAY");
      assert.is(response.body.error.param, "headless");
    }
    assert.is((await blind.get("/")).body.running, false);
  } finally {
    await blind.stop();
  }
});

off("credentials are wanted on every route, in three forms", async () => {
  const guarded = await startBrowser(
    {},
    {
      config: {
        gateway: { auth: { token: "tok-1234567890abcdef", password: "pw-secret-123456" } },
      },
    },
  );
  try {
    const url = await guarded.gateway.serverUrl("browser");
    const basic = (user: string, password: string): string =>
      `Basic ${Buffer.from(`${user}:${password}`).toString("base64")}`;
    const status = async (headers: Record<string, string>): Promise<number> =>
      (await fetch(`${url}/`, { headers })).status;
    assert.is(await status({}), 401);
    assert.is(await status({ authorization: "Bearer wrong" }), 401);
    assert.is(await status({ authorization: "Bearer tok-1234567890abcdef" }), 200);
    assert.is(await status({ "x-service-password": "pw-secret-123456" }), 200);
    assert.is(await status({ authorization: basic("any", "pw-secret-123456") }), 200);
    assert.is(
      await status({ authorization: "Bearer tok-1234567890abcdef", origin: "http://evil.example" }),
      403,
    );
    const plain = await fetch(`${url}/start`, {
      method: "POST",
      body: "{}",
      headers: { authorization: "Bearer tok-1234567890abcdef", "content-type": "text/plain" },
    });
    assert.is(plain.status, 415);
    const torn = await fetch(`${url}/start`, {
      method: "POST",
      body: "{",
      headers: { authorization: "Bearer tok-1234567890abcdef", "content-type": "application/json" },
    });
    assert.equal(
      [torn.status, ((await torn.json()) as { error: { code: string } }).error.code],
      [400, "invalid_json"],
    );
  } finally {
    await guarded.stop();
  }
});

off.run();

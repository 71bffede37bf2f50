/** The debugging port of a managed browser: Chromium listens nowhere, and the gateway requires its token. */
import { once } from "node:events";
import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { request } from "node:http";
import { join } from "node:path";
import { chromium } from "playwright-core";
import { WebSocket } from "ws";
import * as assert from "uvu/assert";
import { suite } from "../../../support/suite.ts";
import { until } from "../../../support/until.ts";
import { type BrowserGateway, type Site, startBrowser, startSite } from "../support.ts";

const test = suite("browser: the debugging port");
let browser: BrowserGateway;
let site: Site;
let url = "";
let token = "";

test.before(async () => {
  site = await startSite({
    "/": "<title>One</title><button>Go</button>",
    "/two": "<title>Two</title>two",
  });
  browser = await startBrowser();
  token = browser.gateway.token;
  await browser.visit(site.url);
  url = (await browser.get("/")).body.cdpUrl;
});
test.after(async () => {
  await browser.stop();
  await site.stop();
});

const basic = (user: string, password: string): string =>
  `Basic ${Buffer.from(`${user}:${password}`).toString("base64")}`;
const bearer = () => ({ authorization: `Bearer ${token}` });

/** Status of a plain request; `fetch` would not let the test say its own Host. */
function statusOf(path: string, headers: Record<string, string>): Promise<number> {
  return new Promise((resolve, reject) => {
    request(`${url}${path}`, { headers }, (res) => {
      res.resume();
      resolve(res.statusCode ?? 0);
    })
      .on("error", reject)
      .end();
  });
}

/** 101 where the WebSocket opens, else the response's status. */
function upgradeStatus(
  address: string,
  options: { headers?: Record<string, string>; origin?: string } = {},
): Promise<number> {
  return new Promise((resolve, reject) => {
    const socket = new WebSocket(address, options);
    socket.once("open", () => {
      socket.terminate();
      resolve(101);
    });
    socket.once("unexpected-response", (_req, res) => {
      socket.terminate();
      resolve(res.statusCode ?? 0);
    });
    socket.once("error", reject);
  });
}

async function socketUrl(): Promise<string> {
  const response = await fetch(`${url}/json/version`, { headers: bearer() });
  return ((await response.json()) as { webSocketDebuggerUrl: string }).webSocketDebuggerUrl;
}

interface Client {
  send(method: string, params?: object, sessionId?: string): Promise<any>;
  events: any[];
  raw: WebSocket;
}

async function connect(address: string): Promise<Client> {
  const raw = new WebSocket(address, { headers: bearer() });
  await once(raw, "open");
  const events: any[] = [];
  const pending = new Map<number, (message: any) => void>();
  let last = 0;
  raw.on("message", (data) => {
    const message = JSON.parse(String(data));
    if (message.id === undefined) events.push(message);
    else pending.get(message.id)?.(message);
  });
  return {
    raw,
    events,
    send(method, params, sessionId) {
      const id = ++last;
      raw.send(JSON.stringify({ id, method, params, sessionId }));
      return new Promise((resolve) => pending.set(id, resolve));
    },
  };
}

/** Inodes of the sockets that a process and its children have, as /proc names them. */
function listening(pid: number): string[] {
  const family = new Set([String(pid)]);
  const all = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  const parentOf = (name: string): string => {
    try {
      const stat = readFileSync(`/proc/${name}/stat`, "utf8");
      return stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1]!;
    } catch {
      return "";
    }
  };
  for (let grown = true; grown; ) {
    const more = all.filter((name) => !family.has(name) && family.has(parentOf(name)));
    for (const name of more) family.add(name);
    grown = more.length > 0;
  }
  const inodes = new Set(
    [...family].flatMap((name) => {
      try {
        return readdirSync(`/proc/${name}/fd`).flatMap((fd) => {
          try {
            return /^socket:\[(\d+)\]$/.exec(readlinkSync(`/proc/${name}/fd/${fd}`))?.[1] ?? [];
          } catch {
            return [];
          }
        });
      } catch {
        return [];
      }
    }),
  );
  const LISTEN = "0A";
  return ["tcp", "tcp6"].flatMap((table) =>
    readFileSync(`/proc/net/${table}`, "utf8")
      .split("\n")
      .slice(1)
      .map((line) => line.trim().split(/\s+/))
      .filter(([, , , state, , , , , , inode]) => state === LISTEN && inodes.has(inode!))
      .map(([, local]) => local!),
  );
}

test("Chromium listens on no TCP port", async () => {
  const { pid } = (await browser.get("/")).body;
  const args = readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0");
  assert.ok(args.includes("--remote-debugging-pipe"));
  assert.equal(
    args.filter((arg) => arg.startsWith("--remote-debugging-port")),
    [],
  );
  assert.equal(listening(pid), []);
  assert.is(listening(process.pid).length > 0, true, "the test would see one");
});

test("every request needs the gateway's token", async () => {
  for (const path of ["/json/version", "/json/version/", "/json/list", "/json"]) {
    for (const [status, headers, query] of [
      [401, {}, ""],
      [401, {}, "?token="],
      [401, {}, "?token=wrong"],
      [401, { authorization: "Bearer wrong" }, `?token=${token}`],
      [401, { authorization: "Bearer " }, ""],
      [401, { authorization: `Bearer  ${token}` }, ""],
      [401, { authorization: basic(token, "") }, ""],
      [200, bearer(), ""],
      [200, { authorization: basic("", token) }, ""],
      [200, { authorization: basic("anybody", token) }, ""],
      [200, {}, `?token=${token}`],
    ] as const)
      assert.is(
        await statusOf(`${path}${query}`, headers),
        status,
        `${path}${query} ${JSON.stringify(headers)}`,
      );
  }
  assert.is(await statusOf("/json/new?file:///etc/passwd", bearer()), 404);
  assert.not.match(JSON.stringify((await browser.get("/")).body), token);
});

test("every WebSocket needs the token, and Host and Origin are checked", async () => {
  const address = await socketUrl();
  const list = (await (await fetch(`${url}/json/list`, { headers: bearer() })).json()) as any[];
  const page = list.find(({ type }) => type === "page").webSocketDebuggerUrl as string;
  for (const socket of [address, page]) {
    assert.is(await upgradeStatus(socket), 401);
    assert.is(await upgradeStatus(`${socket}?token=wrong`), 401);
    assert.is(await upgradeStatus(`${socket}?token=${token}`), 101);
    assert.is(await upgradeStatus(socket, { headers: { authorization: basic("me", token) } }), 101);
    assert.is(
      await upgradeStatus(socket, { headers: bearer(), origin: "http://evil.example" }),
      403,
    );
    assert.is(await upgradeStatus(socket, { headers: bearer(), origin: "null" }), 403);
    assert.is(await upgradeStatus(socket, { headers: { ...bearer(), host: "evil.example" } }), 403);
  }
  assert.is(await upgradeStatus(`${address}x`, { headers: bearer() }), 404);
  assert.is(await upgradeStatus(`${page}x`, { headers: bearer() }), 404);
  assert.is(
    await statusOf("/json/version", { ...bearer(), host: `evil.example:${new URL(url).port}` }),
    403,
  );
  assert.is(await statusOf("/json/version", { ...bearer(), origin: "http://evil.example" }), 403);
  assert.is(await statusOf("/json/version", { ...bearer(), "sec-fetch-site": "cross-site" }), 403);
});

test("clients work side by side, each with its own sessions only", async () => {
  const [client, two] = await Promise.all([connect(await socketUrl()), connect(await socketUrl())]);
  const { targetId } = (await client.send("Target.createTarget", { url: `${site.url}/two` }))
    .result;
  const { sessionId } = (await client.send("Target.attachToTarget", { targetId, flatten: true }))
    .result;
  await client.send("Page.enable", {}, sessionId);
  const evaluated = await client.send("Runtime.evaluate", { expression: "1 + 1" }, sessionId);
  assert.equal([evaluated.sessionId, evaluated.result.result.value], [sessionId, 2]);
  const foreign = await two.send("Runtime.evaluate", { expression: "1 + 1" }, sessionId);
  assert.match(foreign.error.message, "Session with given id not found");
  assert.is((await two.send("Nothing.such")).error.code, -32601);
  assert.equal(two.events, [], "what belongs to one client is not told to the other");
  const isIt = (tab: { targetId: string }) => tab.targetId === targetId;
  await until("the tab to be listed", async () =>
    (await browser.get("/tabs")).body.tabs.some(isIt),
  );
  const page = await connect(`${url.replace("http", "ws")}/devtools/page/${targetId}`);
  await page.send("Page.enable");
  const title = { expression: "document.title" };
  await until(
    "its title",
    async () => (await page.send("Runtime.evaluate", title)).result.result.value === "Two",
  );
  await page.send("Page.navigate", { url: site.url });
  await until("the event of the page", () =>
    page.events.some(
      ({ method, sessionId: s }) => method === "Page.loadEventFired" && s === undefined,
    ),
  );
  const ended = once(page.raw, "close");
  await client.send("Target.closeTarget", { targetId });
  await ended;
  client.raw.terminate();
  assert.is((await two.send("Browser.getVersion")).result.protocolVersion, "1.3");
  two.raw.terminate();
  assert.is((await browser.get("/snapshot")).status, 200);
});

test("the automation library drives the browser through the port", async () => {
  const other = await chromium.connectOverCDP(url, { headers: bearer() });
  const named = await chromium.connectOverCDP(`${await socketUrl()}?token=${token}`);
  const page = await other.contexts()[0]!.newPage();
  await page.goto(site.url);
  await page.getByRole("button", { name: "Go" }).click();
  assert.ok((await named.contexts()[0]!.pages()).length > 0);
  await page.close();
  await other.close();
  await named.close();
  assert.is((await browser.get("/")).body.running, true, "the browser stays");
});

test("malformed messages end their own client at most", async () => {
  const address = await socketUrl();
  const deep = `${"[".repeat(50_000)}${"]".repeat(50_000)}`;
  const wild: (string | Buffer)[] = [
    "",
    "{",
    "null",
    "[]",
    "1",
    '"x"',
    deep,
    Buffer.from([0xff, 0xfe, 0]),
    `{"id":1,"method":"Browser.getVersion","params":${deep}}`,
    `{"id":1,"method":"Browser.getVersion","params":{"x":${deep}}}`,
    '{"id":"1","method":"Browser.getVersion"}',
    '{"id":1e99,"method":"Browser.getVersion"}',
    '{"id":1.5}',
    '{"id":1,"method":7}',
    '{"id":1,"method":"Browser.getVersion","params":7}',
    '{"id":1,"method":"Browser.getVersion","sessionId":7}',
    '{"id":1,"method":"\\ud800","params":{"\\udfff":"\\ud800"}}',
    '{"id":1,"method":"Page.navigate","params":{"url":"\\ud800\\u0000"}}',
    `{"id":1,"method":"${"x".repeat(1_000_000)}"}`,
    '{"id":1,"method":"Target.attachToTarget","params":{"targetId":"\\u0000","flatten":true}}',
    '{"id":1,"method":"Target.sendMessageToTarget","params":{"message":"{","sessionId":"x"}}',
  ];
  for (const message of wild) {
    const socket = new WebSocket(address, { headers: bearer() });
    await once(socket, "open");
    const outcome = Promise.race([once(socket, "message"), once(socket, "close")]);
    socket.send(message);
    await outcome;
    socket.terminate();
  }
  assert.is((await browser.get("/snapshot")).status, 200);
});

test("the port ends with the browser, and so do its clients", async () => {
  const client = await connect(await socketUrl());
  const closed = once(client.raw, "close");
  await browser.post("/stop");
  await closed;
  const refused = await fetch(`${url}/json/version`, { headers: bearer() }).catch(
    (error: unknown) => error,
  );
  assert.instance(refused, Error);
});

test("a new token of the gateway closes connections of the old one", async () => {
  await browser.post("/start");
  url = (await browser.get("/")).body.cdpUrl;
  const client = await connect(await socketUrl());
  const closed = once(client.raw, "close");
  const config = JSON.parse(readFileSync(join(browser.gateway.home, "portico.json"), "utf8"));
  const auth = { token: "another-token-of-the-gateway" };
  browser.gateway.write(
    "portico.json",
    JSON.stringify({ ...config, gateway: { ...config.gateway, auth } }),
  );
  const [code] = await closed;
  assert.is(code, 1008);
  assert.is(await statusOf("/json/version", bearer()), 401);
  ({ token } = auth);
  assert.is(await statusOf("/json/version", bearer()), 200, "the browser runs on");
  browser.gateway.write("portico.json", JSON.stringify(config));
  await until("the first token", async () => (await browser.get("/")).status === 200);
  ({ token } = browser.gateway);
});

test("attempts with wrong tokens are limited", async () => {
  await browser.post("/start");
  url = (await browser.get("/")).body.cdpUrl;
  const guesses = await Promise.all(
    Array.from({ length: 30 }, () => statusOf("/json/version", { authorization: "Bearer guess" })),
  );
  assert.ok(guesses.includes(429));
  assert.is(await statusOf("/json/version", bearer()), 200, "the right one goes in all the same");
});

test.run();

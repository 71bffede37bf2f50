/** What a client of the debugging port may not do, though it has the token: what is refused under every policy. */
import { once } from "node:events";
import { join } from "node:path";
import { WebSocket } from "ws";
import * as assert from "uvu/assert";
import { suite } from "../../../support/suite.ts";
import { type SharedBrowser, sharedBrowser } from "../support.ts";

const test = suite("browser: rules of the debugging port");
let browser: SharedBrowser;
let socket: WebSocket;
let last = 0;

interface Said {
  sessionId?: string;
  result?: Record<string, unknown>;
  error?: { message: string };
}

function send(method: string, params: object = {}, sessionId?: string): Promise<Said> {
  const id = ++last;
  socket.send(JSON.stringify({ id, method, params, sessionId }));
  return new Promise((resolve) => {
    const take = (data: unknown): void => {
      const message = JSON.parse(String(data)) as Said & { id?: number };
      if (message.id !== id) return;
      socket.off("message", take);
      resolve(message);
    };
    socket.on("message", take);
  });
}

test.before(async () => {
  browser = await sharedBrowser();
  await browser.post("/start");
  const { cdpUrl } = (await browser.get("/")).body;
  const headers = { authorization: `Bearer ${browser.gateway.token}` };
  const about = (await (await fetch(`${cdpUrl}/json/version`, { headers })).json()) as {
    webSocketDebuggerUrl: string;
  };
  socket = new WebSocket(about.webSocketDebuggerUrl, { headers });
  await once(socket, "open");
});
test.after(async () => {
  socket.terminate();
  await browser.stop();
});

async function newPage(url = "about:blank"): Promise<string> {
  const { result } = await send("Target.createTarget", { url });
  const attached = await send("Target.attachToTarget", {
    targetId: result?.["targetId"],
    flatten: true,
  });
  return String(attached.result?.["sessionId"]);
}

test("only http, https and about:blank are opened", async () => {
  const session = await newPage();
  const file = `file://${join(browser.gateway.home, "portico.json")}`;
  for (const url of [
    file,
    ` ${file}`,
    "FILE:///etc/passwd",
    `view-source:${file}`,
    "chrome://version",
    "data:text/html,x",
    "javascript:1",
    "fi\nle:///etc/passwd",
  ]) {
    assert.match(
      (await send("Target.createTarget", { url })).error?.message ?? "opened",
      "http",
      url,
    );
    assert.match(
      (await send("Page.navigate", { url }, session)).error?.message ?? "opened",
      "http",
      url,
    );
  }
  const { sessionId } = await send("Page.navigate", { url: file }, session);
  assert.is(sessionId, session, "a refusal belongs to the session that asked");
  const { result } = await send("Target.getTargets");
  assert.not.match(JSON.stringify(result), /file:|chrome:\/\/version/);
});

test("a new browser context cannot bypass the filtering proxy", async () => {
  for (const params of [
    { proxyServer: "direct://" },
    { proxyBypassList: "<-loopback>" },
    { proxyServer: "http://127.0.0.1:1" },
  ])
    assert.match(
      (await send("Target.createBrowserContext", params)).error?.message ?? "made",
      /proxy/,
    );
  const { result } = await send("Target.createBrowserContext");
  assert.type(result?.["browserContextId"], "string");
});

test("commands that listen, install, bypass the proxy or create their own sessions are refused", async () => {
  const { result } = await send("Target.createTarget", { url: "about:blank" });
  for (const [method, params] of [
    ["Tethering.bind", { port: 18_950 }],
    ["Extensions.loadUnpacked", { path: browser.gateway.home }],
    ["PWA.install", { manifestId: "http://127.0.0.1/" }],
    // A page of the browser's own, whose bindings load files.
    ["Target.openDevTools", { targetId: result?.["targetId"] }],
    ["Browser.executeBrowserCommand", { commandId: "openTabSearch" }],
    // The browser itself asks there for targets, without its proxy.
    [
      "Target.setRemoteLocations",
      { locations: [{ host: "127.0.0.1", port: browser.gateway.port }] },
    ],
    ["Target.exposeDevToolsProtocol", { targetId: result?.["targetId"] }],
    ["Target.sendMessageToTarget", { targetId: result?.["targetId"], message: "{}" }],
  ] as const)
    assert.match(
      (await send(method, params)).error?.message ?? "done",
      "not available to clients",
      method,
    );
});

test.run();

/** Who may connect to the relay. The extension is played by a plain socket: what it does in a browser is tested elsewhere. */
import { createHash } from "node:crypto";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { get as httpGet } from "node:http";
import { join } from "node:path";
import { suite } from "../../../support/suite.ts";
import * as assert from "uvu/assert";
import { WebSocket } from "ws";
import {
  EXTENSION_ID,
  EXTENSION_ORIGIN,
  derivePairingToken,
} from "../../../../plugins/browser/relay/pairing.ts";
import { portico } from "../../../support/portico.ts";
import { until } from "../../../support/until.ts";
import { extensionDir, pairingOf } from "./support.ts";
import { type BrowserGateway, startBrowser } from "../support.ts";

const test = suite("browser: access to the relay");
let browser: BrowserGateway;
let port: number;
let token: string;
const sockets: WebSocket[] = [];

async function start(): Promise<void> {
  browser = await startBrowser({ defaultProfile: "relay" });
  ({ port, token } = await pairingOf(browser));
}

test.before(start);
test.after.each(() => {
  for (const socket of sockets.splice(0)) socket.terminate();
});
test.after(() => browser.stop());

interface Knock {
  status: number;
  code?: string;
  socket?: WebSocket;
}

/** Tries to open a socket: 101, or the refusal. */
function knock(
  path: string,
  headers: Record<string, string>,
  protocols: string[] = [],
): Promise<Knock> {
  return new Promise((resolve) => {
    const socket = new WebSocket(`ws://127.0.0.1:${port}${path}`, protocols, { headers });
    sockets.push(socket);
    socket.on("open", () => resolve({ status: 101, socket }));
    socket.on("error", () => {});
    socket.on("unexpected-response", (_request, response) => {
      let text = "";
      response.on("data", (chunk) => {
        text += chunk;
      });
      response.on("end", () =>
        resolve({ status: response.statusCode ?? 0, code: JSON.parse(text).error.code }),
      );
    });
  });
}

const asExtension = (
  credential: string | undefined,
  origin: string | undefined = EXTENSION_ORIGIN,
  instance = "one",
) =>
  knock("/extension", origin === undefined ? {} : { origin }, [
    "portico-relay",
    ...(credential === undefined ? [] : [`token.${credential}`]),
    `instance.${instance}`,
  ]);

const asClient = (credential: string | undefined, headers: Record<string, string> = {}) =>
  knock("/cdp", {
    ...headers,
    ...(credential === undefined ? {} : { authorization: `Bearer ${credential}` }),
  });

/** A client, once the relay can accept it: the previous one may still be connected. */
function placedClient(): Promise<WebSocket> {
  return until("the client's place", async () => (await asClient(token)).socket);
}

/** An extension that has one tab, and responds to every command with an empty result. */
async function pretend(): Promise<WebSocket> {
  const { socket } = await asExtension(token);
  const tab = {
    tabId: 1,
    targetId: "T1",
    attachment: "a",
    title: "Mine",
    url: "https://example.com/",
  };
  socket!.on("message", (data) => {
    const { id, ask } = JSON.parse(String(data));
    const results: Record<string, unknown> = { list: [tab], reset: tab };
    const result = results[ask] ?? {};
    socket!.send(JSON.stringify({ id, result }));
  });
  socket!.send(
    JSON.stringify({ event: "hello", version: "1", userAgent: "Chrome/156.0.0.0", tabs: [tab] }),
  );
  await until("the tab", async () => (await browser.get("/")).body.tabs.length === 1);
  return socket!;
}

/** The messages that the socket receives until now: they precede the response to a ping. */
async function received(
  socket: WebSocket,
  during: () => Promise<unknown>,
): Promise<{ ask?: string; id: number }[]> {
  const messages: { ask?: string; id: number }[] = [];
  const keep = (data: unknown): void => void messages.push(JSON.parse(String(data)));
  socket.on("message", keep);
  await during();
  socket.ping();
  await once(socket, "pong");
  socket.off("message", keep);
  return messages;
}

const untilExtensionGone = () =>
  until("the extension to be gone", async () => !(await browser.get("/extension")).body.connected);

async function ask(
  path: string,
  headers: Record<string, string> = {},
): Promise<{ status: number; body: any }> {
  return new Promise((resolve, reject) => {
    httpGet({ host: "127.0.0.1", port, path, headers }, (response) => {
      let text = "";
      response.on("data", (chunk) => {
        text += chunk;
      });
      response.on("end", () =>
        resolve({ status: response.statusCode ?? 0, body: JSON.parse(text) }),
      );
    }).on("error", reject);
  });
}

test("the extension's id follows from its key", () => {
  const manifest = JSON.parse(readFileSync(join(extensionDir, "manifest.json"), "utf8"));
  const digest = createHash("sha256")
    .update(Buffer.from(manifest.key, "base64"))
    .digest("hex")
    .slice(0, 32);
  const id = [...digest].map((digit) => "abcdefghijklmnop"[Number.parseInt(digit, 16)]).join("");
  assert.is(id, EXTENSION_ID);
});

test("the token is derived: from the gateway's and the port, and neither from the other", () => {
  assert.is(token, derivePairingToken(browser.gateway.token, port));
  assert.is.not(token, derivePairingToken(browser.gateway.token, port + 1));
  assert.is.not(token, derivePairingToken(`${browser.gateway.token}x`, port));
  assert.not.ok(token.includes(browser.gateway.token));
});

test("the relay's DevTools endpoint needs the token, and says what to do until a tab is attached", async () => {
  for (const headers of [
    {},
    { authorization: "Bearer wrong" },
    { authorization: `Bearer ${token}x` },
  ] as Record<string, string>[]) {
    const refused = await ask("/json/version", headers);
    assert.is(refused.status, 401);
    assert.is(refused.body.error.code, "unauthorized");
  }
  assert.is((await ask("/json/version?token=wrong")).status, 401);
  for (const path of ["/json/version", "/json/version/"]) {
    const version = await ask(path, { authorization: `Bearer ${token}` });
    assert.is(version.status, 200);
    assert.is(version.body.webSocketDebuggerUrl, undefined);
    assert.match(version.body.error.message, /click the extension's icon/);
  }
  assert.is((await ask(`/json/list?token=${token}`)).status, 409);
});

test("foreign origins and rebound names are refused, with the right token too", async () => {
  const authorization = `Bearer ${token}`;
  for (const origin of [
    "https://evil.example",
    "null",
    "http://localhost:1",
    `chrome-extension://${"a".repeat(32)}`,
  ]) {
    assert.is((await ask("/json/version", { authorization, origin })).status, 403);
    assert.is((await asExtension(token, origin)).status, 403);
    assert.is((await asClient(token, { origin })).status, 403);
  }
  assert.is(
    (await ask("/json/version", { authorization, host: `evil.example:${port}` })).status,
    403,
  );
  assert.is(
    (await ask("/json/version", { authorization, "sec-fetch-site": "cross-site" })).status,
    403,
  );
  // The extension drives nothing, and clients attach nothing.
  assert.is((await asClient(token, { origin: EXTENSION_ORIGIN })).status, 403);
  assert.is((await knock("/extension", {}, ["portico-relay", `token.${token}`])).status, 403);
  assert.is((await asExtension(token, `http://127.0.0.1:${port}`)).status, 403);
});

test("the extension needs the relay's token; the gateway's own is not taken", async () => {
  for (const wrong of [undefined, "wrong", `${token}x`, browser.gateway.token]) {
    const { status, code } = await asExtension(wrong);
    assert.is(status, 401);
    assert.is(code, "unauthorized");
  }
  assert.is((await asExtension(token)).status, 101);
});

test("one extension at a time; the same one may come again", async () => {
  await untilExtensionGone();
  const first = await pretend();
  const ended = new Promise((resolve) => first.once("close", resolve));
  assert.is((await asExtension(token, EXTENSION_ORIGIN, "another")).status, 409);
  const check = await fetch(`http://127.0.0.1:${port}/extension/check`, {
    method: "POST",
    headers: {
      origin: EXTENSION_ORIGIN,
      authorization: `Bearer ${token}`,
      "content-type": "application/json",
    },
    body: JSON.stringify({ instance: "another" }),
  });
  assert.is(check.status, 409);
  assert.match(((await check.json()) as any).error.message, /Another browser/);
  assert.is((await asExtension(token)).status, 101);
  await ended;
});

test("a question about the pairing that makes no sense is the asker's mistake", async () => {
  const headers = {
    origin: EXTENSION_ORIGIN,
    authorization: `Bearer ${token}`,
    "content-type": "application/json",
  };
  for (const body of ["null", "7", "[]", '{"instance":7}', "{"]) {
    const { status } = await fetch(`http://127.0.0.1:${port}/extension/check`, {
      method: "POST",
      headers,
      body,
    });
    assert.is(status, 400, body);
  }
});

test("the page that says that the browser runs is the extension's, as its worker is", async () => {
  const show = (credential: string, origin: string, instance: string) =>
    knock("/extension/presence", { origin }, [
      "portico-relay",
      `token.${credential}`,
      `instance.${instance}`,
    ]);
  assert.is((await show("wrong", EXTENSION_ORIGIN, "one")).status, 401);
  assert.is((await show(token, "https://evil.example", "one")).status, 403);
  await untilExtensionGone();
  await pretend();
  assert.is((await show(token, EXTENSION_ORIGIN, "another")).status, 409);
  assert.is((await show(token, EXTENSION_ORIGIN, "one")).status, 101);
});

test("a client without token is refused, a second client too", async () => {
  await untilExtensionGone();
  await pretend();
  assert.is((await asClient(undefined)).status, 401);
  assert.is((await asClient("wrong")).status, 401);
  const { body } = await ask("/json/version", { authorization: `Bearer ${token}` });
  assert.is(body.webSocketDebuggerUrl, `ws://127.0.0.1:${port}/cdp`);
  const first = await asClient(token);
  assert.is(first.status, 101);
  const second = await asClient(token);
  assert.is(second.status, 409);
  assert.is(second.code, "conflict");
  // Browser control is a client like any other.
  const control = await browser.get("/snapshot");
  assert.is(control.status, 409);
  assert.match(control.body.error.message, /Another client controls/);
  first.socket!.close();
  await until("the place to be free", async () => (await asClient(token)).status === 101);
});

test("a message that is none ends its connection, and nothing else", async () => {
  await untilExtensionGone();
  const tab = {
    tabId: 1,
    targetId: "T1",
    attachment: "a",
    title: "Mine",
    url: "https://example.com/",
  };
  const greetings = [
    "Too many sessions",
    "null",
    JSON.stringify({ event: "hello", version: "0", userAgent: "an older one" }),
    JSON.stringify({ event: "attached" }),
    JSON.stringify({ event: "attached", tab: { ...tab, targetId: 7 } }),
    JSON.stringify({ event: "hello", version: "1", userAgent: "x", tabs: [{ ...tab, url: null }] }),
    JSON.stringify({ event: "hello", version: "1", userAgent: {}, tabs: [] }),
    JSON.stringify({ event: "cdp", tabId: "1", method: "Page.enable" }),
    JSON.stringify({ event: "cdp", tabId: 1, method: 7 }),
    JSON.stringify({ event: "cdp", tabId: 1, method: "Page.x", params: "x" }),
    JSON.stringify({ event: "__proto__" }),
    JSON.stringify({ id: "1" }),
    "[".repeat(100_000),
  ];
  for (const text of greetings) {
    const { socket } = await asExtension(token);
    socket!.send(text);
    assert.is((await once(socket!, "close"))[0], 1002, text);
  }
  const extension = await pretend();
  for (const text of ["hello?", "null", '"Browser.getVersion"']) {
    const client = await placedClient();
    client.send(text);
    assert.is((await once(client, "close"))[0], 1002, text);
  }
  assert.is(extension.readyState, WebSocket.OPEN);
  assert.is((await browser.get("/")).body.tabs[0].targetId, tab.targetId);
});

test("an extension that is back is asked for nothing until it has said which tabs it has", async () => {
  await untilExtensionGone();
  await pretend();
  const client = await placedClient();
  const responses = new Map<number, unknown>();
  client.on("message", (data) => {
    const { id, result } = JSON.parse(String(data));
    if (id !== undefined) responses.set(id, result);
  });
  const command = (id: number, method: string, params = {}): void =>
    client.send(JSON.stringify({ id, method, params }));
  const { socket: again } = await asExtension(token);
  const early = await received(again!, async () => {
    command(1, "Storage.getCookies");
    command(2, "Browser.getVersion");
    await until("the relay to have read both", () => responses.has(2));
  });
  assert.equal(early, []);
  again!.on("message", (data) =>
    again!.send(JSON.stringify({ id: JSON.parse(String(data)).id, result: { cookies: [] } })),
  );
  const tab = {
    tabId: 1,
    targetId: "T1",
    attachment: "a",
    title: "Mine",
    url: "https://example.com/",
  };
  again!.send(
    JSON.stringify({ event: "hello", version: "1", userAgent: "Chrome/156.0.0.0", tabs: [tab] }),
  );
  await until("the answer", () => responses.has(1));
  assert.equal(responses.get(1), { cookies: [] });
});

test("the command line prints where the extension is and how to pair it", async () => {
  const { home } = browser.gateway;
  const path = await portico(home, ["browser", "extension", "path"]);
  assert.is(path.code, 0, path.stderr);
  assert.is(path.stdout.trim(), extensionDir);
  assert.ok(existsSync(join(path.stdout.trim(), "manifest.json")));
  const pair = await portico(home, ["browser", "extension", "pair", "--json"]);
  assert.equal(JSON.parse(pair.stdout), { port, token });
  assert.match(
    (await portico(home, ["browser", "extension", "pair"])).stdout,
    new RegExp(`${port}[^]*${token}`),
  );
});

test("only the owner can read the pairing", async () => {
  const url = await browser.gateway.serverUrl("browser");
  assert.is((await fetch(`${url}/extension/pair`)).status, 401);
});

test("without the library, tabs can be listed and nothing else", async () => {
  await untilExtensionGone();
  process.env["PORTICO_BROWSER_LIBRARY"] = "absent";
  try {
    await pretend();
    assert.is((await browser.get("/tabs")).body.tabs[0].title, "Mine");
    const aria = await browser.get("/snapshot", { format: "aria" });
    assert.is(aria.status, 501);
    assert.is(aria.body.error.code, "library_unavailable");
    assert.match(aria.body.error.message, /relay can only be listed/);
    assert.is((await browser.post("/screenshot", {})).status, 501);
    assert.is((await browser.act("click", { ref: 1 })).status, 501);
    await browser.post("/stop");
  } finally {
    delete process.env["PORTICO_BROWSER_LIBRARY"];
  }
});

test("a new token of the gateway is a new token of the relay, and ends what the old one has opened", async () => {
  await untilExtensionGone();
  const socket = await pretend();
  const ended = new Promise((resolve) => socket.once("close", resolve));
  const config = JSON.parse(readFileSync(join(browser.gateway.home, "portico.json"), "utf8"));
  browser.gateway.write(
    "portico.json",
    JSON.stringify({
      ...config,
      gateway: { ...config.gateway, auth: { token: "another-token-of-the-gateway" } },
    }),
  );
  await ended;
  assert.is((await asExtension(token)).status, 401);
  assert.is(
    (await asExtension(derivePairingToken("another-token-of-the-gateway", port))).status,
    101,
  );
});

test("a client that guesses is stopped; the right token always passes, and the gateway's own never", async () => {
  await browser.stop();
  await start();
  assert.is((await ask(`/json/version?token=${browser.gateway.token}`)).status, 401);
  assert.is(
    (await ask("/json/version", { authorization: `Bearer ${browser.gateway.token}` })).status,
    401,
  );
  for (let i = 2; i < 20; i++) assert.is((await ask(`/json/version?token=guess-${i}`)).status, 401);
  const stopped = await ask("/json/version?token=guess");
  assert.is(stopped.status, 429);
  assert.is(stopped.body.error.code, "too_many_attempts");
  assert.is((await asClient("guess")).status, 429);
  assert.is((await asExtension("guess")).status, 429);
  assert.is((await ask("/json/version")).status, 401, "nothing was guessed");
  assert.is((await ask(`/json/version?token=${token}`)).status, 200);
  assert.is((await asExtension(token)).status, 101);
});

test("a gateway that stops takes leave of the extension and of its client", async () => {
  await browser.stop();
  await start();
  const extension = await pretend();
  const { socket: client } = await asClient(token);
  const ends = Promise.all([extension, client!].map((socket) => once(socket, "close")));
  await browser.stop();
  assert.equal(
    (await ends).map(([code]) => code),
    [1001, 1001],
  );
});

test.run();

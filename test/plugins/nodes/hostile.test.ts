/** A node that lies: what it sends stays where it belongs, and harms nobody else. */
import { existsSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "../../support/suite.ts";
import * as assert from "uvu/assert";
import type { WebSocket } from "ws";
import { type FromNode, packChunk, type ToNode } from "../../../plugins/nodes/wire.ts";
import { type BrowserGateway, startBrowser } from "../browser/support.ts";
import { until } from "../../support/until.ts";
import { knock } from "./support.ts";

type Request = Extract<ToNode, { t: "request" }>;

let browser: BrowserGateway;
let socket: WebSocket;
let respond: (request: Request) => void = () => {};
const send = (message: FromNode | object): void => socket.send(JSON.stringify(message));
const chunk = (id: number, text: string): void => socket.send(packChunk(id, 0, Buffer.from(text)));

function connect(name: string): WebSocket {
  const socket = knock(browser.gateway, name);
  socket.on("message", (data) => {
    const message = JSON.parse(String(data)) as ToNode;
    if (message.t === "request") respond(message);
  });
  return socket;
}

const known = (name: string, state: string) =>
  until(`${name} to be ${state}`, async () => {
    const { nodes } = await browser.gateway.json("GET", "/nodes");
    return nodes.find(
      (node: { name: string; state: string }) => node.name === name && node.state === state,
    );
  });

test.before(async () => {
  const config = { gateway: { nodes: { maxFileBytes: 1000 } } };
  browser = await startBrowser({ executablePath: "/nowhere/chrome" }, { config });
  socket = connect("liar");
  socket.on("open", () =>
    send({ t: "hello", version: "1", platform: "x", browser: true, profiles: ["a", 7] }),
  );
  await known("liar", "connected");
});
test.after(async () => {
  socket.terminate();
  await browser.stop();
});

const picture = (id: number, name: string, size: number): object => ({
  t: "answer",
  id,
  body: { ok: true, path: "/etc/passwd" },
  files: [{ at: ["path"], name, size }],
});

test("a file's name cannot lead to another directory", async () => {
  respond = ({ id }) => {
    send(picture(id, "../../../../tmp/evil.png", 4));
    chunk(id, "evil");
    chunk(id, "");
  };
  const { body } = await browser.post("/screenshot");
  assert.is(body.path, join(tmpdir(), "portico/screenshots/liar-evil.png"));
  assert.is(readFileSync(body.path, "utf8"), "evil");
  rmSync(body.path);
});

test("a path without a file is not handed on", async () => {
  respond = ({ id }) =>
    send({ t: "answer", id, body: { ok: true, path: "/etc/passwd" }, files: [] });
  assert.is((await browser.post("/screenshot")).body.path, null);
});

test("a file of another size than announced, too large, or in the wrong place is refused", async () => {
  respond = ({ id }) => {
    send(picture(id, "long.png", 2));
    chunk(id, "four");
  };
  assert.is((await browser.post("/screenshot")).body.error.code, "node_unavailable");
  respond = ({ id }) => send(picture(id, "large.png", 1001));
  assert.match((await browser.post("/screenshot")).body.error.message, "maxFileBytes");
  respond = ({ id }) => send(picture(id, "odd.png", 1));
  assert.is((await browser.get("/tabs")).body.error.code, "node_unavailable");
  for (const name of ["long", "large", "odd"])
    assert.not(existsSync(join(tmpdir(), `portico/screenshots/liar-${name}.png`)));
});

test("malformed errors and misleading statuses are replaced", async () => {
  respond = ({ id }) =>
    send({ t: "error", id, error: { code: "fine", message: "all is well", status: 200 } });
  assert.is((await browser.get("/tabs")).status, 503);
  respond = ({ id }) =>
    send({ t: "error", id, error: { code: "unauthorized", message: "who are you", status: 401 } });
  assert.is((await browser.get("/tabs")).status, 502);
});

test("responses without a request are ignored, and an unreadable message ends the connection and its requests", async () => {
  send({ t: "answer", id: 4_000_000, body: {}, files: [] });
  chunk(4_000_000, "x");
  respond = ({ id }) => send({ t: "answer", id, body: { tabs: [] }, files: [] });
  assert.equal((await browser.get("/tabs")).body.tabs, []);
  const lies: ((id: number) => string)[] = [
    () => "{not json",
    () => "null",
    (id) => JSON.stringify({ t: "answer", id, body: "text", files: [] }),
    (id) => JSON.stringify({ t: "answer", id, body: null, files: [] }),
    (id) => JSON.stringify({ t: "answer", id, body: {} }),
    (id) =>
      JSON.stringify({ t: "answer", id, body: {}, files: [{ at: "path", name: "x", size: 1 }] }),
    (id) =>
      JSON.stringify({
        t: "answer",
        id,
        body: {},
        files: [{ at: ["path"], name: "x", size: "endless" }],
      }),
    (id) => JSON.stringify({ t: "bytes", id, type: "image/png", size: -1 }),
    (id) => JSON.stringify({ t: "bytes", id, type: {}, size: 1 }),
    (id) => JSON.stringify({ t: "error", id, error: null }),
    (id) => JSON.stringify({ t: "hello", id, version: 1 }),
    (id) => JSON.stringify({ t: "nothing", id }),
    () => "[".repeat(100_000),
  ];
  for (const lie of lies) {
    respond = ({ id }) => socket.send(lie(id));
    const { status, body } = await browser.get("/tabs");
    assert.equal([status, body.error.code], [503, "node_unavailable"], lie(0).slice(0, 100));
    await known("liar", "gone");
    socket = connect("liar");
    socket.on("open", () =>
      send({ t: "hello", version: "1", platform: "x", browser: true, profiles: [] }),
    );
    await known("liar", "connected");
  }
});

test.run();

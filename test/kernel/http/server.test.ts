import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { test } from "../../support/suite.ts";
import * as assert from "uvu/assert";
import { WebSocketServer, WebSocket } from "ws";
import { isPorticoError } from "../../../kernel/errors.ts";
import { Auth } from "../../../kernel/http/access/auth.ts";
import { createConnectionLimit } from "../../../kernel/http/connection-limit.ts";
import { HttpServer } from "../../../kernel/http/server.ts";
import { until } from "../../support/until.ts";
import {
  ask,
  closeAll,
  codeOf,
  collect,
  collectLog,
  exchange,
  parseAnswer,
  startServer,
} from "./harness.ts";

test.after(closeAll);

const open = { access: "public" } as const;

function request(port: number, path: string, headers = ""): Socket {
  const socket = connect(port, "127.0.0.1", () =>
    socket.write(`GET ${path} HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\n${headers}\r\n`),
  );
  return socket;
}

test("a port in use is told with the port and the way out", async () => {
  const first = await startServer();
  const log = collectLog([]);
  const auth = new Auth({ settings: () => ({}), authenticators: () => [], log });
  const settings = () => ({ http: first.settings, trustedProxies: [] });
  const connectionLimit = createConnectionLimit(() => first.settings);
  const fresh = () =>
    new HttpServer({ name: "x", log, access: () => {}, settings, auth, connectionLimit });
  try {
    await fresh().listen(first.port, "127.0.0.1");
    assert.unreachable();
  } catch (error) {
    assert.ok(isPorticoError(error));
    assert.is(error.code, "port_in_use");
    assert.match(error.message, String(first.port));
    assert.match(error.message, "--port");
  }
  try {
    await fresh().listen(0, "192.0.2.1");
    assert.unreachable();
  } catch (error) {
    assert.is((error as { code: string }).code, "cannot_listen");
  }
});

test("a server that has begun knows its port, and closes twice without harm", async () => {
  const one = await startServer();
  assert.is(one.server.port, one.port);
  await one.server.close(0);
  await one.server.close(0);
  const socket = connect(one.port, "127.0.0.1");
  const [error] = (await once(socket, "error")) as [NodeJS.ErrnoException];
  assert.is(error.code, "ECONNREFUSED");
});

test("close ends idle connections at once, even those that never spoke", async () => {
  const one = await startServer();
  one.server.route("GET", "/item", open, () => 1);
  const idle = request(one.port, "/item");
  await once(idle, "data");
  const silent = connect(one.port, "127.0.0.1");
  await once(silent, "connect");
  await ask(one, "GET", "/item"); // answered, so what came before it has been accepted
  const ends = Promise.all([idle, silent].map(collect));
  await one.server.close(60_000);
  await ends;
});

test("close lets a running answer end, with `connection: close`, and takes no new connection", async () => {
  const one = await startServer();
  let release = (_: unknown) => {};
  one.server.route(
    "GET",
    "/slow",
    open,
    () =>
      new Promise((resolve) => {
        release = resolve;
      }),
  );
  const socket = request(one.port, "/slow");
  const text = collect(socket);
  await until("the call", () => one.server.active === 1);
  const closed = one.server.close(60_000);
  const refused = connect(one.port, "127.0.0.1");
  const [error] = (await once(refused, "error")) as [NodeJS.ErrnoException];
  assert.is(error.code, "ECONNREFUSED");
  release("done");
  const answer = parseAnswer(await text);
  assert.is(answer.body, '"done"');
  assert.is(answer.headers["connection"], "close");
  await closed;
  assert.is(one.server.active, 0);
});

test("close cuts what is left when its grace is over", async () => {
  const one = await startServer();
  let signal: AbortSignal | undefined;
  one.server.route("GET", "/never", open, (call) => {
    signal = call.signal;
    return new Promise(() => {});
  });
  const text = collect(request(one.port, "/never"));
  await until("the call", () => signal);
  await one.server.close(50);
  const { status, body } = parseAnswer(await text);
  assert.is(status, 503);
  assert.match(body, "service_unavailable");
  await until("the signal", () => signal?.aborted);
});

const handshake =
  "connection: Upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n";

async function sockets(options: Parameters<typeof startServer>[0] = {}) {
  const one = await startServer(options);
  const wss = new WebSocketServer({ noServer: true });
  wss.on("connection", (ws) => ws.on("message", (text) => ws.send(`echo ${text}`)));
  const extension = "chrome-extension://aaaabbbbccccddddeeeeffffgggghhhh";
  const accept: Parameters<typeof one.server.upgrade>[2] = (req, socket, rest) =>
    wss.handleUpgrade(req, socket, rest, (ws) => wss.emit("connection", ws, req));
  const undo = one.server.upgrade("/ws", { access: "gateway" }, accept);
  one.server.upgrade("/open", { access: "own", origins: [extension] }, accept);
  one.server.upgrade("/page/:id", { access: "public" }, accept);
  one.server.upgrade("/broken", { access: "public" }, () => {
    throw new Error("secret");
  });
  return { ...one, wss, extension, undo };
}

test("upgrades pass the same guards as requests", async () => {
  const one = await sockets();
  const token = "authorization: Bearer right-token\r\n";
  const rows: [string, string, number, string][] = [
    ["/ws", "", 401, "unauthorized"],
    ["/ws", "authorization: Bearer wrong\r\n", 401, "unauthorized"],
    ["/ws", `${token}origin: http://evil.test\r\n`, 403, "forbidden_origin"],
    ["/ws", `${token}origin: null\r\n`, 403, "forbidden_origin"],
    ["/ws", `${token}origin: ${one.extension}\r\n`, 403, "forbidden_origin"],
    ["/open", "origin: http://evil.test\r\n", 403, "forbidden_origin"],
    ["/open", "sec-fetch-site: cross-site\r\n", 403, "forbidden_origin"],
    ["/nothing", token, 404, "not_found"],
    ["/broken", "", 500, "internal_error"],
  ];
  for (const [path, headers, status, code] of rows) {
    const answer = parseAnswer(await collect(request(one.port, path, handshake + headers)));
    assert.is(answer.status, status, path + headers);
    assert.is(codeOf(answer), code, path + headers);
    assert.ok(answer.headers["x-request-id"]);
    assert.not.match(answer.body, "secret");
  }
  const rebound = await exchange(
    one.port,
    `GET /open HTTP/1.1\r\nhost: evil.test:${one.port}\r\n${handshake}\r\n`,
  );
  assert.is(codeOf(rebound), "forbidden_host");
});

test("an upgrade that passes is handed over, outlives the answers, and goes when the server closes", async () => {
  const one = await sockets();
  const talk = async (path: string, headers: Record<string, string>) => {
    const ws = new WebSocket(`ws://127.0.0.1:${one.port}${path}`, { headers });
    await once(ws, "open");
    ws.send("hello");
    const [text] = await once(ws, "message");
    assert.is(String(text), "echo hello");
    return ws;
  };
  const all = [
    await talk("/ws", { authorization: "Bearer right-token" }),
    await talk("/open?token=x", { origin: one.extension }),
    await talk("/page/7", {}),
  ];
  await one.undo();
  const gone = new WebSocket(`ws://127.0.0.1:${one.port}/ws`, {
    headers: { authorization: "Bearer right-token" },
  });
  const [error] = (await once(gone, "error")) as [Error];
  assert.match(error.message, "404");
  const ends = Promise.all(all.map((ws) => once(ws, "close")));
  await one.server.drain(60_000);
  for (const ws of all) ws.send("still there");
  const replies = await Promise.all(all.map((ws) => once(ws, "message")));
  assert.equal(
    replies.map(([text]) => String(text)),
    Array(3).fill("echo still there"),
  );
  const [first] = one.wss.clients;
  first?.close(1001);
  await one.server.close(0);
  assert.equal(
    (await ends).map(([code]) => code).sort(),
    [1001, 1006, 1006],
    "what has no farewell is cut",
  );
});

test("a client that offers HTTP/2 gets an ordinary answer, with its body read", async () => {
  const one = await startServer();
  one.server.route("POST", "/json", open, async (call) => ({ got: await call.json() }));
  one.server.route("GET", "/item", open, () => 1);
  const offer =
    "connection: Upgrade, HTTP2-Settings\r\nupgrade: h2c\r\nhttp2-settings: AAMAAABkAARAAAAAAAIAAAAA\r\n";
  const socket = connect(one.port, "127.0.0.1", () =>
    socket.write(
      `POST /json HTTP/1.1\r\nhost: 127.0.0.1:${one.port}\r\n${offer}content-type: application/json\r\ncontent-length: 7\r\n\r\n{"a`,
    ),
  );
  const text = collect(socket);
  await until("the request", () => one.server.active === 1);
  socket.write('":1}');
  await once(socket, "data");
  socket.write(`GET /item HTTP/1.1\r\nhost: 127.0.0.1:${one.port}\r\nconnection: close\r\n\r\n`);
  const all = await text;
  assert.match(all, '{"got":{"a":1}}');
  assert.is(all.match(/HTTP\/1.1 200/g)?.length, 2);
});

test("what is no HTTP is answered with 400, a head that is too large with 431, and the server goes on", async () => {
  const one = await startServer();
  one.server.route("GET", "/item", open, () => 1);
  const rows: [string, number][] = [
    ["nonsense\r\n\r\n", 400],
    ["GET /item HTTP/9.9\r\n\r\n", 400],
    ["GET /item HTTP/1.1\r\nbad header\r\n\r\n", 400],
    [`GET /item HTTP/1.1\r\nhost: 127.0.0.1:${one.port}\r\nx: ${"y".repeat(20_000)}\r\n\r\n`, 431],
    [
      `POST /item HTTP/1.1\r\nhost: 127.0.0.1:${one.port}\r\ncontent-length: 5\r\ntransfer-encoding: chunked\r\n\r\n`,
      400,
    ],
  ];
  for (const [bytes, status] of rows) {
    const answer = await exchange(one.port, bytes);
    assert.is(answer.status, status, bytes.slice(0, 40));
    assert.ok(answer.headers["x-request-id"]);
    assert.ok(codeOf(answer));
  }
  const tls = Buffer.from("160301020001000001fc0303", "hex");
  assert.is((await exchange(one.port, tls)).status, 400);
  assert.is((await ask(one, "GET", "/item")).status, 200);
});

test("a head that does not come to its end is answered with 408", async () => {
  const one = await startServer({ settings: { headersTimeoutMs: 100 } });
  const answer = await exchange(one.port, "GET /item HTTP/1.1\r\nhost: x\r\n");
  assert.is(answer.status, 408);
  assert.is(codeOf(answer), "request_timeout");
});

test("requests that come in one packet are answered in order", async () => {
  const one = await startServer();
  one.server.route("GET", "/:name", open, async (call) => {
    if (call.params["name"] === "slow") await new Promise((resolve) => setTimeout(resolve, 20));
    return call.params["name"];
  });
  const line = (name: string, more = "") =>
    `GET /${name} HTTP/1.1\r\nhost: 127.0.0.1:${one.port}\r\n${more}\r\n`;
  const socket = connect(one.port, "127.0.0.1", () =>
    socket.write(line("slow") + line("quick") + line("last", "connection: close\r\n")),
  );
  assert.match(await collect(socket), /"slow"[\s\S]*"quick"[\s\S]*"last"/);
});

test.run();

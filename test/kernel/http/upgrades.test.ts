/** Upgrades to WebSockets: guarded like requests, and with a life of their own. */
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import * as assert from "uvu/assert";
import { WebSocket, WebSocketServer } from "ws";
import { codeOf, collect, exchange, parseResponse } from "../../support/raw-http.ts";
import { suite } from "../../support/suite.ts";
import { closeAll, startServer } from "./harness.ts";

const test = suite("upgrades");
test.after(closeAll);

function request(port: number, path: string, headers = ""): Socket {
  const socket = connect(port, "127.0.0.1", () =>
    socket.write(`GET ${path} HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\n${headers}\r\n`),
  );
  return socket;
}

const handshake =
  "connection: Upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n";

async function sockets(options: Parameters<typeof startServer>[0] = {}) {
  const testServer = await startServer(options);
  const wss = new WebSocketServer({ noServer: true });
  wss.on("connection", (ws) => ws.on("message", (text) => ws.send(`echo ${text}`)));
  const extension = "chrome-extension://aaaabbbbccccddddeeeeffffgggghhhh";
  const accept: Parameters<typeof testServer.server.upgrade>[2] = (req, socket, rest) =>
    wss.handleUpgrade(req, socket, rest, (ws) => wss.emit("connection", ws, req));
  const undo = testServer.server.upgrade("/ws", { access: "gateway" }, accept);
  testServer.server.upgrade("/open", { access: "own", origins: [extension] }, accept);
  testServer.server.upgrade("/page/:id", { access: "public" }, accept);
  testServer.server.upgrade("/broken", { access: "public" }, () => {
    throw new Error("secret");
  });
  return { ...testServer, wss, extension, undo };
}

test("upgrades pass the same guards as requests", async () => {
  const server = await sockets();
  const token = "authorization: Bearer right-token\r\n";
  const rows: [string, string, number, string][] = [
    ["/ws", "", 401, "unauthorized"],
    ["/ws", "authorization: Bearer wrong\r\n", 401, "unauthorized"],
    ["/ws", `${token}origin: http://evil.test\r\n`, 403, "forbidden_origin"],
    ["/ws", `${token}origin: null\r\n`, 403, "forbidden_origin"],
    ["/ws", `${token}origin: ${server.extension}\r\n`, 403, "forbidden_origin"],
    ["/open", "origin: http://evil.test\r\n", 403, "forbidden_origin"],
    ["/open", "sec-fetch-site: cross-site\r\n", 403, "forbidden_origin"],
    ["/nothing", token, 404, "not_found"],
    ["/broken", "", 500, "internal_error"],
  ];
  for (const [path, headers, status, code] of rows) {
    const response = parseResponse(await collect(request(server.port, path, handshake + headers)));
    assert.is(response.status, status, path + headers);
    assert.is(codeOf(response), code, path + headers);
    assert.ok(response.headers["x-request-id"]);
    assert.not.match(response.body, "secret");
  }
  const rebound = await exchange(
    server.port,
    `GET /open HTTP/1.1\r\nhost: evil.test:${server.port}\r\n${handshake}\r\n`,
  );
  assert.is(codeOf(rebound), "forbidden_host");
});

test("an accepted upgrade is handed over, outlives the responses, and ends when the server closes", async () => {
  const server = await sockets();
  const talk = async (path: string, headers: Record<string, string>) => {
    const ws = new WebSocket(`ws://127.0.0.1:${server.port}${path}`, { headers });
    await once(ws, "open");
    ws.send("hello");
    const [text] = await once(ws, "message");
    assert.is(String(text), "echo hello");
    return ws;
  };
  const all = [
    await talk("/ws", { authorization: "Bearer right-token" }),
    await talk("/open?token=x", { origin: server.extension }),
    await talk("/page/7", {}),
  ];
  await server.undo();
  const refusedSocket = new WebSocket(`ws://127.0.0.1:${server.port}/ws`, {
    headers: { authorization: "Bearer right-token" },
  });
  const [error] = (await once(refusedSocket, "error")) as [Error];
  assert.match(error.message, "404");
  const ends = Promise.all(all.map((ws) => once(ws, "close")));
  await server.server.drain(60_000);
  for (const ws of all) ws.send("still there");
  const replies = await Promise.all(all.map((ws) => once(ws, "message")));
  assert.equal(
    replies.map(([text]) => String(text)),
    Array(3).fill("echo still there"),
  );
  const [first] = server.wss.clients;
  first?.close(1001);
  await server.server.close(0);
  assert.equal(
    (await ends).map(([code]) => code).sort(),
    [1001, 1006, 1006],
    "what has no farewell is cut",
  );
});

test.run();

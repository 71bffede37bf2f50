import { createServer, request, type IncomingMessage, type RequestListener, type Server } from "node:http";
import {
  type AddressInfo,
  connect,
  createServer as createTcpServer,
  type Server as TcpServer,
  type Socket,
} from "node:net";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { startEgressProxy } from "../../kernel/egress-proxy.ts";
import { createGuard } from "../../kernel/guard/guard.ts";
import type { EgressProxy } from "../../kernel/guard/types.ts";

let handler: RequestListener = (_req, res) => void res.end("unset");
let web: Server;
let tcp: TcpServer;
let webPort = 0;
let tcpPort = 0;
let reached = 0;
let connections = 0;
let proxy: EgressProxy;
const answers: Record<string, string> = { "pub.test": "127.0.0.1", "evil.test": "127.0.0.1" };

const test = suite("egress proxy");
test.before(async () => {
  web = createServer((req, res) => {
    reached++;
    handler(req, res);
  });
  web.on("connection", () => connections++);
  tcp = createTcpServer((socket) => socket.pipe(socket).on("error", () => {}));
  for (const server of [web, tcp]) await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  webPort = (web.address() as AddressInfo).port;
  tcpPort = (tcp.address() as AddressInfo).port;
  const guard = createGuard({
    policy: () => ({ allowPrivate: false, allowedHostnames: ["pub.test"] }),
    resolve: async (name) => (answers[name] === undefined ? [] : [{ address: answers[name], family: 4 }]),
    ownPorts: () => [],
  });
  proxy = await startEgressProxy({ guard, connectTimeoutMs: 2000 });
});
test.after(async () => {
  await proxy.close();
  web.closeAllConnections();
  for (const server of [web, tcp]) await new Promise((resolve) => server.close(resolve));
});

interface Answer {
  status: number;
  headers: IncomingMessage["headers"];
  body: string;
}
function via(
  url: string,
  options: { method?: string; body?: string; headers?: Record<string, string> } = {},
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const { method, body, headers } = options;
    const req = request(
      { host: "127.0.0.1", port: proxy.port, path: url, method, headers: { host: "x", ...headers }, agent: false },
      (res) => {
        const chunks: Buffer[] = [];
        res.on("data", (chunk: Buffer) => chunks.push(chunk));
        res.on("end", () =>
          resolve({ status: res.statusCode ?? 0, headers: res.headers, body: Buffer.concat(chunks).toString() }),
        );
        res.on("error", reject);
      },
    );
    req.on("error", reject);
    req.end(body);
  });
}
/** Sends CONNECT and answers the status line and the socket. */
function tunnel(target: string): Promise<{ head: string; socket: Socket }> {
  return new Promise((resolve, reject) => {
    const socket = connect(proxy.port, "127.0.0.1", () =>
      socket.write(`CONNECT ${target} HTTP/1.1\r\nhost: ${target}\r\n\r\n`),
    );
    let text = "";
    const read = (chunk: Buffer): void => {
      text += chunk.toString("latin1");
      if (!text.includes("\r\n\r\n")) return;
      socket.off("data", read);
      resolve({ head: text, socket });
    };
    socket.on("data", read).on("error", reject);
  });
}

test("passes requests on with the URL's host and without the headers of the hop", async () => {
  let seen: IncomingMessage["headers"] = {};
  handler = (req, res) => {
    seen = req.headers;
    res.writeHead(201, { "x-a": "1", "set-cookie": ["a=1", "b=2"], connection: "x-hop", "x-hop": "1" }).end(req.url);
  };
  const answer = await via(`http://pub.test:${webPort}/a/b?c`, {
    headers: {
      "proxy-authorization": "Basic eA==",
      "proxy-connection": "keep-alive",
      "x-own": "1",
      connection: "x-drop",
      "x-drop": "1",
    },
  });
  assert.is(answer.status, 201);
  assert.is(answer.body, "/a/b?c");
  assert.equal(answer.headers["set-cookie"], ["a=1", "b=2"]);
  assert.is(answer.headers["x-hop"], undefined);
  assert.is(seen.host, `pub.test:${webPort}`);
  assert.is(seen["x-own"], "1");
  for (const name of ["proxy-authorization", "proxy-connection", "x-drop"]) assert.is(seen[name], undefined, name);
});

test("passes bodies on, with a length and without", async () => {
  handler = (req, res) => void req.pipe(res);
  for (const method of ["POST", "PUT", "DELETE"]) {
    assert.is(
      (await via(`http://pub.test:${webPort}/`, { method, body: "hello", headers: { "content-length": "5" } })).body,
      "hello",
    );
    assert.is(
      (await via(`http://pub.test:${webPort}/`, { method, body: "hello", headers: { "transfer-encoding": "chunked" } }))
        .body,
      "hello",
    );
  }
});

test("refuses with 403, a reason and a record; nothing arrives", async () => {
  const denials: string[] = [];
  const undo = proxy.onDenied(({ target, reason }) => denials.push(`${target} ${reason}`));
  reached = 0;
  const since = Date.now();
  const targets: [string, string][] = [
    [`http://127.0.0.1:${webPort}/x`, "private_address"],
    [`http://evil.test:${webPort}/x`, "private_address"],
    [`http://localhost:${webPort}/x`, "private_name"],
    [`http://0x7f.1:${webPort}/x`, "private_address"],
    ["http://169.254.169.254/latest", "metadata"],
    ["http://127.0.0.1:18800/json", "own_port"],
  ];
  for (const [url, reason] of targets) {
    const answer = await via(url);
    assert.is(answer.status, 403, url);
    assert.is(answer.headers["x-portico-blocked"], reason, url);
    assert.match(answer.body, "Blocked");
  }
  for (const target of [
    `127.0.0.1:${tcpPort}`,
    `[::1]:${tcpPort}`,
    `evil.test:${tcpPort}`,
    "169.254.169.254:80",
    `localhost:${tcpPort}`,
  ]) {
    const { head, socket } = await tunnel(target);
    assert.match(head, /^HTTP\/1\.1 403 /, target);
    socket.destroy();
  }
  undo();
  assert.is(reached, 0);
  assert.is(denials.length, targets.length + 5);
  assert.is(proxy.denied(since).length, denials.length);
  assert.is(proxy.denied(Date.now() + 1000).length, 0);
});

test("a name that changes its address is judged at each connection", async () => {
  handler = (_req, res) => res.setHeader("connection", "close").end("ok");
  answers["pub.test"] = "127.0.0.1";
  assert.is((await via(`http://pub.test:${webPort}/`)).status, 200);
  answers["pub.test"] = "169.254.169.254";
  assert.is((await via(`http://pub.test:${webPort}/`)).status, 403);
  answers["pub.test"] = "127.0.0.1";
});

test("does not connect to itself, and answers nonsense with 400", async () => {
  assert.is((await via(`http://pub.test:${proxy.port}/`)).headers["x-portico-blocked"], "own_port");
  assert.is((await via("/relative")).status, 400);
  assert.is((await via("ftp://pub.test/")).status, 400);
  const { head, socket } = await tunnel("nonsense");
  assert.match(head, /^HTTP\/1\.1 400 /);
  socket.destroy();
});

test("an unreachable host is 502, for requests and tunnels", async () => {
  const closed = createTcpServer();
  await new Promise<void>((resolve) => closed.listen(0, "127.0.0.1", resolve));
  const port = (closed.address() as AddressInfo).port;
  await new Promise((resolve) => closed.close(resolve));
  const answer = await via(`http://pub.test:${port}/`);
  assert.is(answer.status, 502);
  assert.match(answer.body, "ECONNREFUSED");
  assert.is((await via("http://nowhere.test/")).headers["x-portico-unreachable"], "name_not_resolved");
  const { head, socket } = await tunnel(`pub.test:${port}`);
  assert.match(head, /^HTTP\/1\.1 502 /);
  socket.destroy();
});

test("tunnels carry bytes both ways and end on both sides", async () => {
  const { head, socket } = await tunnel(`pub.test:${tcpPort}`);
  assert.match(head, /^HTTP\/1\.1 200 /);
  const payload = Buffer.alloc(3_000_000, "abc");
  let got = 0;
  const all = new Promise<void>((resolve) =>
    socket.on("data", (chunk: Buffer) => {
      got += chunk.length;
      if (got === payload.length) resolve();
    }),
  );
  socket.write(payload);
  await all;
  const ended = new Promise((resolve) => socket.once("end", resolve));
  socket.end();
  await ended;
});

test("pools upstream connections, and survives one that the server has closed meanwhile", async () => {
  handler = (_req, res) => void res.end("ok");
  connections = 0;
  for (let i = 0; i < 10; i++) assert.is((await via(`http://pub.test:${webPort}/${i}`)).status, 200);
  assert.ok(connections <= 2, `${connections} connections for 10 requests`);
  handler = (req) => req.socket.destroy();
  const cut = await via(`http://pub.test:${webPort}/cut`);
  assert.is(cut.status, 502);
  handler = (_req, res) => void res.end("ok");
  web.closeIdleConnections();
  const many = await Promise.all(Array.from({ length: 100 }, (_, i) => via(`http://pub.test:${webPort}/${i}`)));
  assert.ok(many.every(({ status, body }) => status === 200 && body === "ok"));
});

test("a client that leaves ends the upstream request; a cut answer is not completed", async () => {
  const left = new Promise<void>((resolve) => {
    handler = (_req, res) => {
      res.write("begin");
      res.once("close", resolve);
    };
  });
  const req = request(
    { host: "127.0.0.1", port: proxy.port, path: `http://pub.test:${webPort}/`, agent: false },
    (res) => {
      res.once("data", () => req.destroy());
      res.on("error", () => {});
    },
  );
  req.on("error", () => {});
  req.end();
  await left;
  handler = (_req, res) => {
    res.writeHead(200, { "content-length": "100" });
    res.write("half", () => res.destroy());
  };
  assert.is(
    await via(`http://pub.test:${webPort}/`).then(
      () => "whole",
      () => "cut",
    ),
    "cut",
  );
});

test.run();

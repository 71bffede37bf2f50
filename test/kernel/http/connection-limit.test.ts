/** More connections than there are file handles: who gives way, and who is refused. */
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { suite } from "../../support/suite.ts";
import * as assert from "uvu/assert";
import { until } from "../../support/until.ts";
import { closeAll, startServer, type TestServer } from "./harness.ts";

const test = suite("limit of connections");
test.after(closeAll);

const sockets: Socket[] = [];
test.after(() => {
  for (const socket of sockets) socket.destroy();
});

async function open(port: number, text = "", localAddress = "127.0.0.1"): Promise<Socket> {
  const socket = connect({ port, host: "127.0.0.1", localAddress });
  sockets.push(socket.on("error", () => {}));
  await once(socket, "connect");
  if (text !== "") socket.write(text);
  return socket;
}

/** Sends one request on a connection of its own, and returns the response. */
async function get(server: TestServer, path = "/ok", localAddress?: string): Promise<string> {
  const socket = await open(
    server.port,
    `GET ${path} HTTP/1.1\r\nhost: 127.0.0.1:${server.port}\r\n\r\n`,
    localAddress,
  );
  const [chunk] = await once(socket, "data");
  return String(chunk);
}

async function start(handles: number, settings: Partial<TestServer["settings"]> = {}) {
  const server = await startServer({ handles, settings });
  server.server.route("GET", "/ok", { access: "public" }, () => ({ ok: true }));
  const releases: (() => void)[] = [];
  server.server.route(
    "GET",
    "/hold",
    { access: "public" },
    () => new Promise((resolve) => releases.push(() => resolve({ held: true }))),
  );
  return { server, releases };
}

const IDLE = {
  "that send nothing": "",
  "with half a head": "GET /ok HTTP/1.1\r\nhost: 127.0.0.1\r\nx-a: ",
  "that are kept alive": "GET /ok HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n",
  "whose body is not wanted":
    "POST /nowhere HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: 1000000\r\n\r\n{",
};
for (const [what, text] of Object.entries(IDLE))
  test(`connections ${what} give way, the oldest first`, async () => {
    const { server } = await start(64);
    const all = await Promise.all(Array.from({ length: 100 }, () => open(server.port, text)));
    assert.match(await get(server), /^HTTP\/1.1 200/);
    await until("the idle ones to close", () => all.filter((socket) => socket.closed).length >= 84);
    assert.match(await get(server), /^HTTP\/1.1 200/);
  });

test("if all connections are busy, a new one is refused with advice", async () => {
  const { server, releases } = await start(64, {
    maxConnections: 4,
    maxConnectionsPerAddress: 4,
  });
  const working = Array.from({ length: 4 }, () => get(server, "/hold"));
  await until("the requests to begin", () => releases.length === 4);
  const refusal = await get(server);
  assert.match(refusal, /^HTTP\/1.1 503/);
  assert.match(refusal, /"code":"too_many_connections"/);
  assert.match(refusal, /retry-after: 1\r\n/);
  assert.match(refusal, /connection: close\r\n/);
  for (const end of releases) end();
  for (const response of await Promise.all(working)) assert.match(response, /^HTTP\/1.1 200/);
  assert.match(await get(server), /^HTTP\/1.1 200/);
});

test("one address cannot use up the connections of the others", async () => {
  const { server, releases } = await start(64, {
    maxConnections: 6,
    maxConnectionsPerAddress: 3,
  });
  const working = Array.from({ length: 3 }, () => get(server, "/hold", "127.0.0.2"));
  await until("the requests to begin", () => releases.length === 3);
  assert.match(await get(server, "/ok", "127.0.0.2"), /^HTTP\/1.1 503/);
  assert.match(await get(server, "/ok", "127.0.0.3"), /^HTTP\/1.1 200/);
  for (const end of releases) end();
  await Promise.all(working);
});

test("a trusted proxy has no share of its own, and loses no connection to others", async () => {
  const { server, releases } = await start(64, {
    maxConnections: 6,
    maxConnectionsPerAddress: 2,
    trustedProxies: ["127.0.0.8/29"],
  });
  const working = Array.from({ length: 5 }, () => get(server, "/hold", "127.0.0.9"));
  await until("the requests to begin", () => releases.length === 5);
  assert.match(await get(server, "/ok", "127.0.0.9"), /^HTTP\/1.1 200/);
  for (const end of releases) end();
  await Promise.all(working);
});

test.run();

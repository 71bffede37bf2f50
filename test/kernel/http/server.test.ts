/** The life of a server's connections, and what is no request. */
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import * as assert from "uvu/assert";
import { startGateway } from "../../support/gateway.ts";
import { ask, codeOf, collect, exchange, parseResponse } from "../../support/raw-http.ts";
import { startRoutes, stopRoutes } from "../../support/routes.ts";
import { test } from "../../support/suite.ts";
import { until } from "../../support/until.ts";

test.after(stopRoutes);

const open = { access: "public" } as const;

function request(port: number, path: string, headers = ""): Socket {
  const socket = connect(port, "127.0.0.1", () =>
    socket.write(`GET ${path} HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\n${headers}\r\n`),
  );
  return socket;
}

test("a port in use and an address of another machine are named with a remedy", async () => {
  const first = await startRoutes();
  const start = async (gateway: Record<string, unknown>) => {
    try {
      await (await startGateway({ only: [], config: { gateway } })).stop();
    } catch (error) {
      return error as { code: string; message: string };
    }
    return assert.unreachable("it started");
  };
  const inUse = await start({ port: first.port });
  assert.is(inUse?.code, "port_in_use");
  assert.match(inUse?.message ?? "", String(first.port));
  assert.match(inUse?.message ?? "", "--port");
  assert.is(
    (await start({ bind: "192.0.2.1", auth: { token: "right-token" } }))?.code,
    "cannot_listen",
  );
});

test("a gateway stops twice without harm", async () => {
  const gateway = await startRoutes();
  await gateway.stop();
  await gateway.stop();
  const socket = connect(gateway.port, "127.0.0.1");
  const [error] = (await once(socket, "error")) as [NodeJS.ErrnoException];
  assert.is(error.code, "ECONNREFUSED");
});

test("close ends idle connections at once, even those that never spoke", async () => {
  const gateway = await startRoutes();
  gateway.route("GET", "/item", open, () => 1);
  const idle = request(gateway.port, "/item");
  await once(idle, "data");
  const silent = connect(gateway.port, "127.0.0.1");
  await once(silent, "connect");
  await ask(gateway, "GET", "/item"); // answered, so what came before it has been accepted
  const ends = Promise.all([idle, silent].map(collect));
  await gateway.stop();
  await ends;
});

test("close lets a running response end with `connection: close`, and accepts no new connection", async () => {
  const gateway = await startRoutes();
  let release = (_: unknown) => {};
  gateway.route(
    "GET",
    "/slow",
    open,
    () =>
      new Promise((resolve) => {
        release = resolve;
      }),
  );
  const socket = request(gateway.port, "/slow");
  const text = collect(socket);
  await until("the call", () => gateway.active === 1);
  const closed = gateway.stop();
  const refused = connect(gateway.port, "127.0.0.1");
  const [error] = (await once(refused, "error")) as [NodeJS.ErrnoException];
  assert.is(error.code, "ECONNREFUSED");
  release("done");
  const response = parseResponse(await text);
  assert.is(response.body, '"done"');
  assert.is(response.headers["connection"], "close");
  await closed;
  assert.is(gateway.active, 0);
});

test("close cuts the remaining connections after its grace period", async () => {
  const gateway = await startRoutes({ gateway: { shutdownTimeoutMs: 50 } });
  let signal: AbortSignal | undefined;
  gateway.route("GET", "/never", open, (call) => {
    signal = call.signal;
    return new Promise(() => {});
  });
  const text = collect(request(gateway.port, "/never"));
  await until("the call", () => signal);
  await gateway.stop();
  const { status, body } = parseResponse(await text);
  assert.is(status, 503);
  assert.match(body, "service_unavailable");
  await until("the signal", () => signal?.aborted);
});

test("a client that offers HTTP/2 receives an HTTP/1.1 response, and its body is read", async () => {
  const gateway = await startRoutes();
  gateway.route("POST", "/json", open, async (call) => ({ got: await call.json() }));
  gateway.route("GET", "/item", open, () => 1);
  const offer =
    "connection: Upgrade, HTTP2-Settings\r\nupgrade: h2c\r\nhttp2-settings: AAMAAABkAARAAAAAAAIAAAAA\r\n";
  const socket = connect(gateway.port, "127.0.0.1", () =>
    socket.write(
      `POST /json HTTP/1.1\r\nhost: 127.0.0.1:${gateway.port}\r\n${offer}content-type: application/json\r\ncontent-length: 7\r\n\r\n{"a`,
    ),
  );
  const text = collect(socket);
  await until("the request", () => gateway.active === 1);
  socket.write('":1}');
  await once(socket, "data");
  socket.write(
    `GET /item HTTP/1.1\r\nhost: 127.0.0.1:${gateway.port}\r\nconnection: close\r\n\r\n`,
  );
  const all = await text;
  assert.match(all, '{"got":{"a":1}}');
  assert.is(all.match(/HTTP\/1.1 200/g)?.length, 2);
});

test("bytes that are not HTTP receive 400, a head that is too large receives 431, and the server continues", async () => {
  const gateway = await startRoutes();
  gateway.route("GET", "/item", open, () => 1);
  const rows: [string, number][] = [
    ["nonsense\r\n\r\n", 400],
    ["GET /item HTTP/9.9\r\n\r\n", 400],
    ["GET /item HTTP/1.1\r\nbad header\r\n\r\n", 400],
    [
      `GET /item HTTP/1.1\r\nhost: 127.0.0.1:${gateway.port}\r\nx: ${"y".repeat(20_000)}\r\n\r\n`,
      431,
    ],
    [
      `POST /item HTTP/1.1\r\nhost: 127.0.0.1:${gateway.port}\r\ncontent-length: 5\r\ntransfer-encoding: chunked\r\n\r\n`,
      400,
    ],
  ];
  for (const [bytes, status] of rows) {
    const response = await exchange(gateway.port, bytes);
    assert.is(response.status, status, bytes.slice(0, 40));
    assert.ok(response.headers["x-request-id"]);
    assert.ok(codeOf(response));
  }
  const tls = Buffer.from("160301020001000001fc0303", "hex");
  assert.is((await exchange(gateway.port, tls)).status, 400);
  assert.is((await ask(gateway, "GET", "/item")).status, 200);
});

test("an incomplete head receives a 408", async () => {
  const gateway = await startRoutes({ settings: { headersTimeoutMs: 100 } });
  const response = await exchange(gateway.port, "GET /item HTTP/1.1\r\nhost: x\r\n");
  assert.is(response.status, 408);
  assert.is(codeOf(response), "request_timeout");
});

test("requests in one packet receive their responses in order", async () => {
  const gateway = await startRoutes();
  gateway.route("GET", "/:name", open, async (call) => {
    if (call.params["name"] === "slow") await new Promise((resolve) => setTimeout(resolve, 20));
    return call.params["name"];
  });
  const line = (name: string, more = "") =>
    `GET /${name} HTTP/1.1\r\nhost: 127.0.0.1:${gateway.port}\r\n${more}\r\n`;
  const socket = connect(gateway.port, "127.0.0.1", () =>
    socket.write(line("slow") + line("quick") + line("last", "connection: close\r\n")),
  );
  assert.match(await collect(socket), /"slow"[\s\S]*"quick"[\s\S]*"last"/);
});

test.run();

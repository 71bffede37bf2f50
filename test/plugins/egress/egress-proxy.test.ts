import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { suite } from "../../support/suite.ts";
import * as assert from "uvu/assert";
import { startEgressProxy } from "../../../plugins/egress/proxies/proxy.ts";
import { createGuard } from "../../../plugins/egress/policy.ts";
import type { EgressProxy } from "../../../plugins/egress/types.ts";
import { waitForText, PATIENCE_MS, until } from "../../support/until.ts";

const test = suite("egress proxy");
const addresses: Record<string, string> = { "pub.test": "127.0.0.1", "evil.test": "127.0.0.1" };
const exempt = ["pub.test"];
/** Connections that arrived, and those of the test. */
const arrived = new Set<Socket>();
const opened = new Set<Socket>();
let echo: Server;
let port = 0;
let proxy: EgressProxy;

test.before(async () => {
  echo = createServer({ allowHalfOpen: true }, (socket) => {
    arrived.add(socket.on("error", () => {}).once("close", () => arrived.delete(socket)));
    socket.pipe(socket);
  });
  await new Promise<void>((resolve) => echo.listen(0, "127.0.0.1", resolve));
  port = (echo.address() as AddressInfo).port;
  const guard = createGuard({
    policy: () => ({ allowPrivate: false, allowedHostnames: exempt }),
    resolve: async (name) =>
      addresses[name] === undefined ? [] : [{ address: addresses[name], family: 4 }],
    ownPorts: () => [],
  });
  proxy = await startEgressProxy({ guard, connectTimeoutMs: PATIENCE_MS });
});
test.after.each(async () => {
  for (const socket of opened) socket.destroy();
  opened.clear();
  await until("all connections to be gone", () => arrived.size === 0);
});
test.after(async () => {
  const { port } = proxy;
  await proxy.close();
  assert.is(proxy.port, port, "requests that are still on their way may ask for it");
  await new Promise((resolve) => echo.close(resolve));
});

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

const GREETING = Buffer.from([5, 1, 0]);

/** A request for a name or an address, as a client writes it. */
function connectRequest(host: string, toPort: number, command = 1): Buffer {
  const head = [5, command, 0];
  const tail = [toPort >> 8, toPort & 255];
  if (/^\d+(\.\d+){3}$/.test(host))
    return Buffer.from([...head, 1, ...host.split(".").map(Number), ...tail]);
  if (host === "::1") return Buffer.from([...head, 4, ...Buffer.alloc(15), 1, ...tail]);
  return Buffer.from([...head, 3, host.length, ...Buffer.from(host), ...tail]);
}

/** Sends bytes, and returns the proxy's reply with the socket. */
async function send(...parts: Buffer[]): Promise<{ received: Buffer; socket: Socket }> {
  const socket = connect({ port: proxy.port, host: "127.0.0.1", noDelay: true }).on(
    "error",
    () => {},
  );
  opened.add(socket);
  let received = Buffer.alloc(0);
  const whole = new Promise<void>((resolve) => {
    socket.on("data", (chunk: Buffer) => {
      received = Buffer.concat([received, chunk]);
      if (received.length >= 12) resolve();
    });
    socket.once("end", resolve);
  });
  for (const part of parts) await new Promise((resolve) => socket.write(part, resolve));
  await whole;
  socket.removeAllListeners("data");
  return { received, socket };
}

/** The proxy's reply code to a request for a connection; 0 is success. */
async function ask(
  host: string,
  toPort: number,
): Promise<{ code: number | undefined; socket: Socket }> {
  const { received, socket } = await send(GREETING, connectRequest(host, toPort));
  return { code: received[3], socket };
}

test("the proxy carries bytes both ways, and the end of each side", async () => {
  const { code, socket } = await ask("pub.test", port);
  assert.is(code, 0);
  const payload = Buffer.alloc(3_000_000, "abc");
  let receivedBytes = 0;
  socket.on("data", (chunk: Buffer) => {
    receivedBytes += chunk.length;
  });
  // Half of it is closed; the other half still brings everything.
  socket.end(payload);
  await once(socket, "end");
  assert.is(receivedBytes, payload.length);
});

test("the proxy accepts names and addresses, and a handshake in pieces", async () => {
  exempt.push("127.0.0.1");
  const byte = (bytes: Buffer): Buffer[] => [...bytes].map((value) => Buffer.from([value]));
  for (const parts of [
    [Buffer.concat([GREETING, connectRequest("127.0.0.1", port)])],
    [...byte(Buffer.from([5, 3, 1, 0, 2])), ...byte(connectRequest("pub.test", port))],
  ]) {
    assert.equal([...(await send(...parts)).received.subarray(0, 4)], [5, 0, 5, 0]);
  }
  exempt.pop();
  assert.is((await ask("::1", port)).code, 2, "an address of the other kind is judged too");
});

test("the proxy uses an upstream proxy, by address and with its credentials", async () => {
  exempt.push("127.0.0.1");
  const guard = createGuard({
    policy: () => ({ allowPrivate: false, allowedHostnames: exempt }),
    resolve: async (name) =>
      addresses[name] === undefined ? [] : [{ address: addresses[name], family: 4 }],
    ownPorts: () => [],
  });
  const heads: string[] = [];
  const http = createServer((client) => {
    const recordHead = (head: string): void => {
      heads.push(head);
      client.write(heads.length === 1 ? "HTTP/1.1 200 OK\r\n\r\n" : "HTTP/1.1 407 No\r\n\r\n");
      if (heads.length === 1) client.pipe(client);
    };
    waitForText(client, "\r\n\r\n").then(recordHead, () => {});
    client.on("error", () => {});
  });
  await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
  const httpUrl = `http://me:pass@127.0.0.1:${(http.address() as AddressInfo).port}`;
  const usual = proxy;
  try {
    for (const proxyUrl of [usual.url, httpUrl]) {
      proxy = await startEgressProxy({ guard, proxyUrl, connectTimeoutMs: PATIENCE_MS });
      const { code, socket } = await ask("pub.test", port);
      assert.is(code, 0, proxyUrl);
      socket.write("hello");
      await waitForText(socket, "hello");
      assert.is((await ask("evil.test", port)).code, 2, "the policy holds before it");
      if (proxyUrl === httpUrl) assert.is((await ask("pub.test", port)).code, 4, "it refuses");
      await proxy.close();
    }
    assert.match(heads[0]!, `CONNECT 127.0.0.1:${port} HTTP/1.1`);
    assert.match(
      heads[0]!,
      `Proxy-Authorization: Basic ${Buffer.from("me:pass").toString("base64")}`,
    );
    for (const proxyUrl of ["ftp://x", "x", "http://"])
      assert.is(
        await startEgressProxy({ guard, proxyUrl }).catch((error) => error.code),
        "invalid_request_error",
      );
  } finally {
    exempt.pop();
    proxy = usual;
    await new Promise((resolve) => http.close(resolve));
  }
});

test("a refusal has a reason and a record, and nothing reaches the target", async () => {
  const before = proxy.denied().length;
  const targets: [string, number, string][] = [
    ["127.0.0.1", port, "private_address"],
    ["evil.test", port, "private_address"],
    ["localhost", port, "private_name"],
    ["0x7f.1", port, "private_address"],
    ["169.254.169.254", 80, "metadata"],
    ["127.0.0.1", 18800, "own_port"],
    ["pub.test", proxy.port, "own_port"],
  ];
  for (const [host, toPort] of targets) assert.is((await ask(host, toPort)).code, 2, host);
  assert.is(arrived.size, 0);
  assert.equal(
    proxy
      .denied()
      .slice(before)
      .map((denial) => [denial.host, denial.port, denial.reason]),
    targets,
  );
  assert.is(proxy.denied(Date.now() + 1000).length, 0);
});

test("a name whose address changes is checked at each connection", async () => {
  assert.is((await ask("pub.test", port)).code, 0);
  addresses["pub.test"] = "169.254.169.254";
  assert.is((await ask("pub.test", port)).code, 2);
  addresses["pub.test"] = "127.0.0.1";
});

test("an unreachable host and a forbidden one get different replies", async () => {
  const closed = createServer();
  await new Promise<void>((resolve) => closed.listen(0, "127.0.0.1", resolve));
  const nobody = (closed.address() as AddressInfo).port;
  await new Promise((resolve) => closed.close(resolve));
  assert.is((await ask("pub.test", nobody)).code, 5);
  assert.is((await ask("nowhere.test", 80)).code, 4);
  assert.is((await ask("a b", 80)).code, 1);
  const [refused, unknown, invalid] = proxy.denied().slice(-3);
  assert.is(refused?.reason, "unreachable");
  assert.match(refused?.message ?? "", "ECONNREFUSED");
  assert.is(unknown?.reason, "name_not_resolved");
  assert.is(invalid?.reason, "invalid");
});

test("other commands, address types and protocols are refused", async () => {
  const cases: [Buffer[], number[]][] = [
    [
      [GREETING, connectRequest("pub.test", port, 2)],
      [5, 0, 5, 7],
    ],
    [
      [GREETING, connectRequest("pub.test", port, 3)],
      [5, 0, 5, 7],
    ],
    [
      [GREETING, Buffer.from([5, 1, 0, 9, 1, 1])],
      [5, 0, 5, 8],
    ],
    [[Buffer.from([5, 1, 2])], [5, 255]],
    [[Buffer.from([5, 0])], [5, 255]],
    [[Buffer.from("GET / HTTP/1.1\r\n\r\n")], []],
    [
      [GREETING, Buffer.from([4, 1, 0, 3])],
      [5, 0],
    ],
  ];
  for (const [parts, reply] of cases) {
    assert.equal([...(await send(...parts)).received.subarray(0, 4)], reply);
  }
  const socket = connect(proxy.port, "127.0.0.1");
  socket.end(Buffer.from([5]));
  await once(socket.resume(), "end");
});

test("bytes that a client sends after an invalid handshake are not buffered", async () => {
  const socket = connect({ port: proxy.port, host: "127.0.0.1", allowHalfOpen: true });
  opened.add(socket);
  socket.write(Buffer.from([9, 9]));
  await once(socket.resume(), "end");
  const measureBuffers = () => {
    collectGarbage();
    return process.memoryUsage().arrayBuffers;
  };
  const before = measureBuffers();
  const chunk = Buffer.alloc(1_000_000);
  for (let n = 0; n < 32; n++) await new Promise((resolve) => socket.write(chunk, resolve));
  await until("the bytes to be gone", () => measureBuffers() - before < 16_000_000);
});

test("a disconnect of the client closes the connection to the server, and the other way round", async () => {
  const left = await ask("pub.test", port);
  await until("the connection", () => arrived.size === 1);
  left.socket.destroy();
  await until("the connection to be gone", () => arrived.size === 0);
  const cut = await ask("pub.test", port);
  await until("the connection", () => arrived.size === 1);
  for (const socket of arrived) socket.resetAndDestroy();
  await once(cut.socket.resume(), "close");
});

test("a connection that the policy no longer allows is closed, and others stay open", async () => {
  addresses["other.test"] = "127.0.0.1";
  exempt.push("other.test");
  const { socket: allowed } = await ask("pub.test", port);
  const { code, socket } = await ask("other.test", port);
  assert.is(code, 0);
  await proxy.recheck();
  exempt.pop();
  await proxy.recheck();
  await once(socket.resume(), "close");
  allowed.write("still here");
  await waitForText(allowed, "still here");
});

test("credentials that SOCKS5 cannot carry are refused", async () => {
  const policy = () => ({ allowPrivate: true, allowedHostnames: [] });
  const guard = createGuard({ policy, ownPorts: () => [] });
  for (const [proxyUrl, reason] of [
    [`socks5://${"ü".repeat(128)}:p@127.0.0.1:1`, /at most 255 bytes/],
    [`socks5://u:${"p".repeat(256)}@127.0.0.1:1`, /at most 255 bytes/],
    ["socks5://u%zz:p@127.0.0.1:1", /must be like/],
  ] as const) {
    const start = startEgressProxy({ guard, proxyUrl });
    await start.then(
      () => assert.unreachable(proxyUrl),
      (error) => assert.match(error.message, reason),
    );
  }
  const longest = `socks5://${"u".repeat(255)}:${"p".repeat(255)}@127.0.0.1:1`;
  await (await startEgressProxy({ guard, proxyUrl: longest })).close();
});

test.run();

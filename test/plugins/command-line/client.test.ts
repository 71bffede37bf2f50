import { createServer, type Server } from "node:http";
import { writeFileSync } from "node:fs";
import { type AddressInfo, createServer as createTcpServer } from "node:net";
import { join } from "node:path";
import { suite } from "../../support/suite.ts";
import * as assert from "uvu/assert";
import { temporaryDir } from "../../support/temporary.ts";
import { createClient } from "../../../plugins/command-line/client.ts";

const test = suite("client of the command line");
let server: Server;
let respond: () => void = () => {};
let url = "";
test.before(async () => {
  server = createServer((_req, res) => {
    res.setHeader("content-type", "application/json");
    res.setHeader("x-request-id", "1");
    respond = () => res.end('{"late":true}');
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
test.after(() => {
  server.closeAllConnections();
  server.close();
});

const client = () => createClient({ url, signal: new AbortController().signal });

test("the socket of a long turn has no time-out", async () => {
  const requestArrival = new Promise<void>((resolve) => server.once("request", () => resolve()));
  const pending = client().request("POST", "/slow");
  await requestArrival;
  // What Node's shared agent would do to the socket after 5 s without a byte.
  const [handle] = (process as unknown as { _getActiveHandles(): unknown[] })
    ._getActiveHandles()
    .filter(
      (socket) => (socket as { remotePort?: number }).remotePort === Number(new URL(url).port),
    ) as {
    timeout?: number;
  }[];
  assert.ok(handle, "the client's socket");
  assert.not.ok(handle.timeout);
  respond();
  assert.equal(await pending, { late: true });
});

test("a token beyond ASCII goes out as UTF-8", async () => {
  const authorization = new Promise<string | undefined>((resolve) =>
    server.once("request", ({ headers }) => resolve(headers.authorization)),
  );
  const pending = createClient({
    url,
    token: "日本-clé",
    signal: new AbortController().signal,
  }).request("GET", "/");
  assert.is(Buffer.from((await authorization) ?? "", "latin1").toString(), "Bearer 日本-clé");
  respond();
  await pending;
});

test("many requests at once bring no warning of Node's", async () => {
  const warnings: Error[] = [];
  const recordWarning = (warning: Error) => warnings.push(warning);
  process.on("warning", recordWarning);
  const stop = new AbortController();
  const stoppableClient = createClient({ url, signal: stop.signal });
  const pending = Array.from({ length: 12 }, () =>
    stoppableClient.request("GET", "/never").catch(() => "stopped"),
  );
  const names = await new Promise<string[]>((resolve) =>
    // a warning is emitted in the next tick
    setImmediate(() => resolve(warnings.map(({ name }) => name))),
  );
  process.off("warning", recordWarning);
  stop.abort();
  assert.equal([names, await Promise.all(pending)], [[], pending.map(() => "stopped")]);
});

test("the error about a requested time-out names its duration", async () => {
  const error = await client()
    .request("GET", "/never", undefined, { timeoutMs: 30 })
    .catch((thrown: Error) => thrown);
  assert.match((error as Error).message, /no response within 30 ms/);
});

test("an invalid address is reported as invalid", () => {
  for (const url of ["foo", "", "ftp://127.0.0.1/", "127.0.0.1:18789", "http://"])
    assert.throws(
      () => createClient({ url, signal: new AbortController().signal }),
      "--url must be like http://",
    );
});

/** The path of the next request; those that an earlier test gave up may arrive only now. */
function nextPath(): Promise<string | undefined> {
  return new Promise((resolve) => {
    server.on("request", function take(req) {
      if (req.url === "/never") return;
      server.off("request", take);
      resolve(req.url);
    });
  });
}

test("the address that start prints, with its /v1, is the gateway's", async () => {
  for (const address of [`${url}/v1`, `${url}/v1/`, `${url}/`]) {
    const requestedPath = nextPath();
    const pending = createClient({ url: address, signal: new AbortController().signal }).request(
      "GET",
      "/kernel/status",
    );
    assert.is(await requestedPath, "/kernel/status", address);
    respond();
    await pending;
  }
});

test("TLS to a server without it, or the other way round, is reported", async () => {
  const cut = createTcpServer((socket) => void socket.once("data", () => socket.resetAndDestroy()));
  await new Promise<void>((resolve) => cut.listen(0, "127.0.0.1", resolve));
  const complaint = (at: string) =>
    createClient({ url: at, signal: new AbortController().signal })
      .request<string>("GET", "/")
      .catch((error: Error) => error.message);
  try {
    assert.match(await complaint(url.replace("http:", "https:")), "Use http:// instead");
    const at = `http://127.0.0.1:${(cut.address() as AddressInfo).port}`;
    assert.match(
      await complaint(at),
      "closed the connection. If it speaks TLS, use https:// instead",
    );
  } finally {
    cut.close();
  }
});

test("an unreadable certificate file is named in the error", async () => {
  const dir = temporaryDir("portico-client-");
  const broken = join(dir, "broken.pem");
  writeFileSync(broken, "no certificate");
  for (const cert of [broken, join(dir, "missing.pem")]) {
    const secure = createClient({
      url: "https://127.0.0.1:1",
      cert,
      signal: new AbortController().signal,
    });
    const error = await secure.request("GET", "/").catch((thrown: Error) => thrown);
    assert.match(
      (error as Error).message,
      `${cert} (gateway.tls.cert) is not a readable certificate`,
    );
  }
});

test.run();

/** The bounded fetch for libraries, and the policy for what the owner configured. */
import { once } from "node:events";
import { createServer, type RequestListener, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { createGzip, gzipSync } from "node:zlib";
import { suite } from "../../support/suite.ts";
import * as assert from "uvu/assert";
import { guardedFetch } from "../../../plugins/egress/fetch.ts";
import { createOwnerGuard } from "../../../plugins/egress/owner-guard.ts";
import { createFetch } from "../../../plugins/egress/platform-fetch.ts";

const test = suite("bounded fetch");
let handler: RequestListener = (_req, res) => void res.end("unset");
let server: Server;
let url = "";

test.before(async () => {
  server = createServer((req, res) => handler(req, res));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
});
test.after(() => {
  server.closeAllConnections();
  server.close();
});

const PATIENT = { maxBytes: 100_000, timeoutMs: 30_000, idleMs: 30_000 };
const fetchWith = (limits: Partial<typeof PATIENT> = {}) =>
  createFetch(createOwnerGuard(url), { ...PATIENT, ...limits });

async function codeOf(work: Promise<unknown>): Promise<string> {
  try {
    await work;
    return "none";
  } catch (error) {
    return (error as { code?: string }).code ?? (error as Error).name;
  }
}

/** A gigabyte of one letter, compressed. */
function sendBomb(res: ServerResponse, type: string, piece: Buffer): void {
  res.writeHead(200, { "content-type": type, "content-encoding": "gzip" });
  const zip = createGzip();
  zip.pipe(res);
  res.once("close", () => zip.destroy());
  let left = 1_000;
  const more = (): void => {
    while (left-- > 0 && !res.destroyed) if (!zip.write(piece)) return void zip.once("drain", more);
    zip.end();
  };
  more();
}
const MEGABYTE = Buffer.alloc(1_000_000, "a");

test("a response is decoded, and has its status, headers and URL", async () => {
  handler = (req, res) => {
    res.writeHead(418, { "content-encoding": "gzip", "x-method": req.method ?? "" });
    res.end(gzipSync("hello"));
  };
  const response = await fetchWith()(url, { method: "POST", body: "x" });
  assert.equal(
    [response.status, response.headers.get("x-method"), response.url, await response.text()],
    [418, "POST", url, "hello"],
  );
});

test("a request carries its method, headers and body", async () => {
  handler = (req, res) => {
    req.setEncoding("utf8");
    req.once("data", (body) => res.end(`${req.method} ${req.headers["x-a"]} ${body}`));
  };
  const response = await fetchWith()(new URL(url), {
    method: "PUT",
    headers: { "x-a": "b" },
    body: "text",
  });
  assert.is(await response.text(), "PUT b text");
});

for (const type of ["application/json", "text/event-stream"])
  test(`a compressed bomb as ${type} is cut`, async () => {
    handler = (_req, res) => sendBomb(res, type, MEGABYTE);
    const response = await fetchWith()(url);
    assert.is(await codeOf(response.text()), "response_too_large");
  });

test("an event stream may be longer than one event may be", async () => {
  const event = Buffer.from(`data: ${"x".repeat(1_000)}\n\n`);
  handler = (_req, res) => {
    res.writeHead(200, { "content-type": "text/event-stream" });
    for (let i = 0; i < 500; i++) res.write(event);
    res.end();
  };
  const text = await (await fetchWith()(url)).text();
  assert.is(text.length, 500 * event.length);
});

test("a blank line that comes in two chunks ends an event", async () => {
  let stream!: ServerResponse;
  handler = (_req, res) => {
    stream = res.writeHead(200, { "content-type": "text/event-stream" });
    res.write("data: 0\n");
  };
  const reader = (await fetchWith()(url)).body!.getReader();
  await reader.read();
  for (let i = 0; i < 150; i++) {
    // Each chunk begins with the second half of a blank line.
    stream.write(`\ndata: ${"x".repeat(1_000)}\n`);
    const { done } = await reader.read();
    assert.is(done, false);
  }
  await reader.cancel();
});

test("an event stream that falls silent ends, one that goes on does not", async () => {
  handler = (_req, res) => {
    res.writeHead(200, { "content-type": "text/event-stream" });
    res.write("data: 1\n\n");
  };
  const response = await fetchWith({ idleMs: 20 })(url);
  assert.is(await codeOf(response.text()), "upstream_timeout");
});

test("the total time of any other response is bounded, drops of data or not", async () => {
  handler = (_req, res) => {
    res.writeHead(200, { "content-type": "application/json" });
    const drops = setInterval(() => res.write(" "), 5);
    res.once("close", () => clearInterval(drops));
  };
  const text = fetchWith({ timeoutMs: 100 })(url).then((response) => response.text());
  assert.is(await codeOf(text), "upstream_timeout");
});

test("the wait for the response headers is bounded too", async () => {
  handler = () => {};
  assert.is(await codeOf(fetchWith({ timeoutMs: 20 })(url)), "upstream_timeout");
});

test("a caller's signal and a cancelled body end the connection", async () => {
  handler = (_req, res) =>
    res.writeHead(200, { "content-type": "text/event-stream" }).write(":\n\n");
  for (const way of ["signal", "cancel"]) {
    const controller = new AbortController();
    const closed = new Promise((resolve) =>
      server.once("request", (req) => req.socket.once("close", resolve)),
    );
    const response = await fetchWith()(url, { signal: controller.signal });
    if (way === "signal") controller.abort();
    else await response.body?.cancel();
    await closed;
  }
});

test("a truncated body is an error", async () => {
  handler = (_req, res) => {
    res.writeHead(200, { "content-length": "100" });
    res.write("part", () => res.destroy());
  };
  assert.is(await codeOf((await fetchWith()(url)).text()), "upstream_error");
});

test("redirects are followed, returned or refused, as the caller requests", async () => {
  handler = (req, res) =>
    req.url === "/to" ? res.end("there") : res.writeHead(307, { location: "/to" }).end();
  const get = (redirect?: "manual" | "error") => fetchWith()(url, redirect ? { redirect } : {});
  assert.is(await (await get()).text(), "there");
  assert.is((await get("manual")).status, 307);
  assert.is(await codeOf(get("error")), "too_many_redirects");
});

for (const to of [
  "http://169.254.169.254/latest",
  "http://localhost:1/",
  "http://10.0.0.1/",
  "http://[::ffff:127.0.0.2]/",
])
  test(`an owner's address does not redirect to ${to}`, async () => {
    handler = (_req, res) => res.writeHead(302, { location: to }).end();
    assert.is(await codeOf(fetchWith()(url)), "address_blocked");
    assert.is(await codeOf(guardedFetch(createOwnerGuard(url), url)), "address_blocked");
  });

test("an owner's address is http or https", () => {
  for (const wrong of ["file:///etc/passwd", "ftp://example.com/", "no url"])
    assert.throws(() => createOwnerGuard(wrong));
});

test.run();

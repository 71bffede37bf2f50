import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { createServer as createTcpServer } from "node:net";
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from "node:zlib";
import { suite } from "../../support/suite.ts";
import * as assert from "uvu/assert";
import { guardedFetch } from "../../../plugins/egress/fetch.ts";
import { createGuard } from "../../../plugins/egress/policy.ts";

let handler: RequestListener = (_req, res) => void res.end("unset");
let server: Server;
let port = 0;
/** The number of lookups. */
let lookups = 0;
// "pub.test" stands for a public host: it is exempt from the private check and leads to a local server.
const guard = createGuard({
  policy: () => ({ allowPrivate: false, allowedHostnames: ["pub.test", "other.test"] }),
  resolve: async (name) => {
    lookups++;
    return ["pub.test", "other.test"].includes(name) ? [{ address: "127.0.0.1", family: 4 }] : [];
  },
  ownPorts: () => [],
  code: "address_blocked",
});

const test = suite("guarded fetch");
test.before(async () => {
  server = createServer((req, res) => handler(req, res));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  port = (server.address() as AddressInfo).port;
});
test.after(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

const at = (path: string, host = "pub.test"): string => `http://${host}:${port}${path}`;
async function codeOf(work: Promise<unknown>): Promise<string> {
  try {
    await work;
  } catch (error) {
    return (error as { code: string }).code;
  }
  return "none";
}

test("guarded fetch resolves a name once and sends the URL's host", async () => {
  handler = (req, res) => res.setHeader("x-host", req.headers.host ?? "").end("hello");
  lookups = 0;
  const response = await guardedFetch(guard, at("/a?b=1"));
  assert.is(response.status, 200);
  assert.is(response.body.toString(), "hello");
  assert.is(response.headers["x-host"], `pub.test:${port}`);
  assert.is(response.url, at("/a?b=1"));
  assert.is(lookups, 1, "the connection asked no resolver of its own");
});

test("an empty response has an empty body, whatever encoding it names", async () => {
  for (const encoding of ["gzip", "deflate", "br"]) {
    handler = (_req, res) => res.setHeader("content-encoding", encoding).end();
    assert.is((await guardedFetch(guard, at("/"))).body.length, 0, encoding);
  }
});

test("decodes gzip, deflate in both its forms and brotli, and counts the decoded size", async () => {
  const text = "x".repeat(200_000);
  for (const [encoding, encode] of [
    ["gzip", gzipSync],
    ["x-gzip", gzipSync],
    ["deflate", deflateSync],
    ["deflate", deflateRawSync],
    ["br", brotliCompressSync],
  ] as const) {
    handler = (_req, res) => res.setHeader("content-encoding", encoding).end(encode(text));
    assert.is((await guardedFetch(guard, at("/"))).body.length, 200_000);
    assert.is(
      await codeOf(guardedFetch(guard, at("/"), { maxBytes: 100_000 })),
      "response_too_large",
    );
  }
  handler = (_req, res) => res.setHeader("content-encoding", "gzip").end("not gzip");
  assert.is(await codeOf(guardedFetch(guard, at("/"))), "upstream_error");
  handler = (_req, res) => res.setHeader("content-encoding", "zstd").end("?");
  assert.is(await codeOf(guardedFetch(guard, at("/"))), "upstream_error");
});

test("the size of an endless body is bounded, with and without a declared length", async () => {
  handler = (_req, res) => res.setHeader("content-length", 5_000_000).write("x");
  assert.is(await codeOf(guardedFetch(guard, at("/"), { maxBytes: 1000 })), "response_too_large");
  handler = (_req, res) => {
    const more = (): void => {
      while (!res.destroyed && res.write("x".repeat(10_000)));
      if (!res.destroyed) res.once("drain", more);
    };
    more();
  };
  assert.is(
    await codeOf(guardedFetch(guard, at("/"), { maxBytes: 100_000 })),
    "response_too_large",
  );
});

test("guarded fetch follows redirects and checks each hop", async () => {
  const targets: Record<string, string> = {
    "/a": "/b",
    "/b": at("/end", "other.test"),
    "/private": `http://127.0.0.1:${port}/end`,
    "/metadata": "http://169.254.169.254/latest",
    "/file": "file:///etc/passwd",
    "/loop": "/loop",
    "/junk": "http://",
  };
  const hosts: string[] = [];
  handler = (req, res) => {
    hosts.push(req.url ?? "");
    const to = targets[req.url ?? ""];
    if (to === undefined) res.end("end");
    else res.writeHead(302, { location: to }).end();
  };
  const response = await guardedFetch(guard, at("/a"));
  assert.is(response.url, at("/end", "other.test"));
  assert.is(response.redirected, 2);
  hosts.length = 0;
  assert.is(await codeOf(guardedFetch(guard, at("/private"))), "address_blocked");
  assert.is(await codeOf(guardedFetch(guard, at("/metadata"))), "address_blocked");
  assert.is(await codeOf(guardedFetch(guard, at("/file"))), "address_blocked");
  assert.equal(hosts, ["/private", "/metadata", "/file"], "nothing reached the private server");
  assert.is(await codeOf(guardedFetch(guard, at("/loop"), { redirects: 3 })), "too_many_redirects");
  assert.is(await codeOf(guardedFetch(guard, at("/junk"))), "upstream_error");
  assert.is(
    (await guardedFetch(guard, at("/a"), { redirects: 0 })).status,
    302,
    "redirects: 0 hands the redirect back",
  );
});

test("secrets do not follow a redirect to another origin; a 303 becomes a GET", async () => {
  let headers: Record<string, unknown> = {};
  handler = (req, res) => {
    if (req.url === "/a") res.writeHead(307, { location: "/b" }).end();
    else if (req.url === "/b") {
      headers["same"] = [req.method, req.headers.authorization];
      res.writeHead(303, { location: at("/c", "other.test") }).end();
    } else {
      headers = {
        ...headers,
        other: [
          req.method,
          req.headers.authorization,
          req.headers["x-api-key"],
          req.headers.accept,
        ],
      };
      res.end("done");
    }
  };
  await guardedFetch(guard, at("/a"), {
    method: "POST",
    body: "{}",
    headers: { authorization: "Bearer x", "x-api-key": "k", accept: "a/b" },
  });
  assert.equal(headers, {
    same: ["POST", "Bearer x"],
    other: ["GET", undefined, undefined, "a/b"],
  });
});

test("endless headers fail: a flood at once, and a trickle by the time-out", async () => {
  for (const [pauseMs, code] of [
    [0, "upstream_error"],
    [5, "upstream_timeout"],
  ] as const) {
    const raw = createTcpServer((socket) => {
      socket.on("error", () => {}).write("HTTP/1.1 200 OK\r\n");
      const line = `x-more: ${"x".repeat(pauseMs === 0 ? 1000 : 1)}\r\n`;
      const writing = setInterval(() => socket.write(line), pauseMs);
      socket.on("close", () => clearInterval(writing)).resume();
    });
    await new Promise<void>((resolve) => raw.listen(0, "127.0.0.1", resolve));
    const { port: rawPort } = raw.address() as AddressInfo;
    const timeoutMs = pauseMs === 0 ? 60_000 : 200;
    assert.is(
      await codeOf(guardedFetch(guard, `http://pub.test:${rawPort}/`, { timeoutMs })),
      code,
    );
    await new Promise((resolve) => raw.close(resolve));
  }
});

test("a request ends in time for a silent server, a stalling body and the caller's abort", async () => {
  handler = () => {};
  assert.is(await codeOf(guardedFetch(guard, at("/"), { timeoutMs: 80 })), "upstream_timeout");
  handler = (_req, res) => void res.write("begins and stops");
  assert.is(await codeOf(guardedFetch(guard, at("/"), { timeoutMs: 80 })), "upstream_timeout");
  const controller = new AbortController();
  const going = guardedFetch(guard, at("/"), { signal: controller.signal });
  controller.abort(new Error("stopped"));
  assert.match(
    await going.then(
      () => "",
      (error: Error) => error.message,
    ),
    "stopped",
  );
  const never = createGuard({
    policy: () => ({ allowPrivate: true }),
    resolve: () => new Promise(() => {}),
    ownPorts: () => [],
  });
  assert.is(
    await codeOf(guardedFetch(never, "http://x.test/", { timeoutMs: 80 })),
    "upstream_timeout",
  );
});

test("invalid HTTP, a refused connection and a truncated response are upstream errors", async () => {
  const junk = createTcpServer(
    (socket) =>
      void socket
        .on("error", () => {})
        .resume()
        .end("hello, this is not http\r\n\r\n"),
  );
  await new Promise<void>((resolve) => junk.listen(0, "127.0.0.1", resolve));
  const junkPort = (junk.address() as AddressInfo).port;
  assert.is(await codeOf(guardedFetch(guard, `http://pub.test:${junkPort}/`)), "upstream_error");
  await new Promise((resolve) => junk.close(resolve));
  assert.is(await codeOf(guardedFetch(guard, `http://pub.test:${junkPort}/`)), "upstream_error");
  handler = (_req, res) => {
    res.writeHead(200, { "content-length": "100" });
    res.write("half", () => res.destroy());
  };
  assert.is(await codeOf(guardedFetch(guard, at("/"))), "upstream_error");
  handler = (_req, res) => res.end("x");
  assert.is(await codeOf(guardedFetch(guard, `http://127.0.0.1:${port}/`)), "address_blocked");
  assert.is(await codeOf(guardedFetch(guard, "http://nowhere.test/")), "name_not_resolved");
  assert.is(await codeOf(guardedFetch(guard, "about:blank")), "invalid_request_error");
});

test.run();

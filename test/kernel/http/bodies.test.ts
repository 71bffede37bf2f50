import type { Call } from "portico";
import { connect } from "node:net";
import zlib from "node:zlib";
import { test } from "../../support/suite.ts";
import * as assert from "uvu/assert";
import { waitForText, until } from "../../support/until.ts";
import {
  ask,
  codeOf,
  collect,
  exchange,
  head,
  parseResponse,
  type RawResponse,
} from "../../support/raw-http.ts";
import { stopRoutes, startRoutes, type RouteGatewayOptions } from "../../support/routes.ts";

test.after(stopRoutes);

const json = { "content-type": "application/json" };

async function echo(options: RouteGatewayOptions = {}) {
  const gateway = await startRoutes(options);
  gateway.route("POST", "/json", { access: "public" }, async (call) => ({
    got: await call.json(),
  }));
  gateway.route("POST", "/small", { access: "public", maxBodyBytes: 100 }, async (call) => ({
    got: await call.json(),
  }));
  gateway.route("POST", "/bytes", { access: "public" }, async (call) => ({
    length: (await call.body()).length,
  }));
  gateway.route("POST", "/ignore", { access: "public" }, () => ({ ok: true }));
  return gateway;
}

const open = (port: number, bytes: string | Buffer) => {
  const socket = connect(port, "127.0.0.1", () => socket.write(bytes));
  return { socket, text: collect(socket) };
};
const start = (port: number, path: string, headers: string) =>
  `POST ${path} HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\ncontent-type: application/json\r\n${headers}\r\n\r\n`;

test("JSON in UTF-8 is accepted under every valid content type", async () => {
  const gateway = await echo();
  const rows: [Record<string, string>, number][] = [
    [{ "content-type": "application/json" }, 200],
    [{ "content-type": "Application/JSON; charset=UTF-8" }, 200],
    [{ "content-type": 'application/json;charset="utf-8"' }, 200],
    [{ "content-type": "application/cloudevents+json" }, 200],
    [{ "content-type": "application/json; charset=utf-16" }, 415],
    [{ "content-type": "application/json; charset=latin1" }, 415],
    [{ "content-type": "text/plain" }, 415],
    [{ "content-type": "application/jsonp" }, 415],
    [{ "content-type": "application/x-www-form-urlencoded" }, 415],
    [{ "content-type": "multipart/form-data; boundary=application/json" }, 415],
    [{ "content-type": "" }, 415],
    [{}, 415],
  ];
  for (const [headers, status] of rows) {
    const response = await ask(gateway, "POST", "/json", headers, '{"a":1}');
    assert.is(response.status, status, JSON.stringify(headers));
    if (status === 415) assert.is(codeOf(response), "unsupported_media_type");
  }
});

test("invalid JSON is refused with its position and without its text", async () => {
  const gateway = await echo();
  const bodies = [
    "",
    "{",
    "nonsense-secret",
    '{"a":1,}',
    "{'a':1}",
    '{"a":1} x',
    "NaN",
    "\u0000",
    '"\u0001"',
    "[1,2",
  ];
  for (const body of bodies) {
    const response = await ask(gateway, "POST", "/json", json, body);
    assert.is(response.status, 400, JSON.stringify(body));
    assert.is(codeOf(response), "invalid_json");
    assert.not.match(response.body, "secret");
  }
  const reply = await ask(gateway, "POST", "/json", json, '{"a":1,,}');
  assert.match(JSON.parse(reply.body).error.message, /character 7/);
});

test("bytes that are not UTF-8 are refused, but a byte order mark is accepted", async () => {
  const gateway = await echo();
  const send = (bytes: Buffer) => {
    const request = head("POST", "/json", [
      ["host", `127.0.0.1:${gateway.port}`],
      ["content-type", "application/json"],
      ["content-length", String(bytes.length)],
    ]);
    return exchange(gateway.port, Buffer.concat([Buffer.from(request), bytes]));
  };
  const broken = await send(Buffer.from([0x22, 0xff, 0xfe, 0x22]));
  assert.is(broken.status, 400);
  assert.is(codeOf(broken), "invalid_json");
  const marked = await send(Buffer.from('\ufeff{"a":"ü"}'));
  assert.is(marked.status, 200);
  assert.equal(JSON.parse(Buffer.from(marked.body, "latin1").toString()), { got: { a: "ü" } });
  assert.is((await send(Buffer.from([0xef, 0xbb, 0xbf]))).status, 400);
});

test("keys called __proto__ are left out and pollute nothing", async () => {
  const gateway = await startRoutes();
  const copies: Record<string, unknown>[] = [];
  gateway.route("POST", "/json", { access: "public" }, async (call) => {
    const value = (await call.json()) as { a: Record<string, unknown> };
    copies.push(Object.assign({}, value), Object.assign({}, value.a));
    return { got: value };
  });
  for (const key of ["__proto__", "\\u005f\\u005fproto\\u005F_", "__\\u0070roto__"]) {
    const response = await ask(
      gateway,
      "POST",
      "/json",
      json,
      `{"${key}":{"evil":1},"a":{"${key}":{"evil":2},"b":3}}`,
    );
    assert.equal(JSON.parse(response.body), { got: { a: { b: 3 } } });
  }
  assert.is(copies.length, 6);
  assert.ok(copies.every((copy) => copy["evil"] === undefined));
  assert.is(({} as { evil?: number }).evil, undefined);
  const text = await ask(gateway, "POST", "/json", json, '{"a":{"text":"say __proto__"}}');
  assert.equal(JSON.parse(text.body), { got: { a: { text: "say __proto__" } } });
});

test("deep nesting is refused and harms nobody", async () => {
  const gateway = await echo();
  const bodies = [
    "[".repeat(100_000),
    "[".repeat(100_000) + "]".repeat(100_000),
    '{"a":'.repeat(50_000) + "1" + "}".repeat(50_000),
    `{"__proto__":1,"a":${"[".repeat(100_000)}${"]".repeat(100_000)}}`,
  ];
  for (const body of bodies) {
    const response = await ask(gateway, "POST", "/json", json, body);
    assert.is(response.status, 400, body.slice(0, 20));
    assert.is(codeOf(response), "invalid_request_error");
    assert.match(JSON.parse(response.body).error.message, "gateway.http.maxDepth");
  }
  const fine = "[".repeat(100) + "]".repeat(100) + " ".repeat(1000);
  assert.is((await ask(gateway, "POST", "/json", json, fine)).status, 200);
});

test("values, members and depth are limited, exactly, and settings move the limits", async () => {
  const settings = { maxValues: 20, maxMembers: 5, maxDepth: 4 };
  const gateway = await echo({ settings });
  const list = (count: number, value = "1") => `[${Array(count).fill(value).join(",")}]`;
  const object = (count: number) =>
    `{${Array.from({ length: count }, (_, i) => `"k${i}" : ${i}`).join(" , ")}}`;
  const deep = (depth: number) => '{"a":'.repeat(depth) + "1" + "}".repeat(depth);
  const rows: [fits: string, breaks: string, limit: string][] = [
    // The list itself counts as a value too.
    [list(19), list(20), "maxValues"],
    [list(19, "null"), list(20, "null"), "maxValues"],
    [list(19, "-1.5e3"), list(20, "-1.5e3"), "maxValues"],
    [list(19, '"a,\\"b:{["'), list(20, '"a,\\"b:{["'), "maxValues"],
    [list(19, "{}"), list(20, "{}"), "maxValues"],
    [list(19, "[]"), list(20, "[]"), "maxValues"],
    [list(2, list(8)), list(2, list(9)), "maxValues"],
    [object(5), object(6), "maxMembers"],
    [`[${object(5)},${object(5)}]`, `[${object(1)},${object(6)}]`, "maxMembers"],
    [`{"a":${object(5)},"b":1}`, `{"a":${object(6)},"b":1}`, "maxMembers"],
    // The same name again and again is one member of the value, but not of the text.
    [`{${'"a":1,'.repeat(4)}"a":1}`, `{${'"a":1,'.repeat(5)}"a":1}`, "maxMembers"],
    ["[".repeat(4) + "]".repeat(4), "[".repeat(5) + "]".repeat(5), "maxDepth"],
    [deep(4), deep(5), "maxDepth"],
    ['["[[[[[[[[", "\\"[[[[[[", "{{{{{{{{"]', '[[[["[[[[[[[["],[[[["x"]]]]]]]', "maxDepth"],
  ];
  for (const [fits, breaks, limit] of rows) {
    const good = await ask(gateway, "POST", "/json", json, fits);
    assert.is(good.status, 200, fits);
    const bad = await ask(gateway, "POST", "/json", json, breaks);
    assert.is(bad.status, 400, breaks);
    assert.is(codeOf(bad), "invalid_request_error");
    assert.match(JSON.parse(bad.body).error.message, `gateway.http.${limit}`);
  }
  await gateway.set("maxValues", 21);
  assert.is((await ask(gateway, "POST", "/json", json, list(20))).status, 200);
});

test("the default limits are those of the contract", async () => {
  const gateway = await echo();
  const members = (count: number) => Array.from({ length: count }, (_, i) => `"k${i}":1`).join();
  const statusOf = async (body: string) => (await ask(gateway, "POST", "/json", json, body)).status;
  assert.is(await statusOf(`[${"1,".repeat(99_998)}1]`), 200);
  assert.is(await statusOf(`[${"1,".repeat(99_999)}1]`), 400);
  assert.is(await statusOf(`{${members(10_000)}}`), 200);
  assert.is(await statusOf(`{${members(10_001)}}`), 400);
  assert.is(await statusOf(`[${'{"a":1},'.repeat(40_000)}1]`), 200);
});

test("a body with too many members is refused before parsing, even if it is not JSON", async () => {
  const gateway = await echo();
  for (const body of [
    `[${"[],".repeat(200_000)}`,
    `{${'"a":1,'.repeat(20_000)}`,
    `[${"[".repeat(50)}${"]".repeat(50)}${",1".repeat(100_000)}`,
  ]) {
    const response = await ask(gateway, "POST", "/json", json, body);
    assert.is(codeOf(response), "invalid_request_error", body.slice(0, 20));
  }
});

test("an announced body over the limit is refused before it is sent", async () => {
  const gateway = await echo();
  const { socket, text } = open(gateway.port, start(gateway.port, "/small", "content-length: 101"));
  const response = parseResponse(await waitForText(socket, /\r\n\r\n\{.*\}\}/));
  assert.is(response.status, 413);
  assert.is(codeOf(response), "body_too_large");
  assert.match(response.body, "100 bytes");
  socket.destroy();
  await text;
});

test("a limit is exact, announced or counted", async () => {
  const gateway = await echo();
  const body = (size: number) => JSON.stringify("x".repeat(size - 2));
  const chunked = (size: number) =>
    exchange(
      gateway.port,
      `POST /small HTTP/1.1\r\nhost: 127.0.0.1:${gateway.port}\r\ncontent-type: application/json\r\n` +
        `transfer-encoding: chunked\r\nconnection: close\r\n\r\n${size.toString(16)}\r\n${body(size)}\r\n0\r\n\r\n`,
    );
  assert.is((await ask(gateway, "POST", "/small", json, body(100))).status, 200);
  assert.is((await ask(gateway, "POST", "/small", json, body(101))).status, 413);
  assert.is((await chunked(100)).status, 200);
  assert.is((await chunked(101)).status, 413);
});

test("a client that writes 100 MB before it reads still gets the 413", async () => {
  const gateway = await echo({ settings: { maxBodyBytes: 1000 } });
  const size = 100 * 1024 * 1024;
  const piece = Buffer.alloc(1024 * 1024, 0x20);
  for (const headers of [`content-length: ${size}`, "transfer-encoding: chunked"]) {
    const socket = connect(gateway.port, "127.0.0.1");
    socket.pause();
    const errors: Error[] = [];
    socket.on("error", (error) => errors.push(error));
    socket.write(start(gateway.port, "/json", headers));
    for (let sent = 0; sent < size; sent += piece.length) {
      if (headers.startsWith("transfer")) socket.write(`${piece.length.toString(16)}\r\n`);
      const flushed = socket.write(piece);
      if (headers.startsWith("transfer")) socket.write("\r\n");
      if (!flushed) await new Promise<void>((resolve) => socket.write("", () => resolve()));
    }
    if (headers.startsWith("transfer")) socket.write("0\r\n\r\n");
    const response = parseResponse(await collect(socket));
    assert.equal(errors, []);
    assert.is(response.status, 413, headers);
    assert.is(response.headers["connection"], "close");
  }
  assert.is((await ask(gateway, "POST", "/json", json, "1")).status, 200);
});

test("fetch with a body over the limit gets the 413", async () => {
  const gateway = await echo({ settings: { maxBodyBytes: 1000 } });
  const response = await fetch(`${gateway.url}/json`, {
    method: "POST",
    headers: json,
    body: "x".repeat(20_000_000),
  });
  assert.is(response.status, 413);
  await response.text();
});

test("a small unread body keeps the connection, and a large one is drained before the response", async () => {
  const gateway = await echo();
  const small = open(
    gateway.port,
    `${start(gateway.port, "/ignore", "content-length: 5")}12345` +
      `${start(gateway.port, "/ignore", "content-length: 5\r\nconnection: close")}12345`,
  );
  assert.is((await small.text).match(/HTTP\/1.1 200/g)?.length, 2);
  const body = "x".repeat(500_000);
  const large = await ask(gateway, "POST", "/ignore", json, body);
  assert.is(large.status, 200);
  assert.is(large.headers["connection"], "close");
});

/** By the names of `Content-Encoding`; Node has zstd from 22.15 on. */
function compressors(): Record<string, (bytes: Buffer) => Buffer> {
  const { zstdCompressSync } = zlib as unknown as { zstdCompressSync?: typeof zlib.gzipSync };
  return {
    gzip: zlib.gzipSync,
    "x-gzip": zlib.gzipSync,
    GZip: zlib.gzipSync,
    deflate: zlib.deflateSync,
    br: zlib.brotliCompressSync,
    ...(zstdCompressSync && { zstd: zstdCompressSync }),
  };
}

async function sendCompressed(
  { url }: { url: string },
  { encoding, body, path = "/json" }: { encoding: string; body: Buffer; path?: string },
): Promise<{
  status: number;
  code: string | undefined;
  got: unknown;
  acceptEncoding: string | null;
}> {
  const response = await fetch(url + path, {
    method: "POST",
    headers: { ...json, "content-encoding": encoding },
    body,
  });
  const value = (await response.json()) as { got?: unknown; error?: { code: string } };
  const acceptEncoding = response.headers.get("accept-encoding");
  return { status: response.status, code: value.error?.code, got: value.got, acceptEncoding };
}

test("compressed bodies are decompressed, in every coding that Node has", async () => {
  const gateway = await echo();
  const body = Buffer.from('{"a":"ü"}');
  for (const [encoding, compress] of Object.entries(compressors())) {
    const response = await sendCompressed(gateway, { encoding, body: compress(body) });
    assert.is(response.status, 200, encoding);
    assert.equal(response.got, { a: "ü" });
  }
  const bare = await sendCompressed(gateway, {
    encoding: "deflate",
    body: zlib.deflateRawSync(body),
  });
  assert.is(bare.status, 200);
  assert.is((await sendCompressed(gateway, { encoding: "identity", body })).status, 200);
});

test("an unknown content coding receives a 415 that lists the known ones", async () => {
  const gateway = await echo();
  for (const encoding of ["compress", "gzip, gzip", "constructor", "x"]) {
    const response = await sendCompressed(gateway, { encoding, body: Buffer.from("{}") });
    assert.is(response.status, 415, encoding);
    assert.is(response.code, "unsupported_media_type");
    assert.match(response.acceptEncoding ?? "", /gzip, deflate, br/);
  }
});

test("limits apply to the decompressed body", async () => {
  const gateway = await echo({ settings: { maxBodyBytes: 100_000 } });
  const bomb = Buffer.from(JSON.stringify("x".repeat(10_000_000)));
  const wide = Buffer.from(`[${"1,".repeat(15)}1]`);
  const broken = Buffer.from("this is nothing that anybody compressed");
  await gateway.set("maxValues", 10);
  for (const [encoding, compress] of Object.entries(compressors())) {
    const large = await sendCompressed(gateway, { encoding, body: compress(bomb) });
    assert.is(large.status, 413, encoding);
    assert.is(large.code, "body_too_large");
    const exact = compress(Buffer.from(JSON.stringify("x".repeat(98))));
    assert.is(
      (await sendCompressed(gateway, { encoding, body: exact, path: "/small" })).status,
      200,
    );
    const over = compress(Buffer.from(JSON.stringify("x".repeat(99))));
    assert.is(
      (await sendCompressed(gateway, { encoding, body: over, path: "/small" })).status,
      413,
    );
    assert.is((await sendCompressed(gateway, { encoding, body: compress(wide) })).status, 400);
    const garbled = await sendCompressed(gateway, { encoding, body: broken });
    assert.is(garbled.status, 400, encoding);
    const cut = await sendCompressed(gateway, { encoding, body: compress(wide).subarray(0, -6) });
    assert.is(cut.status, 400, encoding);
  }
});

test("a body that stalls or only trickles receives a 408", async () => {
  const gateway = await echo({ settings: { bodyTimeoutMs: 200 } });
  const stalled = open(gateway.port, `${start(gateway.port, "/json", "content-length: 10")}{`);
  const trickle = open(gateway.port, start(gateway.port, "/json", "content-length: 100000"));
  const drip = setInterval(() => trickle.socket.write(" "), 20);
  for (const { text } of [stalled, trickle]) {
    const response = parseResponse(await text);
    assert.is(response.status, 408);
    assert.is(codeOf(response), "request_timeout");
  }
  clearInterval(drip);
});

test("without a body timeout, a pause of any length is allowed", async () => {
  const gateway = await echo({ settings: { bodyTimeoutMs: 0 } });
  const { socket, text } = open(
    gateway.port,
    `${start(gateway.port, "/json", "connection: close\r\ncontent-length: 2")}{`,
  );
  setTimeout(() => socket.write("}"), 100);
  assert.is(parseResponse(await text).status, 200);
});

test("a large body that keeps coming may take longer than the timeout", async () => {
  const gateway = await echo({ settings: { bodyTimeoutMs: 1500 } });
  const piece = Buffer.alloc(64 * 1024, 0x20);
  const count = 8;
  let response: RawResponse;
  let longest: number;
  do {
    const { socket, text } = open(
      gateway.port,
      start(gateway.port, "/bytes", `connection: close\r\ncontent-length: ${piece.length * count}`),
    );
    let sent = 0;
    let last = Date.now();
    longest = 0;
    const drip = setInterval(() => {
      longest = Math.max(longest, Date.now() - last);
      last = Date.now();
      socket.write(piece);
      if (++sent === count) clearInterval(drip);
    }, 250);
    response = parseResponse(await text);
    clearInterval(drip);
    longest = Math.max(longest, Date.now() - last);
    // Where this process stood still for nearly as long as the timeout, the body did not keep coming.
  } while (response.status === 408 && longest > 1000);
  assert.is(response.status, 200);
  assert.equal(JSON.parse(response.body), { length: piece.length * count });
});

test("100 Continue is sent when the body is read, and not when the request is refused", async () => {
  const gateway = await echo();
  const wanted = open(
    gateway.port,
    start(gateway.port, "/json", "content-length: 2\r\nconnection: close\r\nexpect: 100-continue"),
  );
  await waitForText(wanted.socket, /^HTTP\/1.1 100 Continue\r\n\r\n$/);
  wanted.socket.write("{}");
  assert.match(await wanted.text, /HTTP\/1.1 200/);

  for (const path of ["/small", "/nothing", "/ignore"]) {
    const refused = open(
      gateway.port,
      start(gateway.port, path, "content-length: 200\r\nexpect: 100-continue"),
    );
    const response = await refused.text;
    assert.not.match(response, "100 Continue", path);
    assert.match(response, /connection: close/i, path);
  }
  const strange = await ask(gateway, "POST", "/json", { ...json, expect: "a-miracle" }, "{}");
  assert.is(strange.status, 417);
  assert.is(codeOf(strange), "expectation_failed");
  assert.ok(strange.headers["x-request-id"]);
});

test("a client that disconnects within its body leaves only its log line", async () => {
  const gateway = await startRoutes();
  let failure: unknown;
  gateway.route("POST", "/json", { access: "public" }, async (call) => {
    try {
      return await call.json();
    } catch (error) {
      failure = error;
      throw error;
    }
  });
  const { socket, text } = open(
    gateway.port,
    `${start(gateway.port, "/json", "content-length: 1000")}{"a":`,
  );
  await until("the request", () => gateway.active === 1);
  socket.destroy();
  await text;
  await until("its end", () => gateway.active === 0 && failure);
  assert.is((failure as { code: string }).code, "client_closed");
  const line = await until("its line", () =>
    gateway.lines.find(({ message }) => message === "request"),
  );
  assert.is(line.fields["status"], 499);
  const noise = gateway.lines.filter(({ level }) => level !== "debug" && level !== "info");
  assert.equal(noise, []);
});

test("a body is complete even if parts of it arrive before the handler reads it", async () => {
  const gateway = await startRoutes();
  let call: Call | undefined;
  let resume = (): void => {};
  gateway.route("POST", "/later", { access: "public" }, async (context) => {
    call = context;
    await new Promise<void>((resolve) => {
      resume = resolve;
    });
    return (await context.body()).toString();
  });
  for (const early of [0, 3, 6]) {
    call = undefined;
    const opening = start(gateway.port, "/later", "connection: close\r\ncontent-length: 6");
    const { socket, text } = open(gateway.port, opening + "abcdef".slice(0, early));
    await until(
      "what comes early",
      () => call?.req.readableLength === early && call.req.complete === (early === 6),
    );
    resume();
    await new Promise((resolve) => setImmediate(resolve));
    socket.write("abcdef".slice(early));
    assert.is(parseResponse(await text).body, '"abcdef"', String(early));
  }
});

test("listeners of a request are notified of its end, with or without a body", async () => {
  const gateway = await startRoutes();
  let events: string[] = [];
  const listen = ({ req }: Call) => {
    for (const event of ["end", "close"]) req.on(event, () => events.push(event));
  };
  gateway.route("GET", "/none", { access: "public" }, (call) => {
    listen(call);
    return "ok";
  });
  gateway.route("POST", "/whole", { access: "public" }, async (call) => {
    await call.body();
    listen(call);
    return "ok";
  });
  gateway.route("POST", "/stream", { access: "public" }, async (call) => {
    listen(call);
    let text = "";
    for await (const part of call.req) text += part;
    return text;
  });
  for (const [method, path] of [
    ["GET", "/none"],
    ["POST", "/whole"],
    ["POST", "/stream"],
  ] as const) {
    events = [];
    const response = await ask(gateway, method, path, {}, method === "POST" ? "ok" : undefined);
    assert.is(response.status, 200, path);
    await until(`the end of ${path}`, () => events.includes("close"));
    assert.equal(events, ["end", "close"], path);
  }
});

test("body and json may be read repeatedly", async () => {
  const gateway = await startRoutes();
  gateway.route("POST", "/twice", { access: "public" }, async (call) => {
    const [bytes, first] = await Promise.all([call.body(), call.json()]);
    return { same: bytes === (await call.body()), first, second: await call.json() };
  });
  const response = await ask(gateway, "POST", "/twice", json, '{"a":1}');
  assert.equal(JSON.parse(response.body), { same: true, first: { a: 1 }, second: { a: 1 } });
});

test("malformed chunks receive a 400, and the server continues", async () => {
  const gateway = await echo();
  const { text } = open(
    gateway.port,
    `${start(gateway.port, "/json", "transfer-encoding: chunked")}zz\r\n`,
  );
  const response = parseResponse(await text);
  assert.is(response.status, 400);
  assert.ok(response.headers["x-request-id"]);
  assert.is((await ask(gateway, "POST", "/json", json, "1")).status, 200);
});

test.run();

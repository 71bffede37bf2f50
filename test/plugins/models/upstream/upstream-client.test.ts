/** Requests over real sockets: their bytes, the reuse of connections, and the error of each kind of failure. */
import { once } from "node:events";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from "node:zlib";
import { test } from "../../../support/suite.ts";
import { until, within } from "../../../support/until.ts";
import * as assert from "uvu/assert";
import {
  createUpstreamClient,
  type Receiver,
  type SentRequest,
  type UpstreamCall,
} from "../../../../plugins/models/upstream/http/upstream-client.ts";

type Play = (socket: Socket, request: string, count: number) => void;

const servers: Server[] = [];
const upstreams = createUpstreamClient({});

/** Sends one raw response for each complete request. */
async function start(
  play: Play,
): Promise<{ url: string; connections: () => number; requests: string[] }> {
  let connections = 0;
  const requests: string[] = [];
  const server = createServer((socket) => {
    connections++;
    let held = "";
    socket.on("error", () => {});
    socket.on("data", (bytes) => {
      held += bytes.toString("latin1");
      const end = held.indexOf("\r\n\r\n");
      const length = Number(/content-length: (\d+)/.exec(held)?.[1] ?? 0);
      if (end === -1 || held.length < end + 4 + length) return;
      requests.push(held);
      held = "";
      play(socket, requests.at(-1)!, requests.length);
    });
  });
  servers.push(server);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    connections: () => connections,
    requests,
  };
}

test.after(() => {
  upstreams.close();
  for (const server of servers) server.close();
});

interface Outcome {
  status: number;
  body: string;
  error?: NodeJS.ErrnoException;
}

function ask(
  call: Partial<UpstreamCall> & { url: string },
  watch: Partial<Receiver> = {},
): Promise<Outcome> & { sending: SentRequest } {
  let sending!: SentRequest;
  const outcome = new Promise<Outcome>((resolve) => {
    const result: Outcome = { status: 0, body: "" };
    sending = upstreams.send(
      { method: "POST", headers: {}, body: "{}", ...call },
      {
        head(status, headers) {
          result.status = status;
          watch.head?.(status, headers);
        },
        data(bytes) {
          result.body += bytes.toString("utf8");
          watch.data?.(bytes);
        },
        end: () => resolve(result),
        fail: (error) => resolve({ ...result, error }),
      },
    );
  });
  return Object.assign(outcome, { sending });
}

const ok = (body: string, more = "") =>
  `HTTP/1.1 200 OK\r\n${more}content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;

test("an idle connection is closed before the server's announced time-out, and others are kept", async () => {
  // A process that was suspended for two seconds keeps no connection.
  const { closed, connections } = await within(1_900, async () => {
    const closed: string[] = [];
    const keeping = (name: string, lines: string) =>
      start((socket) => {
        socket.on("close", () => closed.push(name));
        socket.write(`HTTP/1.1 200 OK\r\n${lines}content-length: 0\r\n\r\n`);
      });
    const long = await keeping("long", "");
    const short = await keeping("short", "keep-alive: timeout=2, max=100\r\n");
    for (const { url } of [long, short]) await ask({ url });
    await until("one is closed", () => closed.length > 0);
    for (const { url } of [long, short]) await ask({ url });
    return { closed, connections: [long.connections(), short.connections()] };
  });
  assert.equal(closed, ["short"]);
  assert.equal(connections, [1, 2]);
});

test("a request is sent in the expected format", async () => {
  const { url, requests } = await start((socket) => socket.write(ok("yes")));
  const headers = { Authorization: "Bearer k", "content-length": "99", connection: "close" };
  assert.equal(await ask({ url: `${url}/v1/a?b=c`, headers, body: '{"text":"é"}' }), {
    status: 200,
    body: "yes",
  });
  const host = url.slice("http://".length);
  assert.is(
    requests[0],
    `POST /v1/a?b=c HTTP/1.1\r\nhost: ${host}\r\nconnection: keep-alive\r\nAuthorization: Bearer k\r\ncontent-length: 13\r\n\r\n{"text":"\u00c3\u00a9"}`,
  );
  await ask({ url, method: "GET", body: undefined, headers: { host: "other.example" } });
  assert.is(requests[1], "GET / HTTP/1.1\r\nhost: other.example\r\nconnection: keep-alive\r\n\r\n");
  const large = Buffer.alloc(300_000, "é");
  await ask({ url, body: large });
  assert.is(requests[2]?.slice(requests[2].indexOf("\r\n\r\n") + 4), large.toString("latin1"));
});

test("frozen headers are sent with each address and method, and others with their current values", async () => {
  const first = await start((socket) => socket.write(ok("x")));
  const second = await start((socket) => socket.write(ok("x")));
  const frozen = Object.freeze({ authorization: "Bearer k" });
  const open = { authorization: "Bearer a" };
  for (const { url } of [first, first, second, first])
    await ask({ url: `${url}/a`, headers: frozen });
  await ask({ url: `${first.url}/b`, headers: frozen });
  await ask({ url: `${first.url}/b`, method: "GET", body: undefined, headers: frozen });
  await ask({ url: `${first.url}/c`, headers: open });
  open.authorization = "Bearer b";
  await ask({ url: `${first.url}/c`, headers: open });
  const connectionHeaders = first.requests.map(
    (text) => `${text.split(" HTTP")[0]} ${/Bearer ./.exec(text)?.[0]}`,
  );
  assert.equal(connectionHeaders, [
    "POST /a Bearer k",
    "POST /a Bearer k",
    "POST /a Bearer k",
    "POST /b Bearer k",
    "GET /b Bearer k",
    "POST /c Bearer a",
    "POST /c Bearer b",
  ]);
  assert.match(second.requests[0]!, `host: ${second.url.slice("http://".length)}\r\n`);
});

test("a connection is reused, for one request at a time", async () => {
  const upstream = await start((socket) => socket.write(ok("x")));
  for (let i = 0; i < 5; i++) await ask({ url: upstream.url });
  assert.is(upstream.connections(), 1);
  const held: Socket[] = [];
  const many = await start((socket) => {
    if (held.push(socket) === 3) for (const each of held.splice(0)) each.write(ok("x"));
  });
  await Promise.all([ask({ url: many.url }), ask({ url: many.url }), ask({ url: many.url })]);
  assert.is(many.connections(), 3);
});

test("a connection that is closed or sends more than its response is not reused", async () => {
  const closing = await start((socket) => socket.end(ok("x", "connection: close\r\n")));
  await ask({ url: closing.url });
  await ask({ url: closing.url });
  assert.is(closing.connections(), 2);
  const talking = await start((socket, _request, count) =>
    socket.write(ok("x") + ok(`for nobody ${count}`)),
  );
  assert.is((await ask({ url: talking.url })).body, "x");
  assert.is((await ask({ url: talking.url })).body, "x");
  assert.is(talking.connections(), 2);
});

test("no connection is reused after the process was suspended, since it may have been closed meanwhile", async () => {
  const { url, connections } = await start((socket) => {
    socket.write(ok("x"));
    setTimeout(() => socket.destroy(), 1100);
  });
  await ask({ url });
  // Due after the server's, before anything is read.
  const late = new Promise((resolve) => setTimeout(resolve, 1200));
  // As a machine that slept, or work that kept everything else waiting.
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2500);
  await late;
  assert.equal([await ask({ url }), connections()], [{ status: 200, body: "x" }, 2]);
});

test("a response before the end of its request makes the connection unusable", async () => {
  const server = createServer((socket) => {
    socket.on("error", () => {});
    socket.once("data", () => {
      socket.pause();
      socket.write("HTTP/1.1 413 Too Large\r\ncontent-length: 0\r\n\r\n");
    });
  }).listen(0, "127.0.0.1");
  servers.push(server);
  await once(server, "listening");
  let connections = 0;
  server.on("connection", () => connections++);
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  for (let i = 0; i < 2; i++)
    assert.is((await ask({ url, body: Buffer.alloc(64 * 1024 * 1024) })).status, 413);
  assert.is(connections, 2);
});

test("each kind of failure is reported once, with its code", async () => {
  const cases: [Play, string][] = [
    [(socket) => socket.destroy(), "ECONNRESET"],
    [(socket) => socket.end("HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhel"), "ECONNRESET"],
    [(socket) => socket.write("220 mail.example ESMTP\r\n"), "EBADMSG"],
    [
      (socket) => socket.write("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n"),
      "EBADMSG",
    ],
  ];
  for (const [play, code] of cases) {
    const { url } = await start(play);
    assert.is((await ask({ url })).error?.code, code);
  }
  const closed = await start(() => {});
  servers.pop()?.close();
  assert.is((await ask({ url: closed.url })).error?.code, "ECONNREFUSED");
});

test("a failure to send is reported, and never before `send` has returned", async () => {
  const { url, requests } = await start((socket) => socket.write(ok("x")));
  const calls: (Partial<UpstreamCall> & { url: string })[] = [
    { url: "ftp://example.org/" },
    { url: "no address" },
    { url, headers: { "x-key": "two\r\nlines: 1" } },
    { url, headers: { "bad name": "1" } },
  ];
  for (const call of calls) assert.instance((await ask(call)).error, Error);
  assert.is(requests.length, 0);
});

test("compressed responses are decompressed, and a broken one fails", async () => {
  const packed = [
    gzipSync("packed"),
    deflateSync("packed"),
    deflateRawSync("packed"),
    brotliCompressSync("packed"),
  ];
  const codings = ["GZIP", "deflate", "deflate", "br"];
  const plays: Play[] = [
    ...packed.map(
      (bytes, i): Play =>
        (socket) => {
          socket.write(
            `HTTP/1.1 200 OK\r\ncontent-encoding: ${codings[i]}\r\ncontent-length: ${bytes.length}\r\n\r\n`,
          );
          socket.write(bytes);
        },
    ),
    (socket) =>
      socket.write("HTTP/1.1 400 Bad\r\ncontent-encoding: gzip\r\ncontent-length: 0\r\n\r\n"),
    (socket) =>
      socket.write("HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: 3\r\n\r\nabc"),
    (socket) => socket.write(ok("as it is", "content-encoding: constructor\r\n")),
  ];
  const { url } = await start((socket, request, count) =>
    plays[count - 1]?.(socket, request, count),
  );
  for (const _ of packed) assert.is((await ask({ url })).body, "packed");
  const empty = await ask({ url });
  assert.equal([empty.error, empty.body], [undefined, ""]);
  assert.instance((await ask({ url })).error, Error);
  assert.is((await ask({ url })).body, "as it is");
});

test("a paused response pauses the upstream, and continues", async () => {
  const size = 64 * 1024 * 1024;
  let sentChunks = 0;
  const { url } = await start(async (socket) => {
    socket.write(`HTTP/1.1 200 OK\r\ncontent-length: ${size}\r\n\r\n`);
    for (; sentChunks < size; sentChunks += 65_536)
      if (!socket.write(Buffer.alloc(65_536))) await once(socket, "drain");
  });
  let received = 0;
  let sentWhilePaused = -1;
  const running: ReturnType<typeof ask> = ask(
    { url },
    {
      data(bytes) {
        received += bytes.length;
        if (received > bytes.length) return;
        running.sending.pause();
        void stalled().then(() => running.sending.resume());
      },
    },
  );
  /** The sockets of both sides are full. */
  async function stalled(): Promise<void> {
    while (sentWhilePaused !== sentChunks) {
      sentWhilePaused = sentChunks;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
  assert.is((await running).error, undefined);
  assert.is(received, size);
  assert.ok(sentWhilePaused < size / 2, `${sentWhilePaused} bytes had gone out`);
});

test("an abort ends all callbacks, and the upstream notices it", async () => {
  let cut!: Promise<unknown>;
  const { url } = await start((socket) => {
    cut = once(socket, "close");
    socket.write("HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nh");
  });
  let callbackCount = 0;
  const sending = await new Promise<SentRequest>((resolve) => {
    const request = upstreams.send(
      { method: "POST", url, headers: {}, body: "{}" },
      {
        head: () => callbackCount++,
        data: () => resolve(request),
        end: () => callbackCount++,
        fail: () => callbackCount++,
      },
    );
  });
  sending.abort();
  await cut;
  assert.is(callbackCount, 1);
  // before it has gone out at all
  const never = upstreams.send(
    { method: "POST", url, headers: {} },
    {
      head: () => callbackCount++,
      data: () => callbackCount++,
      end: () => callbackCount++,
      fail: () => callbackCount++,
    },
  );
  never.abort();
  await ask({ url: (await start((socket) => socket.write(ok("x")))).url });
  assert.is(callbackCount, 1);
});

test.run();

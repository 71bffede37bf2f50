import { once } from "node:events";
import { connect, type Socket } from "node:net";
import * as assert from "uvu/assert";
import { openSse, type Sse } from "../../../plugins/event-stream/index.ts";
import { collect, parseResponse } from "../../support/raw-http.ts";
import { startRoutes, stopRoutes } from "../../support/routes.ts";
import { test } from "../../support/suite.ts";
import { until } from "../../support/until.ts";

test.after(stopRoutes);

const open = { access: "public" } as const;

function request(port: number, path: string): Socket {
  const socket = connect(port, "127.0.0.1", () =>
    socket.write(`GET ${path} HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\n\r\n`),
  );
  return socket;
}

test("close ends a stream and its connection", async () => {
  const gateway = await startRoutes();
  let stream: Sse | undefined;
  gateway.route("GET", "/stream", open, (call) => {
    stream = openSse(call, { endOnClose: false });
    stream.send(undefined, "first");
  });
  const socket = request(gateway.port, "/stream");
  const text = collect(socket);
  await once(socket, "data");
  const closed = gateway.stop();
  stream?.send(undefined, "last");
  stream?.close();
  assert.match(await text, /first[\s\S]*last/);
  await closed;
});

test("a stream has the documented format, sends keep-alive comments, and ends on close", async () => {
  const gateway = await startRoutes();
  let stream: Sse | undefined;
  let ended = 0;
  gateway.route("GET", "/feed", open, (call) => {
    stream = openSse(call, { keepAliveMs: 30 });
    stream.onClose(() => ended++);
    stream.send("tick", { a: 1 });
    stream.send(undefined, "two\nlines");
    stream.send("bad\nname: x", "y");
    stream.comment("note");
  });
  const socket = request(gateway.port, "/feed");
  let received = "";
  socket.on("data", (chunk) => {
    received += chunk;
  });
  const text = collect(socket);
  await until("a keep-alive comment", () => received.includes(": keep-alive\n\n"));
  const { status, headers } = parseResponse(received);
  assert.is(status, 200);
  assert.match(headers["content-type"] ?? "", "text/event-stream");
  assert.match(headers["cache-control"] ?? "", "no-cache");
  assert.match(received, 'event: tick\ndata: {"a":1}\n\n');
  assert.match(received, "data: two\ndata: lines\n\n");
  assert.match(received, "event: bad name: x\ndata: y\n\n");
  assert.match(received, ": note\n\n");
  assert.is(stream?.closed, false);
  await gateway.stop();
  await text;
  assert.is(stream?.closed, true);
  assert.is(ended, 1);
  assert.is(stream?.send(undefined, "late"), false);
});

test("events of one turn of the event loop are sent together and in order, and none waits for the next turn", async () => {
  const gateway = await startRoutes();
  let stream: Sse | undefined;
  gateway.route("GET", "/feed", open, (call) => {
    stream = openSse(call);
  });
  const socket = request(gateway.port, "/feed");
  let text = "";
  socket.on("data", (chunk) => {
    text += chunk;
  });
  await until("the head", () => text.includes("\r\n\r\n"));
  /** The sizes of the chunks that follow `send`, RFC 9112 section 7.1. */
  const chunksOf = async (events: string[]): Promise<number[]> => {
    text = "";
    for (const each of events) stream?.send(undefined, each);
    await until("the last event", () => text.includes(`data: ${events.at(-1)}\n\n\r\n`));
    return [...text.matchAll(/^([0-9a-f]+)\r\n/gm)].map(([, size]) =>
      Number.parseInt(size as string, 16),
    );
  };
  const numbers = Array.from({ length: 100 }, (_, n) => `n${n}`);
  const together = await chunksOf(numbers);
  assert.equal(together, [numbers.map((each) => `data: ${each}\n\n`).join("").length]);
  assert.equal(await chunksOf(["one"]), ["data: one\n\n".length]);
  const parts = await chunksOf(["x".repeat(20_000), "y", "z"]);
  assert.equal(parts, [20_008, 18], "a long one waits for no other");
  stream?.close();
  await gateway.stop();
});

test("a reader that stops reading is disconnected, and a reader that disconnects is detected", async () => {
  const gateway = await startRoutes();
  const streams: Sse[] = [];
  gateway.route("GET", "/feed", open, (call) => {
    streams.push(openSse(call, { maxBufferedBytes: 100_000 }));
  });
  const slow = request(gateway.port, "/feed");
  slow.on("error", () => {});
  slow.pause();
  await until("the slow reader's stream", () => streams.length === 1);
  const data = "x".repeat(64 * 1024);
  for (let i = 0; i < 2000 && !streams[0]?.closed; i++) {
    if (streams[0]?.send(undefined, data)) continue;
    await new Promise((resolve) => setImmediate(resolve));
  }
  await until("the cut", () => streams[0]?.closed);
  slow.destroy();

  const leaving = request(gateway.port, "/feed");
  await until("the other stream", () => streams.length === 2);
  const noticed = new Promise<void>((resolve) => streams[1]?.onClose(resolve));
  leaving.destroy();
  await noticed;
  await streams[1]?.drained();
});

test.run();

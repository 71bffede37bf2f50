/** Clients that disconnect before the first write: nothing may wait for a second disconnect. */
import { EventEmitter } from "node:events";
import type { Call } from "portico";
import { suite } from "../../../support/suite.ts";
import * as assert from "uvu/assert";
import type { Endpoint } from "../../../../plugins/models/serving/access.ts";
import { openChat } from "../../../../plugins/models/serving/open.ts";
import { writeStream } from "../../../../plugins/models/serving/writing/write-stream.ts";

const test = suite("disconnected clients");

test("a hook's reply to a disconnected client is not sent", async () => {
  let leave = () => {};
  const emitted: string[] = [];
  const endpoint = {
    meters: () => [],
    events: {
      hasListeners: () => true,
      async emit(name: string, context: object) {
        emitted.push(name);
        leave();
        return { context, messages: [], outcomes: [], reply: "too late" };
      },
    },
  } as unknown as Endpoint;
  const call = {
    id: "req_1",
    client: { kind: "owner" },
    req: { headers: {} },
    body: async () => Buffer.alloc(0),
    onDisconnect(listener: () => void) {
      leave = listener;
    },
  } as unknown as Call;
  const request = { model: "echo", messages: [{ role: "user", content: "hi" }] };
  const incoming = { request, fallbacks: [], stream: true };
  const thrown = await openChat(
    endpoint,
    call,
    () => incoming,
    (opened) => opened,
  ).then(
    () => undefined,
    (error: { code: string }) => error,
  );
  assert.is(thrown?.code, "client_closed");
  assert.equal(emitted, ["message:received"]);
});

test("a stream for a disconnected client is cancelled and ends at once", async () => {
  const events: string[] = [];
  const source = {
    cancel: () => void events.push("cancelled"),
    async *[Symbol.asyncIterator]() {
      events.push("started");
      yield [];
    },
  };
  const call = { res: Object.assign(new EventEmitter(), { destroyed: true }) } as unknown as Call;
  const written = { write: () => [], end: () => "", fail: () => "", hasComments: true };
  const over = await Promise.race([
    writeStream(call, source, written, undefined).then(() => true),
    new Promise((resolve) => setImmediate(() => resolve(false))),
  ]);
  assert.equal([over, events], [true, ["cancelled"]]);
});

test.run();

import { once } from "node:events";
import { PassThrough } from "node:stream";
import { suite } from "../../../support/suite.ts";
import * as assert from "uvu/assert";
import { DebuggingPipe } from "../../../../plugins/browser/drivers/pipe.ts";

const test = suite("browser: the debugging pipe");

function open() {
  const out = new PassThrough();
  const incoming = new PassThrough();
  const messages: unknown[] = [];
  const pipe = new DebuggingPipe(out, incoming);
  pipe.onmessage = (message) => void messages.push(message);
  return { out, incoming, messages, pipe };
}

test("messages end with a NUL, regardless of how the bytes are split", async () => {
  const { out, incoming, messages, pipe } = open();
  const sent = [{ id: 1, text: "ä€😀" }, { id: 2 }, { id: 3, long: "x".repeat(100_000) }];
  const bytes = Buffer.from(sent.map((message) => `${JSON.stringify(message)}\0`).join(""));
  const all = new Promise<void>((resolve) => {
    pipe.onmessage = (message) => {
      if (messages.push(message) === 2 * sent.length) resolve();
    };
  });
  for (let at = 0; at < bytes.length; at += at < 60 ? 1 : 9_999) {
    incoming.write(bytes.subarray(at, at + (at < 60 ? 1 : 9_999)));
  }
  incoming.write(bytes);
  await all;
  assert.equal(messages, [...sent, ...sent]);
  pipe.send({ id: 4 });
  const [written] = (await once(out, "data")) as [Buffer];
  assert.is(written.toString(), '{"id":4}\0');
});

test("waiting code for one message runs before the next message is handled", async () => {
  const { incoming, pipe } = open();
  const order: string[] = [];
  const both = new Promise<void>((resolve) => {
    pipe.onmessage = (message) => {
      const { id } = message as { id: number };
      order.push(`message ${id}`);
      void Promise.resolve().then(() => order.push(`after ${id}`));
      if (id === 2) setImmediate(resolve);
    };
  });
  incoming.write('{"id":1}\0{"id":2}\0');
  await both;
  assert.equal(order, ["message 1", "after 1", "message 2", "after 2"]);
});

test("the end is reported once, also to a late listener", async () => {
  const { incoming, messages, pipe } = open();
  let closed = 0;
  pipe.onclose = () => void closed++;
  pipe.close();
  incoming.write('{"id":1}\0');
  incoming.destroy();
  await once(incoming, "close");
  assert.is(closed, 1);
  assert.equal(messages, [], "nobody listens any more");
  pipe.onclose = () => void closed++;
  assert.is(closed, 2);
  pipe.send({ id: 5 });
});
test.run();

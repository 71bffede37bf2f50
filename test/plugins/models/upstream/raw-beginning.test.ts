import * as assert from "uvu/assert";
import {
  endsWithDone,
  RawBeginning,
} from "../../../../plugins/models/upstream/wire/response-kind.ts";
import { assertLinear, repeated } from "../../../support/growth.ts";
import { suite } from "../../../support/suite.ts";

const test = suite("raw beginning");
const events = { "content-type": "text/event-stream; charset=utf-8" };

/** Classifies a beginning of a stream, in one piece and byte by byte. */
function classify(text: string, headers: Record<string, string> = events): string {
  const whole = new RawBeginning().push(headers, Buffer.from(text));
  const beginning = new RawBeginning();
  let last = "unknown";
  for (const byte of Buffer.from(text))
    if (last === "unknown") last = beginning.push(headers, Buffer.of(byte));
  assert.is(last, whole, text);
  return whole;
}

test("an event with nothing but an error is recognized, even after comments", () => {
  for (const error of [
    'data: {"error":{"message":"no"}}\n\n',
    'data:{"error": "no"}\r\n\r\n',
    ': hello\n\n: again\n\ndata: { "error" : {"message":"no"}}\n\n',
    'event: error\ndata: {"message":"no"}\n\n',
    "id: 1\nevent: error\nretry: 5\ndata: no\n\n",
    'data: {"type":"error","message":"no"}\n\n',
    'data: {"object":"error","message":"no"}\n\n',
    '\ufeffdata: {"error":{"message":"no"}}\n\n',
  ])
    assert.is(classify(error), "error", error);
});

test("any other content is accepted, and events without content are waited out", () => {
  for (const good of [
    'data: {"id":"cmpl-1","choices":[]}\n\n',
    'data: {"error":null,"choices":[]}\n\n',
    'data: {"choices":[{"text":"error"}]}\n\n',
    'data: {"type":"speech.audio.delta","audio":"AA"}\n\n',
    "data: [DONE]\n\n",
    "event: delta\ndata: hello\n\n",
  ])
    assert.is(classify(good), "good", good);
  for (const more of [
    "",
    ": hello\n\n",
    'data: {"err',
    "data: {",
    "event: error\n",
    'data: {"error":{"message":"no"}}\n',
  ])
    assert.is(classify(more), "unknown", more);
  assert.is(classify('{"error":"no"}', { "content-type": "text/plain" }), "good");
  assert.is(new RawBeginning().push(events, Buffer.from(`: ${"x".repeat(5000)}`)), "good");
});

test("the end of a stream is recognized by its last event", () => {
  const ends = (text: string, headers = events) => endsWithDone(headers, Buffer.from(text));
  assert.ok(
    ends("data: {}\n\ndata: [DONE]\n\n") && ends("data:[DONE]\r\n\r\n") && ends("data: [DONE]"),
  );
  assert.not.ok(ends("data: [DONE]\n\ndata: {}\n\n"));
  assert.not.ok(ends("data: [DONE]\n\n", { "content-type": "text/plain" }));
});

test("the time to inspect a beginning is proportional to its length", () => {
  for (const token of [
    ":",
    "\n",
    ": x\n",
    "event: x\n",
    "data: {",
    'data: {"a"',
    " ",
    '"',
    'data: {"a":"',
  ])
    assertLinear(token, 4000, repeated(token), (text) =>
      new RawBeginning().push(events, Buffer.from(text)),
    );
});

test.run();

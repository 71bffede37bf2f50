/** What goes to Anthropic in the caller's own form, and comes back in it. */
import {
  isUpstreamError,
  PartCollector,
  type StreamPart,
  type Target,
  type WireRequest,
} from "portico/provider";
import { MessagesEncoder } from "../../../plugins/messages/stream.ts";
import { test } from "../../support/suite.ts";
import * as assert from "uvu/assert";
import { anthropic } from "../../../plugins/provider-anthropic/wire.ts";
import { makeTarget, recode } from "../../support/target.ts";

const { encode, parts } = anthropic.native!.anthropic!;

/** The stream as it goes out to a client of the same format. */
function decoder(sent: WireRequest, target: Target) {
  const reading = parts(sent, target);
  const writing = new MessagesEncoder("x", "req_1");
  let ended = false;
  const collector = new PartCollector({ id: "", created: 0, model: "" });
  const write = (read: StreamPart[]) => {
    collector.add(read);
    const out = writing.write(read);
    if (!reading.done || ended) return out;
    ended = true;
    return out + writing.end();
  };
  return {
    push: (bytes: Buffer) => write(reading.push(bytes)),
    end: () => (reading.done ? "" : write(reading.end())),
    get text() {
      return collector.text;
    },
    get usage() {
      return collector.completion().usage;
    },
    get finishReason() {
      return collector.completion().choices[0]?.finish_reason;
    },
    get failure() {
      return reading.failure;
    },
    get done() {
      return reading.done;
    },
  };
}

const body = { model: "x", max_tokens: 5, messages: [{ role: "user", content: "Hi" }] };
const sent = await anthropic.encode(
  { model: "x", messages: [{ role: "user", content: "Hi" }] },
  makeTarget({}),
);
const headers = { "anthropic-beta": "callers-2026" };

test("a channel's header wins over the caller's, in any spelling, and is sent once", () => {
  const target = makeTarget({
    headers: { "Anthropic-Version": "2030-01-01", "Anthropic-Beta": "channels-2026" },
  });
  const sent = encode({ form: "anthropic", body, headers }, target)!;
  const named = Object.entries(sent.headers).filter(([name]) => /^anthropic-/i.test(name));
  assert.equal(Object.fromEntries(named), {
    "anthropic-version": "2030-01-01",
    "anthropic-beta": "channels-2026",
  });
  assert.is(
    encode({ form: "anthropic", body, headers }, makeTarget({}))!.headers["anthropic-beta"],
    "callers-2026",
  );
});

test("an error event is the upstream's failure, whatever it says of the request", () => {
  const target = makeTarget({});
  const stream = decoder(encode({ form: "anthropic", body, headers: {} }, target)!, target);
  const event = { type: "error", error: { type: "invalid_request_error", message: "no" } };
  const push = () => stream.push(Buffer.from(`event: error\ndata: ${JSON.stringify(event)}\n\n`));
  assert.throws(push, (error: unknown) => isUpstreamError(error) && error.status === 502);
});

test("an error without a type is the upstream's too, so that no proxy's error is sent as an event of Anthropic's", () => {
  const target = makeTarget({});
  const start = `event: message_start\ndata: {"type":"message_start","message":{"id":"msg_1","content":[]}}\n\n`;
  for (const data of [
    '{"error":{"message":"busy"}}',
    '{"error":"busy"}',
    '{"type":"weird","error":{"message":"busy"}}',
  ]) {
    const first = decoder(encode({ form: "anthropic", body, headers: {} }, target)!, target);
    const isBusy = (error: unknown) => isUpstreamError(error) && error.message.includes("busy");
    assert.throws(() => first.push(Buffer.from(`data: ${data}\n\n`)), isBusy, data);
    const later = decoder(encode({ form: "anthropic", body, headers: {} }, target)!, target);
    assert.is(String(later.push(Buffer.from(`${start}data: ${data}\n\n`))), start);
    assert.ok(isBusy(later.failure), data);
    const translated = recode(anthropic, sent, target);
    assert.throws(() => translated.push(Buffer.from(`data: ${data}\n\n`)), isBusy, data);
  }
});

test("an event over several lines of data stays one event", () => {
  const target = makeTarget({});
  const start = JSON.stringify(
    { type: "message_start", message: { id: "msg_1", content: [] } },
    null,
    1,
  );
  for (const end of ["\n", "\r\n", "\r"]) {
    const stream = decoder(encode({ form: "anthropic", body, headers: {} }, target)!, target);
    const out = stream.push(
      Buffer.from(start.replace(/^/gm, "data: ").replaceAll("\n", end) + end + end),
    );
    const [name, data, ...rest] = String(out).split("\n");
    assert.is(name, "event: message_start");
    assert.equal(JSON.parse(data!.slice("data: ".length)), JSON.parse(start));
    assert.equal(rest, ["", ""]);
  }
});

test("an incomplete last event is completed", () => {
  const target = makeTarget({});
  const events = [
    { type: "message_start", message: { id: "msg_1", content: [] } },
    { type: "message_delta", delta: { stop_reason: "end_turn" }, usage: { output_tokens: 3 } },
    { type: "message_stop" },
  ].map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
  const whole = events.join("");
  for (let at = whole.length - events[2]!.length; at < whole.length; at++) {
    const stream = decoder(encode({ form: "anthropic", body, headers: {} }, target)!, target);
    const out = `${stream.push(Buffer.from(whole.slice(0, at)))}${stream.done ? "" : stream.end()}`;
    assert.is(out, whole, `cut at ${at}`);
  }
});

test("texts pass unchanged, also those that are not parsed, wherever they are cut", () => {
  const target = makeTarget({});
  const named = (event: { type: string }, pad = "") =>
    `event: ${event.type}\ndata: ${JSON.stringify(event)}${pad}\n\n`;
  const texts = [
    "first",
    " second",
    'a "quoted" \\ one',
    "",
    "é日本語😀",
    "\ud83d",
    "\n\n",
    "data: x",
    '{"text":"x"}',
    "last",
  ];
  const delta = (text: string, i: number) =>
    named(
      { type: "content_block_delta", index: 0, delta: { type: "text_delta", text } } as never,
      " ".repeat(i % 3),
    );
  const stream = [
    named({
      type: "message_start",
      message: { id: "msg_1", content: [], usage: { input_tokens: 3 } },
    } as never),
    ...texts.map(delta),
    named({
      type: "content_block_delta",
      index: 1,
      delta: { type: "thinking_delta", thinking: "hm" },
    } as never),
    ...texts.map(delta),
    named({
      type: "message_delta",
      delta: { stop_reason: "end_turn" },
      usage: { output_tokens: 9 },
    } as never),
    named({ type: "message_stop" }),
  ].join("");
  const bytes = Buffer.from(stream);
  for (const cut of [bytes.length, 1, 5, 64, 333]) {
    const passing = decoder(encode({ form: "anthropic", body, headers: {} }, target)!, target);
    let out = "";
    for (let at = 0; at < bytes.length; at += cut)
      out += passing.push(bytes.subarray(at, at + cut))?.toString() ?? "";
    assert.is(out, stream, `cut at ${cut}`);
    assert.is(passing.text, texts.join("").repeat(2));
    assert.is(passing.usage?.completion_tokens, 9);
    assert.is(passing.finishReason, "stop");
  }
});

test("a text delta in other line ends is written as the others are, each time", () => {
  const target = makeTarget({});
  const passing = decoder(encode({ form: "anthropic", body, headers: {} }, target)!, target);
  const data = '{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"x"}}';
  const came = `data: ${data}\r\n\r\n`;
  assert.is(
    String(passing.push(Buffer.from(came.repeat(3)))),
    `event: content_block_delta\ndata: ${data}\n\n`.repeat(3),
  );
});

test.run();

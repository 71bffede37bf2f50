import { type ChatRequest, isUpstreamError, type WireRequest } from "portico/provider";
import { test } from "../../support/suite.ts";
import * as assert from "uvu/assert";
import { anthropic } from "../../../plugins/provider-anthropic/wire.ts";
import {
  asJson,
  decodeAll,
  decodeCutAnywhere,
  makeTarget,
  readChunks,
  recode,
} from "../../support/target.ts";

const target = makeTarget({ model: "claude-sonnet-4-5" });
const request: ChatRequest = { model: "x", messages: [{ role: "user", content: "Hi" }] };
const sent = await anthropic.encode(request, target);
const sentWithUsage = await anthropic.encode(
  { ...request, stream: true, stream_options: { include_usage: true } },
  target,
);

function decode(message: Record<string, unknown>) {
  const whole = {
    id: "msg_1",
    type: "message",
    role: "assistant",
    model: "claude-real",
    content: [],
    ...message,
  };
  return asJson(anthropic.decode!(Buffer.from(JSON.stringify(whole)), sent, target));
}
const decoder = (from: WireRequest = sentWithUsage) => recode(anthropic, from, target);

/** Events as the API writes them, `event:` line, padding and all. */
function sse(events: readonly Record<string, unknown>[], end = "\n"): Buffer {
  const text = events.map(
    (event) => `event: ${event.type}${end}data: ${JSON.stringify(event)}   ${end}${end}`,
  );
  return Buffer.from(text.join(""));
}

const start = {
  type: "message_start",
  message: {
    id: "msg_1",
    type: "message",
    role: "assistant",
    model: "claude-real",
    content: [],
    stop_reason: null,
    usage: {
      input_tokens: 10,
      cache_read_input_tokens: 3,
      cache_creation_input_tokens: 2,
      output_tokens: 1,
    },
  },
};
const text = (value: string, index = 0) => ({
  type: "content_block_delta",
  index,
  delta: { type: "text_delta", text: value },
});
const json = (partial_json: string, index: number) => ({
  type: "content_block_delta",
  index,
  delta: { type: "input_json_delta", partial_json },
});
const open = (content_block: Record<string, unknown>, index = 0) => ({
  type: "content_block_start",
  index,
  content_block,
});
const shut = (index = 0) => ({ type: "content_block_stop", index });
const stop = (stop_reason: string) => ({
  type: "message_delta",
  delta: { stop_reason, stop_sequence: null },
  usage: { output_tokens: 20, output_tokens_details: { thinking_tokens: 5 } },
});
const end = { type: "message_stop" };

test("a whole response is decoded", () => {
  const completion = decode({
    content: [
      { type: "thinking", thinking: "hm", signature: "s" },
      { type: "text", text: "Hello " },
      { type: "text", text: "you" },
    ],
    stop_reason: "end_turn",
    usage: {
      input_tokens: 10,
      cache_read_input_tokens: 3,
      cache_creation_input_tokens: 2,
      output_tokens: 20,
    },
  });
  assert.equal(completion, {
    id: "chatcmpl-msg_1",
    object: "chat.completion",
    created: target.created,
    model: "claude-real",
    choices: [
      {
        index: 0,
        message: {
          role: "assistant",
          content: "Hello you",
          refusal: null,
          reasoning_content: "hm",
        },
        logprobs: null,
        finish_reason: "stop",
      },
    ],
    usage: {
      prompt_tokens: 15,
      completion_tokens: 20,
      total_tokens: 35,
      prompt_tokens_details: { cached_tokens: 3, cache_write_tokens: 2 },
    },
  });
});

test("parallel calls, one without arguments", () => {
  const { message, finish_reason } = decode({
    content: [
      { type: "tool_use", id: "toolu_1", name: "a", input: { x: "1" } },
      { type: "tool_use", id: "toolu_2", name: "b" },
      { type: "tool_use", id: "toolu_3", name: "c", input: '{"y":2}' },
    ],
    stop_reason: "tool_use",
  }).choices[0]!;
  assert.is(finish_reason, "tool_calls");
  assert.is(message.content, null);
  assert.equal(message.tool_calls, [
    { id: "call_toolu_1", type: "function", function: { name: "a", arguments: '{"x":"1"}' } },
    { id: "call_toolu_2", type: "function", function: { name: "b", arguments: "{}" } },
    { id: "call_toolu_3", type: "function", function: { name: "c", arguments: '{"y":2}' } },
  ]);
});

test("every stop reason is translated", () => {
  const reasons = {
    end_turn: "stop",
    stop_sequence: "stop",
    pause_turn: "stop",
    max_tokens: "length",
    model_context_window_exceeded: "length",
    refusal: "content_filter",
  };
  for (const [stop_reason, expected] of Object.entries(reasons)) {
    assert.is(
      decode({ content: [{ type: "text", text: "x" }], stop_reason }).choices[0]!.finish_reason,
      expected,
    );
    const call = { type: "tool_use", id: "toolu_1", name: "a", input: {} };
    const called = expected === "stop" ? "tool_calls" : expected;
    assert.is(decode({ content: [call], stop_reason }).choices[0]!.finish_reason, called);
    const streamed = decodeAll(decoder(), [
      sse([start, open(call, 0), shut(0), stop(stop_reason), end]),
    ]);
    assert.is(readChunks(streamed).at(-2)!.choices[0]!.finish_reason, called);
  }
});

test("errors are recognised whatever the status of their response", () => {
  const body = (type: string) =>
    Buffer.from(JSON.stringify({ type: "error", error: { type, message: "why" } }));
  const kinds: [number, string, string][] = [
    [400, "invalid_request_error", "request"],
    [401, "authentication_error", "auth"],
    [402, "billing_error", "auth"],
    [403, "permission_error", "auth"],
    [404, "not_found_error", "request"],
    [413, "request_too_large", "request"],
    [429, "rate_limit_error", "rate_limit"],
    [500, "api_error", "upstream"],
    [504, "timeout_error", "timeout"],
    [529, "overloaded_error", "overloaded"],
  ];
  for (const [status, type, kind] of kinds) {
    const { members: _, ...problem } = anthropic.error(status, {}, body(type));
    assert.equal(problem, { message: "why", kind, code: type });
  }
  assert.throws(
    () => decode({ type: "error", error: { type: "overloaded_error", message: "busy" } }),
    isBusy,
  );
  assert.throws(
    () => decode({ content: [], error: { type: "overloaded_error", message: "busy" } }),
    isBusy,
  );
  assert.throws(() => anthropic.decode!(Buffer.from("<html>"), sent, target), isUpstreamError);
  assert.is(anthropic.error(502, {}, Buffer.from("<html><title>Bad</title>")).kind, "upstream");
});

function isBusy(error: unknown): boolean {
  return (
    isUpstreamError(error) &&
    error.kind === "overloaded" &&
    error.status === 503 &&
    error.message === "busy"
  );
}

test("a stream is decoded alike wherever it is cut", () => {
  const events = [start, { type: "ping" }, open({ type: "text", text: "" })];
  const words = ["Hé", 'llo "you"\n', "\\", " 😀", ""];
  const tail = [shut(), { type: "new_thing", x: 1 }, stop("end_turn"), end];
  for (const newline of ["\n", "\r\n", "\r"]) {
    const stream = sse([...events, ...words.map((word) => text(word)), ...tail], newline);
    const chunks = decodeCutAnywhere(
      decoder,
      Buffer.concat([Buffer.from(`: hello${newline}`), stream]),
    );
    assert.equal(chunks[0]!.choices[0]!.delta, { role: "assistant", content: "" });
    assert.is(
      chunks.map((chunk) => chunk.choices[0]?.delta.content ?? "").join(""),
      words.join(""),
    );
    assert.equal(
      chunks
        .flatMap((chunk) => chunk.choices.map((choice) => choice.finish_reason))
        .filter(Boolean),
      ["stop"],
    );
    for (const chunk of chunks)
      assert.equal([chunk.id, chunk.model], ["chatcmpl-msg_1", "claude-real"]);
    assert.equal(chunks.at(-1)!.choices, []);
    assert.equal(chunks.at(-1)!.usage, {
      prompt_tokens: 15,
      completion_tokens: 20,
      total_tokens: 35,
      prompt_tokens_details: { cached_tokens: 3, cache_write_tokens: 2 },
      completion_tokens_details: { reasoning_tokens: 5 },
    });
  }
});

test("usage is sent only to clients that asked, but the caller knows it", () => {
  const recoder = decoder(sent);
  const chunks = readChunks(
    decodeAll(recoder, [
      sse([start, open({ type: "text", text: "" }), text("x"), shut(), stop("max_tokens"), end]),
    ]),
  );
  assert.not.ok(chunks.some((chunk) => "usage" in chunk));
  assert.is(recoder.usage?.total_tokens, 35);
  assert.is(recoder.finishReason, "length");
});

test("calls in a stream keep their places; one without arguments gets {}", () => {
  const stream = sse([
    start,
    open({ type: "thinking", thinking: "", signature: "" }, 0),
    {
      type: "content_block_delta",
      index: 0,
      delta: { type: "thinking_delta", thinking: "let me" },
    },
    { type: "content_block_delta", index: 0, delta: { type: "thinking_delta", thinking: " see" } },
    { type: "content_block_delta", index: 0, delta: { type: "signature_delta", signature: "sig" } },
    shut(0),
    open({ type: "tool_use", id: "toolu_1", name: "a", input: {} }, 1),
    json("", 1),
    json('{"city": "', 1),
    json('Oslo"}', 1),
    shut(1),
    open({ type: "tool_use", id: "toolu_2", name: "b", input: {} }, 2),
    shut(2),
    open({ type: "tool_use", id: "toolu_3", name: "c", input: '{"y":2}' }, 3),
    shut(3),
    open({ type: "tool_use", id: "toolu_4", name: "d", input: " " }, 4),
    json(" ", 4),
    shut(4),
    stop("tool_use"),
    end,
  ]);
  const chunks = decodeCutAnywhere(decoder, stream);
  const calls: { id?: string; name?: string; args: string }[] = [];
  for (const part of chunks.flatMap((chunk) => chunk.choices[0]?.delta.tool_calls ?? [])) {
    const index = part.index ?? -1;
    calls[index] ??= { args: "" };
    const slot = calls[index];
    if (part.id !== undefined) slot.id = part.id;
    if (part.function?.name !== undefined) slot.name = part.function.name;
    slot.args += part.function?.arguments ?? "";
  }
  assert.equal(
    calls,
    [
      { id: "call_toolu_1", name: "a", args: '{"city": "Oslo"}' },
      { id: "call_toolu_2", name: "b", args: "{}" },
      { id: "call_toolu_3", name: "c", args: '{"y":2}' },
      { id: "call_toolu_4", name: "d", args: " {}" },
    ].map(({ id, name, args }) => ({ args, id, name })),
  );
  const deltas = chunks.map(
    (chunk) => chunk.choices[0]?.delta as Record<string, unknown> | undefined,
  );
  assert.is(deltas.map((delta) => delta?.reasoning_content ?? "").join(""), "let me see");
  const extra = deltas.find((delta) => delta?.extra_content)?.extra_content as {
    portico: { thinking: unknown };
  };
  assert.equal(extra.portico.thinking, [{ text: "let me see", signature: "sig" }]);
  assert.is(chunks.at(-2)!.choices[0]!.finish_reason, "tool_calls");
});

test("an error event is thrown, after what came before it", () => {
  const error = { type: "error", error: { type: "overloaded_error", message: "busy" } };
  assert.throws(() => decoder().push(sse([error])), isBusy);
  const late = decoder();
  const before = late.push(sse([start, open({ type: "text", text: "" }), text("x"), error]));
  assert.match(before!.toString(), '"content":"x"');
  assert.throws(() => late.end(), isBusy);
});

test("a stream that is cut short is an error, one that only lacks its last event is not", () => {
  const begun = [start, open({ type: "text", text: "" }), text("x")];
  for (const bytes of [
    sse(begun),
    Buffer.concat([sse(begun), sse([text("y")]).subarray(0, 60)]),
    Buffer.alloc(0),
  ]) {
    const cut = decoder();
    if (bytes.length > 0) cut.push(bytes);
    assert.throws(() => cut.end(), isUpstreamError);
  }
  const chunks = readChunks(decodeAll(decoder(), [sse([...begun, shut(), stop("end_turn")])]));
  assert.is(chunks.at(-2)!.choices[0]!.finish_reason, "stop");
  const finished = sse([...begun, shut(), stop("end_turn")]);
  const last = sse([end]).subarray(0, -1);
  for (let at = 0; at < last.length; at++)
    assert.equal(
      readChunks(decodeAll(decoder(), [finished, last.subarray(0, at)])),
      chunks,
      `cut at ${at}`,
    );
});

test.run();

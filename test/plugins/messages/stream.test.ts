import { PorticoError } from "portico";
import type { ChatChunk } from "portico/provider";
import { suite } from "../../support/suite.ts";
import * as assert from "uvu/assert";
import { messageOf } from "../../../plugins/messages/response.ts";
import { readMessages } from "../../../plugins/messages/request.ts";
import { MessagesEncoder } from "../../../plugins/messages/stream.ts";
import { callDelta, chunk, readNamedEvents, acceptChunks } from "../../support/chunks.ts";

const test = suite("messages stream");

const usage = {
  prompt_tokens: 10,
  completion_tokens: 4,
  total_tokens: 14,
  prompt_tokens_details: { cached_tokens: 6 },
};

async function events(chunks: ChatChunk[]): Promise<any[]> {
  const translator = acceptChunks(new MessagesEncoder("asked", "req_1"));
  return readNamedEvents(
    chunks.map((part) => translator.chunk(part)).join("") + (await translator.end()),
  );
}
const brief = (list: any[]) =>
  list.map(({ type, index, delta, content_block: block }) => {
    const what =
      delta?.text ?? delta?.thinking ?? delta?.partial_json ?? block?.name ?? block?.type;
    return [type.replace("content_block_", ""), index, what]
      .filter((event) => event !== undefined)
      .join(" ");
  });

test("blocks follow one another, and the usage comes at the end", async () => {
  const list = await events([
    chunk({ role: "assistant", content: "" }),
    chunk({ reasoning_content: "h" }),
    chunk({ reasoning_content: "m" }),
    chunk({ content: "A" }),
    chunk(callDelta(0, "", "f")),
    chunk(callDelta(0, '{"a"')),
    chunk(callDelta(0, ":1}")),
    chunk(callDelta(1, "{}", "g")),
    chunk({}, "tool_calls"),
    chunk({}, null, { choices: [], usage }),
  ]);
  assert.equal(brief(list), [
    "message_start",
    "ping",
    "start 0 thinking",
    "delta 0 h",
    "delta 0 m",
    "stop 0",
    "start 1 text",
    "delta 1 A",
    "stop 1",
    "start 2 f",
    'delta 2 {"a"',
    "delta 2 :1}",
    "stop 2",
    "start 3 g",
    "delta 3 {}",
    "stop 3",
    "message_delta",
    "message_stop",
  ]);
  assert.equal(list.at(-2).delta, { stop_reason: "tool_use", stop_sequence: null });
  assert.equal(list.at(-2).usage, {
    input_tokens: 4,
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: 6,
    output_tokens: 4,
  });
});

test("calls with interleaved pieces are kept apart, and a call without arguments has an empty object", async () => {
  const list = await events([
    chunk(callDelta(0, "", "f")),
    chunk(callDelta(1, "", "g")),
    chunk(callDelta(0, '{"a":')),
    chunk(callDelta(1, '{"b":2}')),
    chunk(callDelta(0, "1}")),
    chunk(callDelta(2, "", "h")),
    chunk({}, "tool_calls"),
  ]);
  const args = ["", "", ""];
  for (const { type, index, delta } of list)
    if (type === "content_block_delta") args[index] += delta.partial_json;
  assert.equal(args, ['{"a":1}', '{"b":2}', "{}"]);
  for (const type of ["content_block_start", "content_block_stop"])
    assert.is(list.filter((event) => event.type === type).length, 3);
});

test("finish reasons, a refusal and an empty response are translated", async () => {
  const reason = async (finish: string) =>
    (await events([chunk({ content: "x" }), chunk({}, finish)])).at(-2).delta.stop_reason;
  assert.equal(await Promise.all(["stop", "length", "content_filter"].map(reason)), [
    "end_turn",
    "max_tokens",
    "refusal",
  ]);
  assert.equal(brief(await events([chunk({ refusal: "no" }, "stop")])).slice(2, 5), [
    "start 0 text",
    "delta 0 no",
    "stop 0",
  ]);
  assert.equal(brief(await events([])), ["message_start", "ping", "message_delta", "message_stop"]);
});

test("a failure is an error event", async () => {
  const translator = acceptChunks(new MessagesEncoder("asked", "req_1"));
  const text = translator.fail(new PorticoError("upstream_timeout", "too slow"));
  assert.equal(JSON.parse(text.split("data: ")[1]!), {
    type: "error",
    error: { type: "timeout_error", message: "too slow" },
    request_id: "req_1",
  });
});

test("data that a provider needs again is sent to the client in a sealed block, whole or streamed, and returned to the provider", async () => {
  const parts = [
    {
      index: 0,
      id: "c0",
      type: "function",
      function: { name: "f", arguments: "{}" },
      extra_content: { s: 1 },
    },
  ];
  const extra = { portico: { origin: "o", thinking: [{ text: "t", signature: "s" }] } };
  const streamed = await events([
    chunk({ tool_calls: parts }),
    chunk({ extra_content: extra }, "tool_calls"),
  ]);
  const whole = messageOf(
    {
      id: "chatcmpl-1",
      object: "chat.completion",
      created: 1,
      model: "up",
      choices: [
        {
          index: 0,
          message: { role: "assistant", content: null, tool_calls: parts, extra_content: extra },
          finish_reason: "tool_calls",
        },
      ],
    },
    "asked",
  );
  const sealed = streamed
    .map((event) => event.content_block)
    .find((block) => block?.type === "redacted_thinking");
  assert.equal((whole["content"] as object[])[0], sealed);
  const { messages } = readMessages({
    model: "m",
    max_tokens: 1,
    messages: [
      { role: "user", content: "Hi" },
      { role: "assistant", content: whole["content"] },
      { role: "user", content: [{ type: "tool_result", tool_use_id: "c0", content: "r" }] },
    ],
  }).request;
  assert.equal(messages[1]!["extra_content"], extra);
  assert.equal(messages[1]!.tool_calls?.[0]?.extra_content, { s: 1 });
});

test("arguments that are not an object are wrapped in one", async () => {
  const input = (args: string) =>
    (
      messageOf(
        {
          id: "chatcmpl-1",
          object: "chat.completion",
          created: 1,
          model: "up",
          choices: [
            {
              index: 0,
              message: {
                role: "assistant",
                content: "",
                tool_calls: [{ id: "a", function: { name: "f", arguments: args } }],
              },
              finish_reason: "stop",
            },
          ],
        },
        "asked",
      )["content"] as { input: unknown }[]
    )[0]!.input;
  assert.equal(["", "{}", '{"a":1}', "null", "[1]", "{broken"].map(input), [
    {},
    {},
    { a: 1 },
    {},
    { arguments: "[1]" },
    { arguments: "{broken" },
  ]);
});

test.run();

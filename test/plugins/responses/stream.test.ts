import { PorticoError } from "portico";
import type { ChatChunk } from "portico/provider";
import { suite } from "../../support/suite.ts";
import * as assert from "uvu/assert";
import { newResponse, responseOf } from "../../../plugins/responses/response.ts";
import { createEncoder } from "../../../plugins/responses/stream.ts";
import { callDelta, chunk, readNamedEvents, acceptChunks } from "../../support/chunks.ts";

const test = suite("responses stream");

const toolOf = (name: string) => ({ kind: "function" as const, name });
const response = () => newResponse("resp_ab", { model: "asked", input: "Hi" }, false);

async function events(chunks: ChatChunk[]): Promise<any[]> {
  const translator = acceptChunks(createEncoder(response(), () => undefined, toolOf));
  return readNamedEvents(
    chunks.map((chunk) => translator.chunk(chunk)).join("") + (await translator.end()),
  );
}
const brief = (list: any[]) =>
  list.map(({ type, output_index: index, delta }) =>
    [type.replace("response.", ""), index, delta].filter((value) => value !== undefined).join(" "),
  );

test("reasoning, text and calls are items in order, each begun and ended", async () => {
  const list = await events([
    chunk({ role: "assistant", content: "" }),
    chunk({ reasoning_content: "hm" }),
    chunk({ content: "A" }),
    chunk(callDelta(0, "", "f")),
    chunk(callDelta(0, "{}")),
    chunk({}, "tool_calls"),
    chunk({}, null, {
      choices: [],
      usage: { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 },
    }),
  ]);
  assert.equal(brief(list), [
    "created",
    "in_progress",
    "output_item.added 0",
    "reasoning_summary_part.added 0",
    "reasoning_summary_text.delta 0 hm",
    "reasoning_summary_text.done 0",
    "reasoning_summary_part.done 0",
    "output_item.done 0",
    "output_item.added 1",
    "content_part.added 1",
    "output_text.delta 1 A",
    "output_text.done 1",
    "content_part.done 1",
    "output_item.done 1",
    "output_item.added 2",
    "function_call_arguments.delta 2 {}",
    "function_call_arguments.done 2",
    "output_item.done 2",
    "completed",
  ]);
  const { output, usage, status, model } = list.at(-1).response;
  assert.equal([status, model, usage.total_tokens], ["completed", "up", 3]);
  // Each item's own last event says what the response says in the end.
  assert.equal(
    list.filter((event) => event.type === "response.output_item.done").map((event) => event.item),
    output,
  );
});

test("the same completion gives the same items, whole or streamed", async () => {
  const parts = [
    {
      index: 0,
      id: "c0",
      type: "function",
      function: { name: "f", arguments: '{"a":1}' },
      extra_content: { s: 1 },
    },
  ];
  const message = {
    reasoning_content: "hm",
    content: "A",
    refusal: "no",
    tool_calls: parts,
    extra_content: { t: 1 },
  };
  const streamed = (await events([chunk(message), chunk({}, "length")])).at(-1).response;
  const whole = responseOf(
    response(),
    {
      id: "chatcmpl-1",
      object: "chat.completion",
      created: 1,
      model: "up",
      choices: [{ index: 0, message: { role: "assistant", ...message }, finish_reason: "length" }],
    },
    toolOf,
  );
  assert.equal(streamed.output, whole["output"]);
  assert.equal(
    streamed.output.map((item: { type: string }) => item.type),
    ["reasoning", "message", "function_call", "reasoning"],
  );
  assert.match(streamed.output[3].encrypted_content, /^portico\./);
  assert.equal(
    streamed.output[1].content.map((part: { type: string }) => part.type),
    ["output_text", "refusal"],
  );
});

test("calls whose pieces come mixed keep them, and one without arguments has an empty object", async () => {
  const list = await events([
    chunk(callDelta(0, "", "f")),
    chunk(callDelta(1, "", "g")),
    chunk(callDelta(0, '{"a":')),
    chunk(callDelta(1, '{"b":2}')),
    chunk(callDelta(0, "1}")),
    chunk(callDelta(2, "", "h")),
    chunk({}, "tool_calls"),
  ]);
  assert.equal(
    list.at(-1).response.output.map((item: { arguments: string }) => item.arguments),
    ['{"a":1}', '{"b":2}', "{}"],
  );
  assert.is(list.filter((event) => event.type === "response.output_item.done").length, 3);
});

test("a truncated completion is an incomplete response, and its last item is incomplete too", async () => {
  for (const [finish, reason] of [
    ["length", "max_output_tokens"],
    ["content_filter", "content_filter"],
  ] as const) {
    const last = (await events([chunk({ content: "A" }), chunk({}, finish)])).at(-1);
    assert.is(last.type, "response.incomplete");
    assert.equal(
      [last.response.status, last.response.incomplete_details],
      ["incomplete", { reason }],
    );
    assert.is(last.response.output[0].status, "incomplete");
  }
});

test("a failure ends the stream with error and response.failed, which holds the output so far", () => {
  const translator = acceptChunks(createEncoder(response(), () => undefined, toolOf));
  translator.chunk(chunk({ content: "A" }));
  const [error, failed] = readNamedEvents(
    translator.fail(new PorticoError("upstream_timeout", "too slow")),
  );
  assert.equal(
    [error.type, error.code, failed.type],
    ["error", "upstream_timeout", "response.failed"],
  );
  assert.equal(failed.response.error, { code: "server_error", message: "too slow" });
  assert.ok(failed.sequence_number > error.sequence_number);
});

test("the last event waits until the response is kept", async () => {
  let stored: Record<string, unknown> | undefined;
  const translator = acceptChunks(
    createEncoder(
      response(),
      async (ended) => {
        await new Promise<void>((resolve) => setImmediate(resolve));
        stored = ended;
      },
      toolOf,
    ),
  );
  translator.chunk(chunk({ content: "A" }));
  const text = await translator.end();
  assert.is(stored!["status"], "completed");
  assert.match(text, "response.completed");
});

test.run();

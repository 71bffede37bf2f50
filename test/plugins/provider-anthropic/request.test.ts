import type { ChatMessage, ChatRequest, Target } from "portico/provider";
import { test } from "../../support/suite.ts";
import * as assert from "uvu/assert";
import { anthropic } from "../../../plugins/provider-anthropic/wire.ts";
import { makeTarget, refusedParam } from "../../support/target.ts";

const user: ChatMessage = { role: "user", content: "Hi" };

async function encode(request: Partial<ChatRequest>, target: Partial<Target> = {}) {
  const full = { model: "x", messages: [user], ...request };
  const sent = await anthropic.encode(full, makeTarget({ model: "claude-sonnet-4-5", ...target }));
  return { ...sent, json: JSON.parse(String(sent.body)) };
}

const refusal = (request: Partial<ChatRequest>) => refusedParam(encode(request));

const weather = {
  type: "function",
  function: {
    name: "weather",
    description: "d",
    parameters: { type: "object", properties: { city: { type: "string" } } },
  },
};
const call = (id: string, name = "weather", args = '{"city":"Oslo"}') => ({
  id,
  type: "function",
  function: { name, arguments: args },
});

test("a plain request", async () => {
  const sent = await encode({
    messages: [
      { role: "system", content: "Be brief" },
      user,
      { role: "developer", content: "And kind" },
    ],
    stop: "END",
    user: "u1",
    temperature: 1,
  });
  assert.is(sent.url, "http://127.0.0.1:1/v1/messages");
  assert.is(sent.headers["x-api-key"], "test-key");
  assert.is(sent.headers["anthropic-version"], "2023-06-01");
  assert.equal(sent.json, {
    model: "claude-sonnet-4-5",
    max_tokens: 64_000,
    system: "Be brief\nAnd kind",
    messages: [{ role: "user", content: "Hi" }],
    stop_sequences: ["END"],
    temperature: 1,
    metadata: { user_id: "u1" },
  });
  assert.equal(sent.dropped, []);
});

test("a temperature above 1 is dropped and named, by every model; top_p goes on alone", async () => {
  for (const model of [
    "claude-3-5-sonnet",
    "claude-sonnet-4",
    "claude-sonnet-4-5",
    "claude-opus-4-6",
    "claude-opus-4-7",
  ]) {
    for (const temperature of [1.01, 1.5, 2]) {
      const { json, dropped } = await encode({ temperature, top_p: 1 }, { model });
      assert.equal(
        [json.temperature, dropped],
        [undefined, ["temperature"]],
        `${model} ${temperature}`,
      );
    }
  }
});

test("null is unset, and what has no place is named", async () => {
  const sent = await encode({
    temperature: null,
    tools: null,
    stop: null,
    seed: 7,
    logit_bias: { "1": 5 },
    frequency_penalty: 0.5,
    presence_penalty: 0,
    n: 1,
    max_completion_tokens: 10,
    max_tokens: 99,
    something_new: true,
  });
  assert.is(sent.json.max_tokens, 10);
  assert.is("temperature" in sent.json, false);
  assert.equal(sent.dropped.sort(), ["frequency_penalty", "logit_bias", "seed", "something_new"]);
});

test("newer models: sampling is dropped by name", async () => {
  const sent = await encode(
    { temperature: 0.5, top_p: 0.5, top_k: 3 },
    { model: "claude-opus-4-7" },
  );
  assert.equal(sent.dropped.sort(), ["temperature", "top_k", "top_p"]);
  const plain = await encode({ temperature: 1, top_p: 1 }, { model: "claude-opus-4-7" });
  assert.equal(plain.dropped, []);
  assert.is("temperature" in plain.json, false);
});

test("a top_p near 1 that is not sent is named too", async () => {
  for (const top_p of [0.99, 0.995, 0.9999]) {
    for (const [model, beside] of [
      ["claude-opus-4-7", {}],
      ["claude-sonnet-4-5", { temperature: 0.5 }],
      ["claude-sonnet-4", { reasoning_effort: "low" }],
    ] as const) {
      const { json, dropped } = await encode({ top_p, ...beside }, { model });
      assert.equal([json.top_p, dropped], [undefined, ["top_p"]], `${model} ${top_p}`);
    }
    const alone = await encode({ top_p }, { model: "claude-sonnet-4-5" });
    assert.equal([alone.json.top_p, alone.dropped], [top_p, []]);
  }
});

test("tools and every tool_choice are translated", async () => {
  const bare = { type: "function", function: { name: "now" } };
  const tools = [weather, bare];
  const sent = await encode({ tools });
  assert.equal(sent.json.tools, [
    { name: "weather", description: "d", input_schema: weather.function.parameters },
    { name: "now", input_schema: { type: "object", properties: {} } },
  ]);
  assert.is("tool_choice" in sent.json, false);
  const choices: [unknown, unknown][] = [
    ["auto", { type: "auto" }],
    ["none", { type: "none" }],
    ["required", { type: "any" }],
    [
      { type: "function", function: { name: "now" } },
      { type: "tool", name: "now" },
    ],
  ];
  for (const [tool_choice, expected] of choices) {
    assert.equal((await encode({ tools, tool_choice })).json.tool_choice, expected);
  }
  const single = await encode({ tools, tool_choice: "required", parallel_tool_calls: false });
  assert.equal(single.json.tool_choice, { type: "any", disable_parallel_tool_use: true });
  const alone = await encode({ tools, parallel_tool_calls: false });
  assert.equal(alone.json.tool_choice, { type: "auto", disable_parallel_tool_use: true });
  const some = await encode({
    tools,
    tool_choice: { type: "allowed_tools", allowed_tools: { mode: "required", tools: [bare] } },
  });
  assert.equal(
    some.json.tools.map((tool: { name: string }) => tool.name),
    ["now"],
  );
  assert.equal(some.json.tool_choice, { type: "any" });
  const unforced = await encode({ tools, tool_choice: "required" }, { model: "claude-opus-5-5" });
  assert.equal(unforced.json.tool_choice, { type: "auto" });
  assert.equal(unforced.dropped, ["tool_choice"]);
  assert.is(
    await refusal({ tools, tool_choice: { type: "function", function: { name: "gone" } } }),
    "tool_choice.function.name",
  );
  assert.is(await refusal({ tools: [{ type: "custom", custom: { name: "x" } }] }), "tools[0].type");
});

test("calls and their results: one user turn, results first", async () => {
  const sent = await encode({
    messages: [
      user,
      {
        role: "assistant",
        content: null,
        tool_calls: [call("call_toolu_1"), call("odd id!", "now", "")],
      },
      { role: "tool", tool_call_id: "call_toolu_1", content: "12" },
      { role: "tool", tool_call_id: "odd id!", content: [{ type: "text", text: "noon" }] },
      { role: "user", content: "So?" },
    ],
  });
  const [, assistant, results] = sent.json.messages;
  assert.equal(assistant.content[0], {
    type: "tool_use",
    id: "toolu_1",
    name: "weather",
    input: { city: "Oslo" },
  });
  assert.equal(assistant.content[1].input, {});
  assert.match(assistant.content[1].id, /^[A-Za-z0-9_-]+$/);
  assert.is(sent.json.messages.length, 3);
  assert.equal(results, {
    role: "user",
    content: [
      { type: "tool_result", tool_use_id: "toolu_1", content: "12" },
      { type: "tool_result", tool_use_id: assistant.content[1].id, content: "noon" },
      { type: "text", text: "So?" },
    ],
  });
});

test("results without a call and calls without a result are refused with their path", async () => {
  const assistantTurn = { role: "assistant", tool_calls: [call("a"), call("b")] };
  assert.is(
    await refusal({ messages: [user, { role: "tool", tool_call_id: "a", content: "1" }] }),
    "messages[1].tool_call_id",
  );
  assert.is(
    await refusal({
      messages: [user, assistantTurn, { role: "tool", tool_call_id: "a", content: "1" }, user],
    }),
    "messages[1].tool_calls[1]",
  );
  assert.is(await refusal({ messages: [user, assistantTurn] }), "messages[1].tool_calls[0]");
});

test("the address of an image on a private network is refused, though Claude would fetch it", async () => {
  for (const url of [
    "http://127.0.0.1/a.png",
    "http://localhost/a",
    "http://10.0.0.1/a",
    "http://[::1]/a",
    "http://0x7f.1/",
  ]) {
    const messages = [
      { role: "user" as const, content: [{ type: "image_url" as const, image_url: { url } }] },
    ];
    assert.is(await refusal({ messages }), "messages[0].content[0].image_url.url", url);
    const sent = await encode({ messages }, { options: { allowPrivateImages: true } });
    assert.equal(sent.json.messages[0].content, [{ type: "image", source: { type: "url", url } }]);
  }
});

test("images and files", async () => {
  const parts = [
    { type: "image_url", image_url: { url: "data:image/png;base64,AAAA" } },
    { type: "image_url", image_url: { url: "https://example.test/a.png" } },
    {
      type: "file",
      file: { filename: "a.pdf", file_data: "data:application/pdf;base64,JVBERi0=" },
    },
    { type: "text", text: "What?" },
  ];
  const sent = await encode({ messages: [{ role: "user", content: parts }] });
  assert.equal(sent.json.messages[0].content, [
    { type: "image", source: { type: "base64", media_type: "image/png", data: "AAAA" } },
    { type: "image", source: { type: "url", url: "https://example.test/a.png" } },
    {
      type: "document",
      source: { type: "base64", media_type: "application/pdf", data: "JVBERi0=" },
      title: "a.pdf",
    },
    { type: "text", text: "What?" },
  ]);
  const audio = { type: "input_audio", input_audio: { data: "AA", format: "wav" } };
  assert.is(
    await refusal({ messages: [{ role: "user", content: [audio] }] }),
    "messages[0].content[0].input_audio",
  );
  const id = { type: "file", file: { file_id: "file-1" } };
  assert.is(
    await refusal({ messages: [{ role: "user", content: [id] }] }),
    "messages[0].content[0].file.file_id",
  );
  const tiff = { type: "image_url", image_url: { url: "data:image/tiff;base64,AAAA" } };
  assert.is(
    await refusal({ messages: [{ role: "user", content: [tiff] }] }),
    "messages[0].content[0].image_url.url",
  );
});

test("a request whose meaning would change is refused", async () => {
  assert.is(await refusal({ n: 2 }), "n");
  assert.is(await refusal({ modalities: ["text", "audio"] }), "modalities");
  assert.is(await refusal({ functions: [] }), "functions");
  assert.is(await refusal({ messages: [{ role: "wizard", content: "x" }] }), "messages[0].role");
});

test("structured output", async () => {
  const schema = {
    type: "object",
    properties: { a: { type: "integer", minimum: 1 } },
    required: ["a"],
  };
  const response_format = { type: "json_schema", json_schema: { name: "r", schema, strict: true } };
  const sent = await encode({ response_format });
  assert.equal(sent.json.output_config, {
    format: {
      type: "json_schema",
      schema: {
        type: "object",
        properties: { a: { type: "integer", description: "minimum: 1" } },
        required: ["a"],
        additionalProperties: false,
      },
    },
  });
  const old = await encode({ response_format }, { model: "claude-3-haiku-20240307" });
  assert.is("output_config" in old.json, false);
  assert.match(old.json.system, /^Answer with one JSON value that fits this JSON Schema/);
  assert.equal(old.dropped, ["response_format.json_schema"]);
  const loose = await encode({ response_format: { type: "json_object" } });
  assert.match(loose.json.system, /^Answer with one valid JSON object and nothing else/);
});

test("reasoning_effort by model", async () => {
  const on = async (model: string, effort: string, more: Partial<ChatRequest> = {}) => {
    const { json, dropped } = await encode({ reasoning_effort: effort, ...more }, { model });
    return { thinking: json.thinking, effort: json.output_config?.effort, dropped };
  };
  assert.equal(await on("claude-sonnet-4-5", "medium"), {
    thinking: { type: "enabled", budget_tokens: 8192 },
    effort: undefined,
    dropped: [],
  });
  assert.equal(await on("claude-sonnet-4-6", "xhigh"), {
    thinking: { type: "adaptive" },
    effort: "high",
    dropped: [],
  });
  assert.equal(await on("claude-opus-5", "max"), {
    thinking: { type: "adaptive", display: "summarized" },
    effort: "max",
    dropped: [],
  });
  assert.equal(await on("claude-opus-5", "none"), {
    thinking: { type: "disabled" },
    effort: undefined,
    dropped: [],
  });
  assert.equal((await on("claude-sonnet-5-5", "none")).thinking, { type: "between_tools" });
  assert.equal(await on("claude-fable-5", "none"), {
    thinking: undefined,
    effort: "low",
    dropped: ["reasoning_effort"],
  });
  assert.equal((await on("claude-3-haiku", "high")).dropped, ["reasoning_effort"]);
  assert.equal((await on("claude-sonnet-4-5", "high", { max_tokens: 500 })).dropped, [
    "reasoning_effort",
  ]);
  assert.equal((await on("claude-sonnet-4-5", "high", { temperature: 0.2 })).dropped, [
    "temperature",
  ]);
  const forced = { tools: [weather], tool_choice: "required" };
  assert.equal((await on("claude-sonnet-4-5", "high", forced)).dropped, ["reasoning_effort"]);
});

test("signed thinking comes back, but only to where it came from", async () => {
  const target = makeTarget({ model: "claude-sonnet-4-5" });
  const upstreamMessage = {
    type: "message",
    id: "msg_1",
    model: "claude-sonnet-4-5",
    content: [
      { type: "thinking", thinking: "hm", signature: "sig" },
      { type: "redacted_thinking", data: "sealed" },
      { type: "tool_use", id: "toolu_1", name: "weather", input: {} },
    ],
    stop_reason: "tool_use",
  };
  const sent = await anthropic.encode({ model: "x", messages: [user] }, target);
  const message = anthropic.decode!(Buffer.from(JSON.stringify(upstreamMessage)), sent, target)
    .choices[0]!.message;
  const messages = [user, message, { role: "tool", tool_call_id: "call_toolu_1", content: "1" }];
  const back = await encode({ messages, reasoning_effort: "low" });
  assert.equal(back.json.messages[1].content.slice(0, 2), upstreamMessage.content.slice(0, 2));
  assert.equal(back.json.thinking, { type: "enabled", budget_tokens: 2048 });
  const otherKey = await encode({ messages, reasoning_effort: "low" }, { apiKey: "another" });
  assert.is(otherKey.json.messages[1].content[0].type, "thinking");
  const elsewhere = await encode(
    { messages, reasoning_effort: "low" },
    { model: "claude-haiku-4-5" },
  );
  assert.is(elsewhere.json.messages[1].content[0].type, "tool_use");
  assert.equal(elsewhere.dropped, ["reasoning_effort"]);
});

test("cache marks stay on their parts", async () => {
  const cache_control = { type: "ephemeral" };
  const sent = await encode({
    messages: [
      { role: "system", content: [{ type: "text", text: "long", cache_control }] },
      { role: "user", content: [{ type: "text", text: "Hi", cache_control }] },
    ],
  });
  assert.equal(sent.json.system, [{ type: "text", text: "long", cache_control }]);
  assert.equal(sent.json.messages[0].content, [{ type: "text", text: "Hi", cache_control }]);
});

test("consecutive turns of one role are merged, empty ones are left out, and a blank stop is dropped", async () => {
  const sent = await encode({
    messages: [
      user,
      { role: "user", content: "there" },
      { role: "assistant", content: "" },
      { role: "assistant", content: "Sure:" },
    ],
    stop: [" ", "END"],
  });
  assert.equal(sent.json.messages, [
    {
      role: "user",
      content: [
        { type: "text", text: "Hi" },
        { type: "text", text: "there" },
      ],
    },
    { role: "assistant", content: "Sure:" },
  ]);
  assert.equal(sent.json.stop_sequences, ["END"]);
  assert.equal(sent.dropped, ["stop[0]"]);
});

test("the model list is decoded", () => {
  const list = anthropic.listModels!;
  assert.is(list.encode(makeTarget()).url, "http://127.0.0.1:1/v1/models?limit=1000");
  assert.equal(list.decode(Buffer.from('{"data":[{"id":"claude-a"},{"id":"claude-b"}]}')), [
    "claude-a",
    "claude-b",
  ]);
});

test.run();

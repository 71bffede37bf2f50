import { type ChatMessage, type ChatRequest, isUpstreamError } from "portico/provider";
import { test } from "../../support/suite.ts";
import * as assert from "uvu/assert";
import { mistral } from "../../../plugins/provider-mistral/wire.ts";
import {
  asJson,
  decodeAll,
  decodeCutAnywhere,
  makeTarget,
  readChunks,
  recode,
} from "../../support/target.ts";

const user: ChatMessage = { role: "user", content: "Hi" };
const target = makeTarget({ model: "mistral-small" });

async function encode(request: Partial<ChatRequest>) {
  const sent = await mistral.encode({ model: "x", messages: [user], ...request }, target);
  return { ...sent, json: JSON.parse(String(sent.body)) };
}

test("fields are renamed, unknown ones dropped by name", async () => {
  const sent = await encode({
    messages: [{ role: "developer", content: "Be brief" }, user],
    max_completion_tokens: 5,
    seed: 7,
    n: 2,
    stop: "x",
    reasoning_effort: "max",
    safe_prompt: true,
    logit_bias: { "1": 1 },
    user: "u",
    store: true,
    stream_options: null,
  });
  assert.is(sent.url, "http://127.0.0.1:1/v1/chat/completions");
  assert.is(sent.headers.authorization, "Bearer test-key");
  assert.equal(sent.json, {
    model: "mistral-small",
    messages: [
      { role: "system", content: "Be brief" },
      { role: "user", content: "Hi" },
    ],
    max_tokens: 5,
    stop: ["x"],
    random_seed: 7,
    n: 2,
    reasoning_effort: "xhigh",
    safe_prompt: true,
  });
  assert.equal(sent.dropped.sort(), ["logit_bias", "store", "user"]);
});

test("tools, choices and a format", async () => {
  const tools = [{ type: "function", function: { name: "now", strict: true } }];
  const declared = { name: "now", strict: true, parameters: { type: "object", properties: {} } };
  const sent = await encode({ tools, tool_choice: "required", parallel_tool_calls: false });
  assert.equal(sent.json.tools, [{ type: "function", function: declared }]);
  assert.is(sent.json.tool_choice, "any");
  assert.is(sent.json.parallel_tool_calls, false);
  const named = { type: "function", function: { name: "now" } };
  assert.equal((await encode({ tools, tool_choice: named })).json.tool_choice, named);
  const response_format = {
    type: "json_schema",
    json_schema: { name: "r", schema: { type: "object" }, strict: true },
  };
  assert.equal((await encode({ response_format })).json.response_format, response_format);
});

test("ids of calls: Mistral's own come back as they were, foreign ones become nine characters", async () => {
  const calls = ["call_AbC123xyZ", "call_toolu_01XYZ"].map((id) => ({
    id,
    type: "function",
    function: { name: "now", arguments: "" },
  }));
  const { json } = await encode({
    messages: [
      user,
      { role: "assistant", tool_calls: calls },
      { role: "tool", tool_call_id: "call_toolu_01XYZ", content: "2" },
      { role: "tool", tool_call_id: "call_AbC123xyZ", content: "1" },
    ],
  });
  const [, assistant, second, first] = json.messages;
  assert.is(assistant.tool_calls[0].id, "AbC123xyZ");
  assert.match(assistant.tool_calls[1].id, /^[A-Za-z0-9]{9}$/);
  assert.is(assistant.tool_calls[0].function.arguments, "{}");
  assert.equal(second, {
    role: "tool",
    tool_call_id: assistant.tool_calls[1].id,
    name: "now",
    content: "2",
  });
  assert.is(first.tool_call_id, "AbC123xyZ");
});

test("images and files", async () => {
  const parts = [
    { type: "image_url", image_url: { url: "https://example.test/a.png" } },
    { type: "file", file: { file_data: "data:application/pdf;base64,AA==", filename: "a.pdf" } },
  ];
  const { json } = await encode({ messages: [{ role: "user", content: parts }] });
  assert.equal(json.messages[0].content, [
    { type: "image_url", image_url: "https://example.test/a.png" },
    {
      type: "document_url",
      document_url: "data:application/pdf;base64,AA==",
      document_name: "a.pdf",
    },
  ]);
});

test("an orphan result is refused", async () => {
  try {
    await encode({ messages: [user, { role: "tool", tool_call_id: "x", content: "" }] });
    assert.unreachable();
  } catch (error) {
    assert.is((error as { param?: string }).param, "messages[1].tool_call_id");
  }
});

const sent = await mistral.encode(
  { model: "x", messages: [user], stream: true, stream_options: { include_usage: true } },
  target,
);
const decode = (response: unknown) =>
  mistral.decode!(Buffer.from(JSON.stringify(response)), sent, target);
const decoder = () => recode(mistral, sent, target);
const usage = { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 };

test("a whole response with thinking is decoded", () => {
  const content = [
    { type: "thinking", thinking: [{ type: "text", text: "hm" }] },
    { type: "text", text: "Hello" },
  ];
  const completion = decode({
    id: "abc",
    model: "mistral-real",
    choices: [{ index: 0, message: { role: "assistant", content }, finish_reason: "model_length" }],
    usage,
  });
  assert.equal(
    [completion.id, completion.model, asJson(completion.usage)],
    ["chatcmpl-abc", "mistral-real", usage],
  );
  assert.equal(asJson(completion.choices[0]), {
    index: 0,
    message: { role: "assistant", content: "Hello", refusal: null, reasoning_content: "hm" },
    logprobs: null,
    finish_reason: "length",
  });
});

test("calls, with arguments as text or as an object; an error for a finish", () => {
  const tool_calls = [
    { id: "AbC123xyZ", function: { name: "a", arguments: '{"x":1}' } },
    { id: "bbbbbbbbb", function: { name: "b", arguments: { y: 2 } } },
    { id: "ccccccccc", function: { name: "c", arguments: "" } },
  ];
  const choice = decode({
    choices: [{ message: { content: "", tool_calls }, finish_reason: "tool_calls" }],
  }).choices[0]!;
  assert.equal(
    choice.message.tool_calls!.map((call) => [call.id, call.function?.arguments]),
    [
      ["call_AbC123xyZ", '{"x":1}'],
      ["call_bbbbbbbbb", '{"y":2}'],
      ["call_ccccccccc", "{}"],
    ],
  );
  assert.throws(
    () => decode({ choices: [{ message: { content: "x" }, finish_reason: "error" }] }),
    isUpstreamError,
  );
  const choiceBody = { message: { content: "x" }, finish_reason: "stop" };
  assert.throws(() => decode({ choices: [choiceBody], error: { message: "why" } }), /^why$/);
  assert.throws(() => decode({ choices: [{ ...choiceBody, error: { message: "why" } }] }), /^why$/);
  assert.throws(() => decode({ object: "error", message: "no" }), isUpstreamError);
  assert.throws(() => decode({ choices: [] }), isUpstreamError);
});

const chunk = (
  delta: Record<string, unknown>,
  finish_reason: string | null = null,
  more: Record<string, unknown> = {},
) =>
  `data: ${JSON.stringify({ id: "abc", object: "chat.completion.chunk", created: 1, model: "mistral-real", choices: [{ index: 0, delta, finish_reason }], ...more })}\n\n`;

test("a stream is decoded alike wherever it is cut", () => {
  const words = ["Hé", 'llo "you"\n', "\\", " 😀", "12"];
  const text = [
    chunk({ role: "assistant", content: "" }),
    chunk({ content: [{ type: "thinking", thinking: [{ type: "text", text: "hm" }] }] }),
    ...words.map((content) => chunk({ content })),
    chunk({ content: "" }, "stop", { usage }),
    "data: [DONE]\n\n",
  ].join("");
  const chunks = decodeCutAnywhere(decoder, Buffer.from(text));
  assert.is(chunks.map((chunk) => chunk.choices[0]?.delta.content ?? "").join(""), words.join(""));
  assert.is(chunks.map((chunk) => chunk.choices[0]?.delta.reasoning_content ?? "").join(""), "hm");
  assert.equal(chunks.at(-1)!.usage, usage);
  for (const chunk of chunks)
    assert.equal([chunk.id, chunk.created], ["chatcmpl-abc", target.created]);
});

test("calls in a stream: whole, in fragments, without arguments", () => {
  const call = (id: string | undefined, index: number, name: string | undefined, args: unknown) =>
    chunk({
      tool_calls: [
        { ...(id && { id }), index, function: { ...(name && { name }), arguments: args } },
      ],
    });
  const text = [
    call("aaaaaaaaa", 0, "a", '{"x":'),
    call(undefined, 0, undefined, "1}"),
    call("bbbbbbbbb", 1, "b", { y: 2 }),
    call("ccccccccc", 2, "c", ""),
    call("ddddddddd", 3, "d", " "),
    call(undefined, 3, undefined, "\n"),
    chunk({}, "tool_calls", { usage }),
    "data: [DONE]\n\n",
  ].join("");
  const chunks = decodeCutAnywhere(decoder, Buffer.from(text));
  const args: string[] = [];
  const ids: (string | undefined)[] = [];
  for (const part of chunks.flatMap((chunk) => chunk.choices[0]?.delta.tool_calls ?? [])) {
    const index = part.index ?? -1;
    ids[index] ??= part.id;
    args[index] = (args[index] ?? "") + (part.function?.arguments ?? "");
  }
  assert.equal(ids, ["call_aaaaaaaaa", "call_bbbbbbbbb", "call_ccccccccc", "call_ddddddddd"]);
  assert.equal(args, ['{"x":1}', '{"y":2}', "{}", " \n{}"]);
});

test("calls in a stream that have no id and no place of their own", () => {
  const call = (more: object, name: string | undefined, args: string) =>
    chunk({ tool_calls: [{ ...more, function: { name, arguments: args } }] });
  for (const more of [{ id: "null" }, {}]) {
    const events = [
      call(more, "a", '{"x"'),
      call(more, undefined, ":1}"),
      call(more, "b", "{}"),
      chunk({}, "tool_calls"),
    ];
    const calls: string[][] = [];
    for (const chunk of readChunks(decodeAll(decoder(), [Buffer.from(events.join(""))]))) {
      for (const { index = -1, function: fn } of chunk.choices[0]?.delta.tool_calls ?? []) {
        const [name = "", args = ""] = calls[index] ?? [];
        calls[index] = [name + (fn?.name ?? ""), args + (fn?.arguments ?? "")];
      }
    }
    assert.equal(calls, [
      ["a", '{"x":1}'],
      ["b", "{}"],
    ]);
  }
});

test("streams that end early or with an error", () => {
  const clean = readChunks(decodeAll(decoder(), [Buffer.from(chunk({ content: "x" }))]));
  assert.is(clean.at(-1)!.choices[0]!.finish_reason, "stop");
  assert.throws(() => decodeAll(decoder(), []), isUpstreamError);
  const late = decoder();
  late.push(
    Buffer.from(`${chunk({ content: "x" })}data: {"object":"error","message":"broken"}\n\n`),
  );
  assert.is(late.failure?.message, "broken");
  assert.throws(
    () => decoder().push(Buffer.from('data: {"error":{"message":"broken"}}\n\n')),
    isUpstreamError,
  );
  const beside = decoder();
  beside.push(
    Buffer.from(
      chunk({ content: "x" }) + chunk({ content: "y" }, "stop", { error: { message: "broken" } }),
    ),
  );
  assert.is(beside.failure?.message, "broken");
});

test("errors name the field", () => {
  const body = {
    object: "error",
    message: {
      detail: [{ type: "missing", loc: ["body", "messages", 0, "role"], msg: "Field required" }],
    },
  };
  assert.equal(asJson(mistral.error(422, {}, Buffer.from(JSON.stringify(body)))), {
    kind: "request",
    message: "Field required",
    param: "messages.0.role",
  });
  assert.equal(asJson(mistral.error(401, {}, Buffer.from('{"message":"Unauthorized"}'))), {
    kind: "auth",
    message: "Unauthorized",
  });
});

test.run();

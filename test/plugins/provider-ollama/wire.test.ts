import { type ChatMessage, type ChatRequest, isUpstreamError, type Target } from "portico/provider";
import { test } from "../../support/suite.ts";
import * as assert from "uvu/assert";
import { ollama } from "../../../plugins/provider-ollama/wire.ts";
import {
  asJson,
  decodeAll,
  decodeCutAnywhere,
  makeTarget,
  readChunks,
  refusedParam,
  recode,
} from "../../support/target.ts";

const user: ChatMessage = { role: "user", content: "Hi" };
const tool = { type: "function", function: { name: "now" } };
const other = {
  type: "function",
  function: { name: "other", description: "d", parameters: { type: "object" } },
};

async function encode(request: Partial<ChatRequest>, target: Partial<Target> = {}) {
  const sent = await ollama.encode(
    { model: "x", messages: [user], ...request },
    makeTarget({ model: "llama3", ...target }),
  );
  return { ...sent, json: JSON.parse(String(sent.body)) };
}
const refusal = (request: Partial<ChatRequest>) => refusedParam(encode(request));

test("a plain request says stream: false", async () => {
  const sent = await encode({
    max_tokens: 5,
    temperature: 0.5,
    stop: "x",
    seed: 1,
    user: "u",
    top_logprobs: 2,
  });
  assert.is(sent.url, "http://127.0.0.1:1/api/chat");
  assert.equal(sent.json, {
    model: "llama3",
    messages: [{ role: "user", content: "Hi" }],
    stream: false,
    options: { num_predict: 5, temperature: 0.5, seed: 1, stop: ["x"] },
  });
  assert.equal(sent.dropped.sort(), ["top_logprobs", "user"]);
  assert.is((await encode({ stream: true })).json.stream, true);
});

test("the request's options override the channel's", async () => {
  const options = { options: { num_ctx: 8192, temperature: 0.1 }, keepAlive: "5m" };
  const { json } = await encode({ temperature: 0.9 }, { options });
  assert.equal(json.options, { num_ctx: 8192, temperature: 0.9 });
  assert.is(json.keep_alive, "5m");
});

test("calls have objects, results have names, images are bare base64", async () => {
  const { json } = await encode({
    messages: [
      { role: "developer", content: "Be brief" },
      {
        role: "user",
        content: [
          { type: "text", text: "What?" },
          { type: "image_url", image_url: { url: "data:image/png;base64,AAAA" } },
          { type: "image_url", image_url: { url: "http://example.test/a.png" } },
        ],
      },
      {
        role: "assistant",
        content: null,
        reasoning_content: "hm",
        tool_calls: [
          { id: "a", type: "function", function: { name: "now", arguments: '{"z":1}' } },
          { id: "b", type: "function", function: { name: "other", arguments: "" } },
        ],
      },
      { role: "tool", tool_call_id: "b", content: "2" },
      { role: "tool", tool_call_id: "a", content: "1" },
    ],
  });
  assert.equal(json.messages, [
    { role: "system", content: "Be brief" },
    {
      role: "user",
      content: "What?",
      images: ["AAAA", Buffer.from("bytes of http://example.test/a.png").toString("base64")],
    },
    {
      role: "assistant",
      content: "",
      thinking: "hm",
      tool_calls: [
        { function: { name: "now", arguments: { z: 1 } } },
        { function: { name: "other", arguments: {} } },
      ],
    },
    { role: "tool", content: "2", tool_name: "other" },
    { role: "tool", content: "1", tool_name: "now" },
  ]);
});

test("tool_choice as far as it goes", async () => {
  const tools = [tool, other];
  const names = (json: { tools?: { function: { name: string } }[] }) =>
    json.tools?.map((tool) => tool.function.name);
  const free = await encode({ tools });
  assert.equal(names(free.json), ["now", "other"]);
  assert.equal(free.json.tools[0].function.parameters, { type: "object", properties: {} });
  assert.is(names((await encode({ tools, tool_choice: "none" })).json), undefined);
  assert.equal((await encode({ tools, tool_choice: "required" })).dropped, ["tool_choice"]);
  const named = await encode({
    tools,
    tool_choice: { type: "function", function: { name: "other" } },
  });
  assert.equal([names(named.json), named.dropped], [["other"], ["tool_choice"]]);
});

test("format and think", async () => {
  const schema = { type: "object" };
  const response_format = { type: "json_schema", json_schema: { name: "r", schema } };
  assert.equal((await encode({ response_format })).json.format, schema);
  assert.is((await encode({ response_format: { type: "json_object" } })).json.format, "json");
  assert.is((await encode({ reasoning_effort: "none" })).json.think, false);
  assert.is((await encode({ reasoning_effort: "high" })).json.think, true);
  assert.is(
    (await encode({ reasoning_effort: "max" }, { model: "gpt-oss:20b" })).json.think,
    "high",
  );
});

test("a request that Ollama's format cannot express is refused", async () => {
  assert.is(await refusal({ n: 2 }), "n");
  const file = { type: "file", file: { file_data: "data:application/pdf;base64,AA" } };
  assert.is(
    await refusal({ messages: [{ role: "user", content: [file] }] }),
    "messages[0].content[0].file",
  );
  assert.is(
    await refusal({ messages: [user, { role: "tool", tool_call_id: "x", content: "" }] }),
    "messages[1].tool_call_id",
  );
});

const target = makeTarget({ model: "llama3" });
const sent = await ollama.encode(
  { model: "x", messages: [user], stream: true, stream_options: { include_usage: true } },
  target,
);
const decode = (response: unknown) =>
  ollama.decode!(Buffer.from(JSON.stringify(response)), sent, target);
const decoder = () => recode(ollama, sent, target);
const counts = { prompt_eval_count: 3, eval_count: 4, total_duration: 1 };

test("a whole response is decoded", () => {
  const completion = decode({
    model: "llama3:latest",
    message: { role: "assistant", content: "Hello", thinking: "hm" },
    done: true,
    done_reason: "stop",
    ...counts,
  });
  assert.is(completion.model, "llama3:latest");
  assert.equal(asJson(completion.choices), [
    {
      index: 0,
      message: { role: "assistant", content: "Hello", refusal: null, reasoning_content: "hm" },
      logprobs: null,
      finish_reason: "stop",
    },
  ]);
  assert.equal(asJson(completion.usage), {
    prompt_tokens: 3,
    completion_tokens: 4,
    total_tokens: 7,
  });
  assert.is(
    decode({ message: { content: "x" }, done_reason: "length" }).choices[0]!.finish_reason,
    "length",
  );
});

test("calls turn stop into tool_calls, and their ids are generated", () => {
  const tool_calls = [
    { function: { name: "now", arguments: { z: 1 } } },
    { function: { name: "other" } },
  ];
  const choice = decode({ message: { content: "", tool_calls }, done_reason: "stop" }).choices[0]!;
  assert.is(choice.finish_reason, "tool_calls");
  assert.is(choice.message.content, null);
  const [first, second] = choice.message.tool_calls!;
  assert.match(first!.id!, /^call_/);
  assert.is.not(first!.id, second!.id);
  assert.equal([first!.function?.arguments, second!.function?.arguments], ['{"z":1}', "{}"]);
});

const line = (
  message: Record<string, unknown>,
  at = "2026-11-20T10:00:00.123Z",
  more: Record<string, unknown> = {},
) =>
  `${JSON.stringify({ model: "llama3", created_at: at, message: { role: "assistant", ...message }, done: false, ...more })}\n`;
const last = line({ content: "" }, "2026-11-20T10:00:09Z", {
  done: true,
  done_reason: "stop",
  ...counts,
});

test("a stream is decoded alike wherever it is cut", () => {
  const words = ["Hé", 'llo "you"\n', "\\", " 😀", "12"];
  const stream = [
    line({ content: "", thinking: "let me" }),
    ...words.map((content, i) => line({ content }, `2026-11-20T10:00:0${i}.${"9".repeat(i + 1)}Z`)),
    last,
  ];
  for (const text of [
    stream.join(""),
    stream.join("").replaceAll("\n", "\r\n"),
    stream.join("").trimEnd(),
  ]) {
    const chunks = decodeCutAnywhere(decoder, Buffer.from(text));
    assert.is(
      chunks.map((chunk) => chunk.choices[0]?.delta.content ?? "").join(""),
      words.join(""),
    );
    assert.is(
      chunks.map((chunk) => chunk.choices[0]?.delta.reasoning_content ?? "").join(""),
      "let me",
    );
    assert.is(chunks.at(-2)!.choices[0]!.finish_reason, "stop");
    assert.equal(chunks.at(-1)!.usage, { prompt_tokens: 3, completion_tokens: 4, total_tokens: 7 });
  }
});

test("a byte order mark, and lines of white space", () => {
  const lines = ["\uFEFF", line({ content: "a" }), "  \r\n\t\n", line({ content: "b" }), last];
  const chunks = decodeCutAnywhere(decoder, Buffer.from(lines.join("")));
  assert.is(chunks.map((chunk) => chunk.choices[0]?.delta.content ?? "").join(""), "ab");
});

test("calls in a stream", () => {
  const call = (name: string) =>
    line({ content: "", tool_calls: [{ function: { name, arguments: {} } }] });
  const chunks = readChunks(decodeAll(decoder(), [Buffer.from(call("a") + call("b") + last)]));
  const calls = chunks.flatMap((chunk) => chunk.choices[0]?.delta.tool_calls ?? []);
  assert.equal(
    calls.map((call) => [call.index, call.function?.name, call.function?.arguments]),
    [
      [0, "a", "{}"],
      [1, "b", "{}"],
    ],
  );
  assert.is(chunks.at(-2)!.choices[0]!.finish_reason, "tool_calls");
});

test("errors are recognised as a response, as a line, and as a truncated stream", () => {
  assert.equal(ollama.error(404, {}, Buffer.from('{"error":"model not found"}')), {
    kind: "request",
    message: "model not found",
  });
  assert.throws(() => decode({ error: "broken" }), isUpstreamError);
  assert.throws(
    () => decode({ message: { content: "x" }, done: true, error: "broken" }),
    isUpstreamError,
  );
  const late = decoder();
  assert.match(
    late.push(Buffer.from(`${line({ content: "x" })}{"error":"broken"}\n`))!.toString(),
    '"x"',
  );
  assert.is(late.failure?.message, "broken");
  const cut = decoder();
  cut.push(Buffer.from(line({ content: "x" })));
  assert.throws(() => cut.end(), isUpstreamError);
});

test("models and embeddings", async () => {
  assert.equal(ollama.listModels!.decode(Buffer.from('{"models":[{"name":"llama3:latest"}]}')), [
    "llama3:latest",
  ]);
  const embed = await ollama.embeddings!.encode({ input: "a", encoding_format: "base64" }, target);
  assert.equal(JSON.parse(String(embed.body)), { model: "llama3", input: ["a"] });
  const embeddings = ollama.embeddings!.decode(
    Buffer.from('{"embeddings":[[1,2]],"prompt_eval_count":1}'),
    embed,
    target,
  );
  assert.equal(embeddings.data, [{ object: "embedding", index: 0, embedding: [1, 2] }]);
  assert.equal(embeddings.usage, { prompt_tokens: 1, total_tokens: 1 });
  const unmetered = ollama.embeddings!.decode(Buffer.from('{"embeddings":[[1,2]]}'), embed, target);
  assert.is(unmetered.usage, undefined);
});

test.run();

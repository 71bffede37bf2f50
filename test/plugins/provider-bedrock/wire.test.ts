import { type ChatMessage, type ChatRequest, isUpstreamError, type Target } from "portico/provider";
import { test } from "../../support/suite.ts";
import * as assert from "uvu/assert";
import { DEFAULT_BASE_URL } from "../../../plugins/provider-bedrock/address.ts";
import { createBedrock } from "../../../plugins/provider-bedrock/wire.ts";
import {
  asJson,
  decodeAll,
  decodeCutAnywhere,
  makeTarget,
  readChunks,
  refusedParam,
  recode,
} from "../../support/target.ts";
import { event, exception } from "../../support/upstreams/frames.ts";

const env: Record<string, string | undefined> = {};
const now = () => new Date("2026-11-21T01:02:03Z");
const bedrock = createBedrock({ env, now });
const model = "us.anthropic.claude-sonnet-4-5-20250929-v1:0";
const user: ChatMessage = { role: "user", content: "Hi" };
const tool = { type: "function", function: { name: "now" } };
const call = {
  id: "call_tooluse_1",
  type: "function",
  function: { name: "now", arguments: '{"z":1}' },
};
const result = { role: "tool", tool_call_id: "call_tooluse_1", content: "noon" };

async function encode(request: Partial<ChatRequest>, target: Partial<Target> = {}) {
  const sent = await bedrock.encode(
    { model: "x", messages: [user], ...request },
    makeTarget({ model, ...target }),
  );
  return { ...sent, json: JSON.parse(String(sent.body)) };
}
const refusal = (request: Partial<ChatRequest>) => refusedParam(encode(request));

test("a plain request with a bearer key", async () => {
  const sent = await encode({
    messages: [{ role: "system", content: "Be brief" }, user],
    max_tokens: 5,
    temperature: 0.5,
    stop: "x",
    seed: 1,
    user: "u 1",
  });
  assert.is(
    sent.url,
    "http://127.0.0.1:1/model/us.anthropic.claude-sonnet-4-5-20250929-v1%3A0/converse",
  );
  assert.equal(sent.headers, {
    "content-type": "application/json",
    authorization: "Bearer test-key",
  });
  assert.equal(sent.json, {
    messages: [{ role: "user", content: [{ text: "Hi" }] }],
    system: [{ text: "Be brief" }],
    inferenceConfig: { maxTokens: 5, temperature: 0.5, stopSequences: ["x"] },
    requestMetadata: { user: "u 1" },
  });
  assert.equal(sent.dropped, ["seed"]);
  assert.match((await encode({ stream: true })).url, /\/converse-stream$/);
});

test("regions and credentials of the environment", async () => {
  const bare = makeTarget({
    model,
    baseUrl: DEFAULT_BASE_URL,
    options: { region: "eu-central-1" },
  });
  delete bare.apiKey;
  const request = { model: "x", messages: [user] };
  Object.assign(env, {
    AWS_ACCESS_KEY_ID: "AK",
    AWS_SECRET_ACCESS_KEY: "SK",
    AWS_SESSION_TOKEN: "ST",
    AWS_REGION: "us-west-2",
  });
  const signed = await bedrock.encode(request, {
    ...bare,
    credential: await bedrock.credential!(bare),
  });
  assert.match(signed.url, /^https:\/\/bedrock-runtime\.eu-central-1\.amazonaws\.com\/model\//);
  assert.match(
    signed.headers.authorization!,
    "Credential=AK/20261121/eu-central-1/bedrock/aws4_request",
  );
  assert.match(
    signed.headers.authorization!,
    "SignedHeaders=content-type;host;x-amz-date;x-amz-security-token",
  );
  assert.is(signed.headers["x-amz-security-token"], "ST");
  const list = bedrock.listModels!.encode({ ...bare, options: {} });
  assert.is(list.url, "https://bedrock.us-west-2.amazonaws.com/foundation-models");
  for (const name of Object.keys(env)) delete env[name];
});

test("a channel that brings its own credentials in a header needs none, and sends none beside them", async () => {
  const chain = async (): Promise<never> => {
    throw new Error("nobody asks AWS's chain");
  };
  for (const more of [
    {},
    { AWS_ACCESS_KEY_ID: "AK", AWS_SECRET_ACCESS_KEY: "SK", AWS_SESSION_TOKEN: "ST" },
  ]) {
    const own = createBedrock({
      env: { AWS_REGION: "us-west-2", ...more },
      now: () => new Date(),
      chain,
    });
    const target = makeTarget({ model, headers: { Authorization: "Custom mine" } });
    delete target.apiKey;
    const credential = await own.credential!(target);
    assert.is(credential, undefined);
    const { headers } = await own.encode({ model: "x", messages: [user] }, target);
    assert.is(headers.authorization, "Custom mine");
    assert.equal(
      Object.keys(headers).filter((name) => name.startsWith("x-amz")),
      [],
    );
  }
});

test("credentials of AWS's default chain are renewed", async () => {
  const target = makeTarget({ model });
  delete target.apiKey;
  let time = Date.parse("2026-11-21T00:00:00Z");
  let fetchCount = 0;
  const chain = async () => ({
    defaultProvider: () => async () => {
      fetchCount++;
      return {
        accessKeyId: `AK${fetchCount}`,
        secretAccessKey: "SK",
        expiration: new Date(time + 3_600_000),
      };
    },
  });
  const own = createBedrock({
    env: { AWS_ACCESS_KEY_ID: "", AWS_SECRET_ACCESS_KEY: "", AWS_BEARER_TOKEN_BEDROCK: "" },
    now: () => new Date(time),
    chain,
  });
  const key = async () => (await own.credential!(target))?.accessKeyId;
  assert.equal(await Promise.all([key(), key()]), ["AK1", "AK1"]);
  time += 3_400_000;
  assert.is(await key(), "AK1", "still good, while another one is fetched");
  await new Promise(setImmediate);
  assert.equal([await key(), fetchCount], ["AK2", 2]);
  const sent = await own.encode(
    { model: "x", messages: [user] },
    { ...target, credential: await own.credential!(target) },
  );
  assert.match(sent.headers.authorization!, "Credential=AK2/20261121/");
  assert.is(sent.headers["x-amz-security-token"], undefined);
});

test("tools and every tool_choice are translated", async () => {
  const tools = [tool];
  const spec = {
    toolSpec: { name: "now", inputSchema: { json: { type: "object", properties: {} } } },
  };
  assert.equal((await encode({ tools })).json.toolConfig, { tools: [spec] });
  const choice = async (tool_choice: unknown, more: Partial<Target> = {}) => {
    const { json, dropped } = await encode({ tools, tool_choice }, more);
    return [json.toolConfig?.toolChoice, dropped];
  };
  assert.equal(await choice("auto"), [{ auto: {} }, []]);
  assert.equal(await choice("required"), [{ any: {} }, []]);
  assert.equal(await choice({ type: "function", function: { name: "now" } }), [
    { tool: { name: "now" } },
    [],
  ]);
  assert.is((await encode({ tools, tool_choice: "none" })).json.toolConfig, undefined);
  const past = [user, { role: "assistant", tool_calls: [call] }, result];
  const none = await encode({ tools, tool_choice: "none", messages: past });
  assert.equal([none.json.toolConfig, none.dropped], [{ tools: [spec] }, ["tool_choice"]]);
  assert.equal((await encode({ messages: past })).json.toolConfig, { tools: [spec] });
  assert.equal(await choice("required", { model: "anthropic.claude-opus-5-5-v1" }), [
    { auto: {} },
    ["tool_choice"],
  ]);
  const single = await encode({ tools, parallel_tool_calls: false });
  assert.equal(single.json.additionalModelRequestFields, {
    tool_choice: { type: "auto", disable_parallel_tool_use: true },
  });
  const nova = await encode(
    { tools, parallel_tool_calls: false },
    { model: "amazon.nova-lite-v1:0" },
  );
  assert.equal(nova.dropped, ["parallel_tool_calls"]);
});

test("calls, results, images and documents", async () => {
  const content = [
    { type: "image_url", image_url: { url: "data:image/jpeg;base64,AAAA" } },
    { type: "image_url", image_url: { url: "http://example.test/a.png" } },
    {
      type: "file",
      file: { filename: "my_file.pdf", file_data: "data:application/pdf;base64,JVBERi0=" },
    },
    { type: "text", text: "So?" },
  ];
  const { json } = await encode({
    messages: [
      user,
      { role: "assistant", content: "Wait", tool_calls: [call] },
      result,
      { role: "user", content },
    ],
  });
  assert.equal(json.messages.slice(1), [
    {
      role: "assistant",
      content: [
        { text: "Wait" },
        { toolUse: { toolUseId: "tooluse_1", name: "now", input: { z: 1 } } },
      ],
    },
    {
      role: "user",
      content: [
        { toolResult: { toolUseId: "tooluse_1", content: [{ text: "noon" }] } },
        { image: { format: "jpeg", source: { bytes: "AAAA" } } },
        {
          image: {
            format: "png",
            source: { bytes: Buffer.from("bytes of http://example.test/a.png").toString("base64") },
          },
        },
        { document: { format: "pdf", name: "my-file", source: { bytes: "JVBERi0=" } } },
        { text: "So?" },
      ],
    },
  ]);
  const audio = { type: "input_audio", input_audio: { data: "AA", format: "wav" } };
  assert.is(
    await refusal({ messages: [{ role: "user", content: [audio] }] }),
    "messages[0].content[0].input_audio",
  );
  assert.is(await refusal({ n: 2 }), "n");
  assert.is(await refusal({ messages: [user, result] }), "messages[1].tool_call_id");
});

test("names of documents become such as Converse accepts", async () => {
  const named = async (filename: string) => {
    const file = { filename, file_data: "data:application/pdf;base64,JVBERi0=" };
    const { json } = await encode({
      messages: [{ role: "user", content: [{ type: "file", file }] }],
    });
    return json.messages[0].content[0].document.name;
  };
  assert.is(await named("my  long\t\tname.pdf"), "my long name");
  assert.ok((await named(`${"n".repeat(300)}.pdf`)).length <= 200);
});

test("structured output and reasoning, by model", async () => {
  const schema = { type: "object", properties: {}, additionalProperties: false };
  const response_format = { type: "json_schema", json_schema: { name: "r", schema } };
  const sent = await encode({ response_format, reasoning_effort: "low" });
  assert.equal(sent.json.outputConfig, {
    textFormat: {
      type: "json_schema",
      structure: { jsonSchema: { schema: JSON.stringify(schema), name: "r" } },
    },
  });
  assert.equal(sent.json.additionalModelRequestFields, {
    thinking: { type: "enabled", budget_tokens: 2048 },
  });
  assert.is(sent.json.inferenceConfig.maxTokens, 64_000);
  const newer = await encode({ reasoning_effort: "max" }, { model: "anthropic.claude-opus-5-v1" });
  assert.is(newer.json.outputConfig.effort, "max");
  const nova = await encode(
    { response_format, reasoning_effort: "low" },
    { model: "amazon.nova-lite-v1:0" },
  );
  assert.match(nova.json.system[0].text, "JSON Schema");
  assert.equal(nova.dropped.sort(), ["reasoning_effort", "response_format.json_schema"]);
  const oss = await encode({ reasoning_effort: "low" }, { model: "openai.gpt-oss-120b-1:0" });
  assert.equal(oss.json.additionalModelRequestFields, { reasoning_effort: "low" });
});

const target = makeTarget({ model });
const sent = await bedrock.encode(
  { model: "x", messages: [user], stream: true, stream_options: { include_usage: true } },
  target,
);
const decode = (response: unknown) =>
  bedrock.decode!(Buffer.from(JSON.stringify(response)), sent, target);
const decoder = () => recode(bedrock, sent, target);
const tokens = {
  inputTokens: 10,
  outputTokens: 5,
  totalTokens: 20,
  cacheReadInputTokens: 3,
  cacheWriteInputTokens: 2,
};
const usage = {
  prompt_tokens: 15,
  completion_tokens: 5,
  total_tokens: 20,
  prompt_tokens_details: { cached_tokens: 3, cache_write_tokens: 2 },
};
const responseWith = (content: unknown[], stopReason: string) => ({
  output: { message: { role: "assistant", content } },
  stopReason,
  usage: tokens,
});

test("a text with what it is taken from is a text", () => {
  const cited = {
    citationsContent: { content: [{ text: "It is " }, { text: "noon" }], citations: [{}] },
  };
  assert.is(
    decode(responseWith([cited, { text: "." }], "end_turn")).choices[0]!.message.content,
    "It is noon.",
  );
});

test("a whole response is decoded, and its signed reasoning is sent back", async () => {
  const whole = decode(
    responseWith(
      [
        { reasoningContent: { reasoningText: { text: "hm", signature: "sig" } } },
        { text: "Wait" },
        { toolUse: { toolUseId: "tooluse_1", name: "now", input: { z: 1 } } },
        { toolUse: { toolUseId: "tooluse_2", name: "now" } },
      ],
      "tool_use",
    ),
  );
  const { message, finish_reason } = whole.choices[0]!;
  assert.equal(
    [whole.id, whole.model, asJson(whole.usage), finish_reason],
    [target.id, model, usage, "tool_calls"],
  );
  assert.equal([message.content, message.reasoning_content], ["Wait", "hm"]);
  assert.equal(
    message.tool_calls!.map((call) => [call.id, call.function?.arguments]),
    [
      ["call_tooluse_1", '{"z":1}'],
      ["call_tooluse_2", "{}"],
    ],
  );
  const second = { role: "tool", tool_call_id: "call_tooluse_2", content: "" };
  const back = await encode({ messages: [user, message, result, second] });
  assert.equal(back.json.messages[1].content[0], {
    reasoningContent: { reasoningText: { text: "hm", signature: "sig" } },
  });
});

test("every stop reason is translated", () => {
  const reasons = {
    end_turn: "stop",
    stop_sequence: "stop",
    max_tokens: "length",
    model_context_window_exceeded: "length",
    guardrail_intervened: "content_filter",
    content_filtered: "content_filter",
  };
  for (const [reason, expected] of Object.entries(reasons)) {
    assert.is(decode(responseWith([{ text: "x" }], reason)).choices[0]!.finish_reason, expected);
    const call = { toolUse: { toolUseId: "tooluse_1", name: "a", input: {} } };
    const called = expected === "stop" ? "tool_calls" : expected;
    assert.is(decode(responseWith([call], reason)).choices[0]!.finish_reason, called);
  }
  for (const reason of ["malformed_model_output", "malformed_tool_use"]) {
    assert.throws(() => decode(responseWith([{ text: "x" }], reason)), isUpstreamError);
  }
  assert.throws(() => decode({ message: "no" }), isUpstreamError);
});

test("errors by the exception's name", () => {
  const kind = (status: number, type: string) =>
    bedrock.error(
      status,
      { "x-amzn-errortype": `${type}:http://internal/` },
      Buffer.from('{"message":"why"}'),
    );
  const kinds: [number, string, string][] = [
    [400, "ValidationException", "request"],
    [400, "ExpiredTokenException", "auth"],
    [403, "AccessDeniedException", "auth"],
    [404, "ResourceNotFoundException", "request"],
    [408, "ModelTimeoutException", "timeout"],
    [424, "ModelErrorException", "upstream"],
    [429, "ThrottlingException", "rate_limit"],
    [429, "ModelNotReadyException", "rate_limit"],
    [500, "InternalServerException", "upstream"],
    [503, "ServiceUnavailableException", "overloaded"],
  ];
  for (const [status, code, expected] of kinds) {
    assert.equal(kind(status, code), { message: "why", kind: expected, code });
  }
  const body = Buffer.from('{"__type":"com.amazon#AccessDeniedException","Message":"no"}');
  assert.equal(bedrock.error(400, {}, body), {
    message: "no",
    kind: "auth",
    code: "AccessDeniedException",
  });
});

const text = (value: string) =>
  event("contentBlockDelta", { contentBlockIndex: 0, delta: { text: value } });
const begin = event("messageStart", { role: "assistant" });
const meta = event("metadata", { usage: tokens, metrics: { latencyMs: 1 } });

test("a stream is decoded alike wherever it is cut", () => {
  const words = ["Hé", 'llo "you"\n', " 😀"];
  const stream = Buffer.concat([
    begin,
    ...words.map(text),
    event("contentBlockStop", { contentBlockIndex: 0 }),
    event("somethingNew", { x: 1 }),
    event("messageStop", { stopReason: "end_turn" }),
    meta,
  ]);
  const chunks = decodeCutAnywhere(decoder, stream);
  assert.equal(chunks[0]!.choices[0]!.delta, { role: "assistant", content: "" });
  assert.is(chunks.map((chunk) => chunk.choices[0]?.delta.content ?? "").join(""), words.join(""));
  assert.is(chunks.at(-2)!.choices[0]!.finish_reason, "stop");
  assert.equal(chunks.at(-1)!.usage, usage);
});

test("parallel calls and reasoning in a stream", () => {
  const delta = (contentBlockIndex: number, value: unknown) =>
    event("contentBlockDelta", { contentBlockIndex, delta: value });
  const start = (contentBlockIndex: number, toolUseId: string) =>
    event("contentBlockStart", {
      contentBlockIndex,
      start: { toolUse: { toolUseId, name: "now" } },
    });
  const stop = (contentBlockIndex: number) => event("contentBlockStop", { contentBlockIndex });
  const stream = Buffer.concat([
    begin,
    delta(0, { reasoningContent: { text: "h" } }),
    delta(0, { reasoningContent: { text: "m" } }),
    delta(0, { reasoningContent: { signature: "sig" } }),
    stop(0),
    start(1, "tooluse_1"),
    delta(1, { toolUse: { input: '{"z"' } }),
    delta(1, { toolUse: { input: ":1}" } }),
    stop(1),
    start(2, "tooluse_2"),
    stop(2),
    event("messageStop", { stopReason: "tool_use" }),
    meta,
  ]);
  const chunks = decodeCutAnywhere(decoder, stream);
  const args: string[] = [];
  for (const part of chunks.flatMap((chunk) => chunk.choices[0]?.delta.tool_calls ?? [])) {
    args[part.index ?? -1] = (args[part.index ?? -1] ?? "") + (part.function?.arguments ?? "");
  }
  assert.equal(args, ['{"z":1}', "{}"]);
  assert.is(chunks.map((chunk) => chunk.choices[0]?.delta.reasoning_content ?? "").join(""), "hm");
  const extra = chunks.map(
    (chunk) =>
      chunk.choices[0]?.delta.extra_content as { portico: { thinking: unknown } } | undefined,
  );
  assert.equal(extra.find(Boolean)?.portico.thinking, [{ text: "hm", signature: "sig" }]);
  assert.is(chunks.at(-2)!.choices[0]!.finish_reason, "tool_calls");
});

test("exceptions, damage and early ends", () => {
  const throttled = (error: unknown) =>
    isUpstreamError(error) && error.status === 429 && error.message === "slow";
  assert.throws(() => decoder().push(exception("throttlingException", "slow")), throttled);
  const late = decoder();
  late.push(Buffer.concat([begin, text("x"), exception("modelStreamErrorException", "broke")]));
  assert.is(late.failure?.status, 502);

  const damaged = Buffer.from(text("hello"));
  damaged[damaged.length - 20]! ^= 1;
  assert.throws(() => decoder().push(damaged), isUpstreamError);
  const badLength = Buffer.from(text("hello"));
  badLength[3]! ^= 1;
  assert.throws(() => decoder().push(badLength), isUpstreamError);

  const cut = decoder();
  cut.push(Buffer.concat([begin, text("x"), text("y").subarray(0, -3)]));
  assert.throws(() => cut.end(), isUpstreamError);
  const stop = event("messageStop", { stopReason: "max_tokens" });
  const chunks = readChunks(decodeAll(decoder(), [Buffer.concat([begin, text("x"), stop])]));
  assert.is(chunks.at(-1)!.choices[0]!.finish_reason, "length");
});

test("the model list is decoded", () => {
  const body = {
    modelSummaries: [
      { modelId: "a", outputModalities: ["TEXT"] },
      { modelId: "b", outputModalities: ["IMAGE"] },
    ],
  };
  assert.equal(bedrock.listModels!.decode(Buffer.from(JSON.stringify(body))), ["a"]);
});

test.run();

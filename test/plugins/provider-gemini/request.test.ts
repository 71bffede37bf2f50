import type { ChatMessage, ChatRequest, Target } from "portico/provider";
import { test } from "../../support/suite.ts";
import * as assert from "uvu/assert";
import { gemini } from "../../../plugins/provider-gemini/wire.ts";
import { makeTarget, refusedParam } from "../../support/target.ts";

const user: ChatMessage = { role: "user", content: "Hi" };

async function encode(request: Partial<ChatRequest>, target: Partial<Target> = {}) {
  const full = { model: "x", messages: [user], ...request };
  const sent = await gemini.encode(full, makeTarget({ model: "gemini-3-flash", ...target }));
  return { ...sent, json: JSON.parse(String(sent.body)) };
}

const weather = {
  type: "function",
  function: {
    name: "weather",
    description: "d",
    parameters: { type: "object", properties: { city: { type: "string" } } },
  },
};

test("a plain request, unary and streamed", async () => {
  const sent = await encode({
    messages: [
      { role: "system", content: "Be brief" },
      user,
      { role: "developer", content: "And kind" },
    ],
    temperature: 1.5,
    top_p: 0.5,
    top_k: 4,
    max_tokens: 7,
    stop: ["a", "b"],
    seed: 3,
    presence_penalty: 0.1,
    frequency_penalty: 0.2,
    n: 1,
    logit_bias: { "1": 1 },
    user: "u",
  });
  assert.is(sent.url, "http://127.0.0.1:1/v1beta/models/gemini-3-flash:generateContent");
  assert.is(sent.headers["x-goog-api-key"], "test-key");
  assert.equal(sent.json, {
    systemInstruction: { parts: [{ text: "Be brief" }, { text: "And kind" }] },
    contents: [{ role: "user", parts: [{ text: "Hi" }] }],
    generationConfig: {
      temperature: 1.5,
      topP: 0.5,
      topK: 4,
      maxOutputTokens: 7,
      stopSequences: ["a", "b"],
      seed: 3,
      presencePenalty: 0.1,
      frequencyPenalty: 0.2,
    },
  });
  assert.equal(sent.dropped.sort(), ["logit_bias", "user"]);
  assert.match((await encode({ stream: true })).url, /:streamGenerateContent\?alt=sse$/);
});

test("Vertex addressing", async () => {
  const options = { project: "p1", location: "europe-west1" };
  const studio = "https://generativelanguage.googleapis.com";
  const sent = await encode({}, { baseUrl: studio, options, apiKey: "token" });
  const path =
    "/v1/projects/p1/locations/europe-west1/publishers/google/models/gemini-3-flash:generateContent";
  assert.is(sent.url, `https://europe-west1-aiplatform.googleapis.com${path}`);
  assert.is(sent.headers.authorization, "Bearer token");
  const global = await encode({}, { baseUrl: studio, options: { project: "p1" } });
  assert.match(
    global.url,
    /^https:\/\/aiplatform\.googleapis\.com\/v1\/projects\/p1\/locations\/global\//,
  );
  assert.is((await encode({}, { baseUrl: "http://own", options })).url, `http://own${path}`);
});

test("tools and every tool_choice are translated", async () => {
  const tools = [
    weather,
    { type: "function", function: { name: "now", parameters: { type: "object", properties: {} } } },
  ];
  const sent = await encode({ tools, parallel_tool_calls: false });
  assert.equal(sent.json.tools, [
    {
      functionDeclarations: [
        { name: "weather", description: "d", parametersJsonSchema: weather.function.parameters },
        { name: "now" },
      ],
    },
  ]);
  assert.equal(sent.dropped, ["parallel_tool_calls"]);
  const choices: [unknown, unknown][] = [
    ["auto", { mode: "AUTO" }],
    ["none", { mode: "NONE" }],
    ["required", { mode: "ANY" }],
    [
      { type: "function", function: { name: "now" } },
      { mode: "ANY", allowedFunctionNames: ["now"] },
    ],
  ];
  for (const [tool_choice, expected] of choices) {
    assert.equal(
      (await encode({ tools, tool_choice })).json.toolConfig.functionCallingConfig,
      expected,
    );
  }
});

test("calls and results: names by id, one user turn, a signature where Gemini 3 wants one", async () => {
  const messages = [
    user,
    {
      role: "assistant",
      tool_calls: [
        {
          id: "call_up1",
          type: "function",
          function: { name: "weather", arguments: '{"city":"Oslo"}' },
        },
        { id: "call_0pabc", type: "function", function: { name: "now", arguments: "" } },
      ],
    },
    { role: "tool", tool_call_id: "call_0pabc", content: "noon" },
    { role: "tool", tool_call_id: "call_up1", content: '{"t":12}' },
    { role: "user", content: "So?" },
  ];
  const { json } = await encode({ messages });
  assert.equal(json.contents.slice(1), [
    {
      role: "model",
      parts: [
        {
          functionCall: { id: "up1", name: "weather", args: { city: "Oslo" } },
          thoughtSignature: "skip_thought_signature_validator",
        },
        { functionCall: { name: "now", args: {} } },
      ],
    },
    {
      role: "user",
      parts: [
        { functionResponse: { name: "now", response: { output: "noon" } } },
        { functionResponse: { id: "up1", name: "weather", response: { output: { t: 12 } } } },
        { text: "So?" },
      ],
    },
  ]);
  const older = await encode({ messages }, { model: "gemini-2.5-flash" });
  assert.is("thoughtSignature" in older.json.contents[1].parts[0], false);
});

test("a signature comes back, but only to where it came from", async () => {
  const target = makeTarget({ model: "gemini-3-flash" });
  const sent = await gemini.encode({ model: "x", messages: [user] }, target);
  const parts = [{ functionCall: { name: "now", args: {} }, thoughtSignature: "sig==" }];
  const body = Buffer.from(
    JSON.stringify({ candidates: [{ content: { parts }, finishReason: "STOP" }] }),
  );
  const message = gemini.decode!(body, sent, target).choices[0]!.message;
  const id = message.tool_calls![0]!.id;
  const messages = [user, message, { role: "tool", tool_call_id: id, content: "noon" }];
  const signature = async (more: Partial<Target>) =>
    (await encode({ messages }, more)).json.contents[1].parts[0].thoughtSignature;
  assert.is(await signature({}), "sig==");
  assert.is(await signature({ model: "gemini-3-pro" }), "skip_thought_signature_validator");
  assert.is(await signature({ apiKey: "another" }), "skip_thought_signature_validator");
});

test("images, files and sound as bytes", async () => {
  const parts = [
    { type: "image_url", image_url: { url: "data:image/png;base64,AAAA" } },
    { type: "image_url", image_url: { url: "http://example.test/a.png" } },
    { type: "file", file: { file_data: "data:application/pdf;base64,JVBERi0=" } },
    { type: "input_audio", input_audio: { data: "UklGRg==", format: "wav" } },
  ];
  const { json } = await encode({ messages: [{ role: "user", content: parts }] });
  const fetched = Buffer.from("bytes of http://example.test/a.png").toString("base64");
  assert.equal(json.contents[0].parts, [
    { inlineData: { mimeType: "image/png", data: "AAAA" } },
    { inlineData: { mimeType: "image/png", data: fetched } },
    { inlineData: { mimeType: "application/pdf", data: "JVBERi0=" } },
    { inlineData: { mimeType: "audio/wav", data: "UklGRg==" } },
  ]);
});

test("structured output", async () => {
  const schema = { type: "object", properties: { a: { type: "integer" } } };
  const response_format = { type: "json_schema", json_schema: { name: "r", schema } };
  const { json } = await encode({ response_format });
  assert.equal(json.generationConfig, {
    responseMimeType: "application/json",
    responseJsonSchema: schema,
  });
  const loose = await encode({ response_format: { type: "json_object" } });
  assert.equal(loose.json.generationConfig, { responseMimeType: "application/json" });
  const both = await encode({ response_format, tools: [weather] }, { model: "gemini-2.5-flash" });
  assert.equal(both.dropped, ["response_format"]);
  assert.is("generationConfig" in both.json, false);
});

test("reasoning_effort by model", async () => {
  const on = async (model: string, reasoning_effort: string) => {
    const { json, dropped } = await encode({ reasoning_effort }, { model });
    return [json.generationConfig?.thinkingConfig, dropped];
  };
  assert.equal(await on("gemini-3-flash", "medium"), [
    { includeThoughts: true, thinkingLevel: "MEDIUM" },
    [],
  ]);
  assert.equal(await on("gemini-3-pro-preview", "medium"), [
    { includeThoughts: true, thinkingLevel: "HIGH" },
    [],
  ]);
  assert.equal(await on("gemini-3-flash", "none"), [
    { thinkingLevel: "MINIMAL" },
    ["reasoning_effort"],
  ]);
  assert.equal(await on("gemini-2.5-flash", "none"), [{ thinkingBudget: 0 }, []]);
  assert.equal(await on("gemini-2.5-flash", "high"), [
    { includeThoughts: true, thinkingBudget: 24_576 },
    [],
  ]);
  assert.equal(await on("gemini-2.5-pro", "none"), [{ thinkingBudget: 128 }, ["reasoning_effort"]]);
  assert.equal(await on("gemini-2.0-flash", "low"), [undefined, ["reasoning_effort"]]);
});

test("more than one choice is refused", async () => {
  for (const n of [2, 8]) assert.is(await refusedParam(encode({ n })), "n");
});

test("orphan results are refused with their path", async () => {
  const messages = [user, { role: "tool", tool_call_id: "x", content: "1" }];
  try {
    await encode({ messages });
    assert.unreachable();
  } catch (error) {
    assert.is((error as { param?: string }).param, "messages[1].tool_call_id");
  }
});

test("the model list is decoded", () => {
  const list = gemini.listModels!;
  assert.is(list.encode(makeTarget()).url, "http://127.0.0.1:1/v1beta/models?pageSize=1000");
  const body = {
    models: [
      { name: "models/gemini-a", supportedGenerationMethods: ["generateContent"] },
      { name: "models/embed", supportedGenerationMethods: ["embedContent"] },
    ],
  };
  assert.equal(list.decode(Buffer.from(JSON.stringify(body))), ["gemini-a"]);
});

test("embeddings", async () => {
  const { embeddings } = gemini;
  const target = makeTarget({ model: "gemini-embedding-001" });
  const sent = await embeddings!.encode({ input: ["a", "b"], dimensions: 2 }, target);
  assert.is(sent.url, "http://127.0.0.1:1/v1beta/models/gemini-embedding-001:batchEmbedContents");
  const [first] = JSON.parse(String(sent.body)).requests;
  assert.equal(first, {
    model: "models/gemini-embedding-001",
    content: { parts: [{ text: "a" }] },
    outputDimensionality: 2,
  });
  const result = embeddings!.decode(
    Buffer.from('{"embeddings":[{"values":[1,2]},{"values":[3,4]}]}'),
    sent,
    target,
  );
  assert.equal(result.data, [
    { object: "embedding", index: 0, embedding: [1, 2] },
    { object: "embedding", index: 1, embedding: [3, 4] },
  ]);
});

test.run();

import OpenAI from "openai";
import { suite } from "../../support/suite.ts";
import * as assert from "uvu/assert";
import { type InProcessGateway, startGateway } from "../../support/gateway.ts";
import {
  chunk,
  completion,
  data,
  hello,
  json,
  startUpstream,
  stream,
  type Upstream,
} from "../../support/upstreams/upstream.ts";

const test = suite("openai package");
let up: Upstream;
let gateway: InProcessGateway;
let client: OpenAI;
const messages: OpenAI.ChatCompletionMessageParam[] = [
  { role: "user", content: "Hello dear world" },
];
const tools: OpenAI.ChatCompletionTool[] = [
  {
    type: "function",
    function: {
      name: "get_weather",
      description: "w",
      parameters: {
        type: "object",
        properties: { city: { type: "string" }, days: { type: "integer", minimum: 1 } },
        required: ["city", "days"],
      },
    },
  },
  { type: "function", function: { name: "other", parameters: { type: "object", properties: {} } } },
];

test.before(async () => {
  up = await startUpstream(
    (request, res) =>
      request.body.stream ? stream(res, ...hello) : json(res, completion("Hello")),
    {
      models: ["gpt-x"],
    },
  );
  gateway = await startGateway({
    config: { channels: { main: { provider: "openai", baseUrl: up.url } } },
  });
  client = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: gateway.token });
});
test.after(async () => {
  await gateway?.stop();
  await up?.close();
});

for (const model of ["echo", "main/gpt-x"]) {
  test(`chats and streams with ${model}`, async () => {
    const response = await client.chat.completions.create({ model, messages });
    const text = model === "echo" ? "Hello dear world" : "Hello";
    assert.is(response.choices[0]?.message.content, text);
    let streamed = "";
    for await (const part of await client.chat.completions.create({
      model,
      messages,
      stream: true,
    }))
      streamed += part.choices[0]?.delta.content ?? "";
    assert.is(streamed, text);
  });
}

test("lists and fetches models", async () => {
  const ids: string[] = [];
  for await (const model of client.models.list()) ids.push(model.id);
  assert.ok(ids.includes("main/gpt-x") && ids.includes("echo"));
  assert.is((await client.models.retrieve("main/gpt-x")).id, "main/gpt-x");
});

test("echo calls tools, whole and streamed, and accepts their results", async () => {
  const ask: OpenAI.ChatCompletionMessageParam[] = [
    { role: "user", content: "Please call get_weather now" },
  ];
  const first = await client.chat.completions.create({ model: "echo", messages: ask, tools });
  assert.is(first.choices[0]?.finish_reason, "tool_calls");
  const call = first.choices[0]?.message
    .tool_calls?.[0] as OpenAI.ChatCompletionMessageFunctionToolCall;
  assert.match(call.id, /^call_/);
  assert.equal(
    [call.type, call.function.name, JSON.parse(call.function.arguments)],
    ["function", "get_weather", { city: "", days: 1 }],
  );
  const streamed = await client.chat.completions
    .stream({ model: "echo", messages: ask, tools })
    .finalChatCompletion();
  assert.equal(
    (streamed.choices[0]?.message.tool_calls?.[0] as typeof call | undefined)?.function.arguments,
    call.function.arguments,
  );
  const result = await client.chat.completions.create({
    model: "echo",
    messages: [
      ...ask,
      first.choices[0]!.message,
      { role: "tool", tool_call_id: call.id, content: "Sunny" },
    ],
    tools,
  });
  assert.equal(
    [result.choices[0]?.message.content, result.choices[0]?.finish_reason],
    ["Sunny", "stop"],
  );
});

test("the usage chunk is sent on request", async () => {
  const chunks = [];
  for await (const part of await client.chat.completions.create({
    model: "echo",
    messages,
    stream: true,
    stream_options: { include_usage: true },
  }))
    chunks.push(part);
  assert.ok(chunks.at(-1)!.usage!.total_tokens > 0);
  assert.equal(chunks.at(-1)!.choices, []);
});

test("errors are raised as the package's own classes", async () => {
  const raised = async (work: Promise<unknown>) =>
    work.then(
      () => undefined,
      (error: unknown) => error,
    );
  assert.instance(
    await raised(client.chat.completions.create({ model: "nope", messages })),
    OpenAI.NotFoundError,
  );
  assert.instance(
    await raised(client.chat.completions.create({ model: "echo", messages, temperature: 3 })),
    OpenAI.BadRequestError,
  );
  assert.instance(
    await raised(
      new OpenAI({
        baseURL: `${gateway.url}/v1`,
        apiKey: "no",
        maxRetries: 0,
      }).chat.completions.create({
        model: "echo",
        messages,
      }),
    ),
    OpenAI.AuthenticationError,
  );
  up.seen.length = 0;
  up.answer = (_, res) => json(res, { error: { message: "down" } }, 500);
  assert.instance(
    await raised(
      client.chat.completions.create({ model: "main/gpt-x", messages }, { maxRetries: 0 }),
    ),
    OpenAI.InternalServerError,
  );
  assert.is(up.seen.length, 3);
});

test("a stream that fails midway raises an error", async () => {
  up.answer = (_, res) =>
    stream(res, hello[0]!, chunk({ content: "x" }), data({ error: { message: "mid" } }));
  let text = "";
  try {
    for await (const part of await client.chat.completions.create({
      model: "main/gpt-x",
      messages,
      stream: true,
    }))
      text += part.choices[0]?.delta.content ?? "";
    assert.unreachable();
  } catch (error) {
    assert.instance(error, OpenAI.APIError);
    assert.match((error as Error).message, "mid");
  }
  assert.is(text, "x");
});

test("a client that leaves a stream aborts the upstream request", async () => {
  let cut: Promise<void> | undefined;
  up.answer = (request, res) => {
    cut = request.cut;
    res.writeHead(200, { "content-type": "text/event-stream" });
    res.write(hello[0]! + hello[1]!);
  };
  for await (const _ of await client.chat.completions.create({
    model: "main/gpt-x",
    messages,
    stream: true,
  }))
    break;
  await cut;
});

test.run();

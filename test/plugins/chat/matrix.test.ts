/** Every provider × everything that a chat can do, through the gateway, with the `openai` package as the client. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import OpenAI from "openai";
import { suite } from "../../support/suite.ts";
import * as assert from "uvu/assert";
import { type InProcessGateway, startGateway } from "../../support/gateway.ts";
import {
  type Dialect,
  dialects,
  type FakeProvider,
  type Problem,
  startProvider,
  TOKENS,
} from "../../support/upstreams/index.ts";

type Messages = OpenAI.ChatCompletionMessageParam[];
type Call = OpenAI.ChatCompletionMessageFunctionToolCall;

const PROBLEMS: readonly Problem[] = ["auth", "request", "rate_limit", "overloaded", "server"];
const ask: Messages = [
  { role: "system", content: "Be brief" },
  { role: "user", content: "Hi" },
];
const weather: OpenAI.ChatCompletionTool = {
  type: "function",
  function: { name: "weather", parameters: { type: "object", properties: { city: { type: "string" } } } },
};
const now: OpenAI.ChatCompletionTool = { type: "function", function: { name: "now" } };
const tools = [weather, now];
const PNG = Buffer.from("\x89PNG\r\n\x1a\n and so on", "latin1");

/** Where a provider has codes of its own, these come to the client; elsewhere ours do. */
const ownCodes: Record<string, { request?: string; rateLimit: string }> = {
  anthropic: { rateLimit: "rate_limit_error" },
  bedrock: { request: "ValidationException", rateLimit: "ThrottlingException" },
  gemini: { request: "INVALID_ARGUMENT", rateLimit: "RESOURCE_EXHAUSTED" },
  mistral: { request: "1", rateLimit: "1" },
};

const images = createServer((_req, res) => res.writeHead(200, { "content-type": "image/png" }).end(PNG));
const fakes = new Map<Dialect, FakeProvider>();
let gateway: InProcessGateway;
let client: OpenAI;
let imageUrl: string;

const test = suite("matrix");

test.before(async () => {
  await new Promise<void>((resolve) => images.listen(0, "127.0.0.1", resolve));
  imageUrl = `http://127.0.0.1:${(images.address() as AddressInfo).port}/a.png`;
  const channels: Record<string, unknown> = {};
  for (const dialect of dialects) {
    const fake = await startProvider(dialect);
    fakes.set(dialect, fake);
    const channel = { ...dialect.channel(fake.root), models: ["*"], maxRetries: 0, allowPrivateImages: true };
    channels[dialect.name] = channel;
    channels[`${dialect.name}-slow`] = { ...channel, timeoutMs: 150 };
    channels[`${dialect.name}-idle`] = { ...channel, idleTimeoutMs: 500 };
    channels[`${dialect.name}-broken`] = channel;
    channels[`${dialect.name}-guarded`] = { ...channel, allowPrivateImages: false };
    // A failure rests the channel: each kind has one of its own.
    for (const problem of PROBLEMS) channels[`${dialect.name}-${problem}`] = channel;
  }
  const by = (name: string) => `${name}/${dialects.find((dialect) => dialect.name === name)?.model}`;
  const models = { any: { targets: ["anthropic", "gemini", "mistral", "bedrock"].map(by), strategy: "fallback" } };
  gateway = await startGateway({ config: { channels, models } });
  client = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: gateway.token, maxRetries: 0 });
});

test.after(async () => {
  await gateway?.stop();
  for (const fake of fakes.values()) await fake.close();
  images.closeAllConnections();
  images.close();
});

type Ask = Partial<OpenAI.ChatCompletionCreateParamsNonStreaming>;

function requestOf(dialect: Dialect, more: Ask, channel = dialect.name) {
  return { model: `${channel}/${dialect.model}`, messages: ask, ...more };
}

const whole = (dialect: Dialect, more: Ask = {}) => client.chat.completions.create(requestOf(dialect, more));

/** A stream put together again; it must keep the rules of every stream. */
async function streamed(dialect: Dialect, more: Ask = {}, channel = dialect.name) {
  const stream = await client.chat.completions.create({ ...requestOf(dialect, more, channel), stream: true });
  const chunks: OpenAI.ChatCompletionChunk[] = [];
  for await (const chunk of stream) chunks.push(chunk);
  const { id, created, model } = chunks[0] ?? {};
  assert.is(chunks[0]?.choices[0]?.delta.role, "assistant", "the role comes first");
  for (const chunk of chunks) assert.equal([chunk.id, chunk.created, chunk.model], [id, created, model]);
  const deltas = chunks.flatMap((chunk) => chunk.choices[0]?.delta ?? []);
  const calls: { id?: string; name?: string; args: string }[] = [];
  for (const part of deltas.flatMap((delta) => delta.tool_calls ?? [])) {
    calls[part.index] ??= { args: "" };
    const call = calls[part.index] as (typeof calls)[number];
    if (part.id) call.id = part.id;
    if (part.function?.name) call.name = part.function.name;
    call.args += part.function?.arguments ?? "";
  }
  const finishes = chunks.flatMap((chunk) => chunk.choices.flatMap((choice) => choice.finish_reason ?? []));
  assert.is(finishes.length, 1, "one finish reason");
  return {
    id,
    model,
    text: deltas.map((delta) => delta.content ?? "").join(""),
    reasoning: deltas.map((delta) => (delta as { reasoning_content?: string }).reasoning_content ?? "").join(""),
    calls,
    finish: finishes[0],
    usage: chunks.filter((chunk) => chunk.usage).map((chunk) => chunk.usage),
  };
}

/** The error of a call that must fail. */
async function failure(attempt: Promise<unknown>): Promise<InstanceType<typeof OpenAI.APIError>> {
  const error = await attempt.then(
    () => assert.unreachable("did not fail"),
    (reason: unknown) => reason,
  );
  assert.instance(error, OpenAI.APIError);
  return error as InstanceType<typeof OpenAI.APIError>;
}

for (const dialect of dialects) {
  const name = (what: string) => `${dialect.name}: ${what}`;
  const fake = () => fakes.get(dialect) as FakeProvider;
  const view = () => {
    const last = fake().views.at(-1);
    if (last === undefined) throw new Error("nothing came");
    return last;
  };

  test(name("unary"), async () => {
    fake().next = { answer: { text: ["Hello ", "you"], reasoning: "hm" } };
    const { data, response } = await client.chat.completions
      .create(requestOf(dialect, { max_tokens: 50, temperature: 0.5, stop: ["END"] }))
      .withResponse();
    const [choice] = data.choices;
    assert.is(choice?.message.content, "Hello you");
    assert.is((choice?.message as { reasoning_content?: string } | undefined)?.reasoning_content, "hm");
    assert.is(choice?.finish_reason, "stop");
    assert.match(data.id, /^chatcmpl-/);
    // Bedrock's answers do not say which model they are of.
    assert.is(data.model, dialect.name === "bedrock" ? dialect.model : "real-model");
    assert.equal(
      [data.usage?.prompt_tokens, data.usage?.completion_tokens, data.usage?.total_tokens],
      [TOKENS.prompt, TOKENS.completion, TOKENS.prompt + TOKENS.completion],
    );
    if (dialect.name !== "ollama") assert.is(data.usage?.prompt_tokens_details?.cached_tokens, TOKENS.cached);
    assert.is(response.headers.get("x-portico-channel"), dialect.name);
    const { model, stream, system, turns, maxTokens, temperature, stop } = view();
    assert.equal([model, stream, system], [dialect.model, false, "Be brief"]);
    assert.equal(
      turns.map((turn) => [turn.role, turn.text]),
      [["user", "Hi"]],
    );
    assert.equal([maxTokens, temperature, stop], [50, 0.5, ["END"]]);
  });

  test(name("stream"), async () => {
    const words = ["Hé", 'llo "you"', "\n\\", " 😀"];
    fake().next = { answer: { text: words, reasoning: "hm" } };
    const answer = await streamed(dialect, { stream_options: { include_usage: true } } as Ask);
    assert.equal([answer.text, answer.reasoning, answer.finish], [words.join(""), "hm", "stop"]);
    assert.equal(
      answer.usage.map((usage) => [usage?.prompt_tokens, usage?.completion_tokens]),
      [[TOKENS.prompt, TOKENS.completion]],
    );
    assert.is(view().stream, true);
    assert.equal((await streamed(dialect)).usage, [], "usage is told only to those who ask");
  });

  test(name("finish reasons"), async () => {
    fake().next = { answer: { text: ["x"], finish: "length" } };
    assert.is((await whole(dialect)).choices[0]?.finish_reason, "length");
    assert.is((await streamed(dialect)).finish, "length");
    if (["ollama", "mistral"].includes(dialect.name)) return;
    fake().next = { answer: { text: ["x"], finish: "filter" } };
    assert.is((await whole(dialect)).choices[0]?.finish_reason, "content_filter");
    assert.is((await streamed(dialect)).finish, "content_filter");
  });

  test(name("tools and every tool_choice"), async () => {
    fake().next = { answer: { calls: [{ id: "abcdefgh1", name: "weather", args: { city: "Oslo" } }] } };
    const answer = await whole(dialect, { tools });
    assert.is(answer.choices[0]?.finish_reason, "tool_calls");
    assert.is(answer.choices[0]?.message.content, null);
    assert.equal(view().tools, ["weather", "now"]);
    const choices: [OpenAI.ChatCompletionToolChoiceOption, string[], string | undefined][] = [
      ["auto", ["weather", "now"], "auto"],
      ["required", ["weather", "now"], "required"],
      [{ type: "function", function: { name: "now" } }, ["weather", "now"], "[now]"],
      ["none", ["weather", "now"], "none"],
    ];
    for (const [tool_choice, names, choice] of choices) {
      await whole(dialect, { tools, tool_choice });
      if (dialect.name === "ollama") {
        const sent = { none: [], auto: names, required: names }[String(tool_choice)] ?? ["now"];
        assert.equal(view().tools, sent);
      } else if (dialect.name === "bedrock" && tool_choice === "none") {
        assert.equal(view().tools, []);
      } else {
        assert.equal([view().tools, view().choice], [names, choice]);
      }
    }
  });

  test(name("parallel tools, and their results on the way back"), async () => {
    const calls = [
      { id: "abcdefgh1", name: "weather", args: { city: "Oslo" } },
      { id: "abcdefgh2", name: "weather", args: { city: "Rome" } },
      { id: "abcdefgh3", name: "now" },
    ];
    fake().next = { answer: { text: ["Wait"], reasoning: "hm", calls } };
    const first = await whole(dialect, { tools });
    const message = first.choices[0]?.message as OpenAI.ChatCompletionMessage;
    const asked = message.tool_calls as Call[];
    const expected = calls.map((call) => [call.name, call.args ?? {}]);
    assert.equal(
      asked.map((call) => [call.function.name, JSON.parse(call.function.arguments)]),
      expected,
    );
    if (dialect.clientId) {
      assert.equal(
        asked.map((call) => call.id),
        calls.map((call) => dialect.clientId?.(call.id)),
      );
    }
    assert.is(new Set(asked.map((call) => call.id)).size, 3);
    for (const call of asked) assert.ok(call.id.length <= 40, "longer ids are refused by OpenAI");

    const again = await streamed(dialect, { tools });
    assert.equal(
      again.calls.map((call) => [call.name, JSON.parse(call.args)]),
      expected,
    );
    assert.equal([again.text, again.finish], ["Wait", "tool_calls"]);
    for (const call of again.calls) assert.match(call.id ?? "", dialect.clientId?.("x") === "x" ? /./ : /^call_/);

    fake().next = { answer: { text: ["Done"] } };
    const results = asked.map((call, i) => ({ role: "tool" as const, tool_call_id: call.id, content: `result ${i}` }));
    const second = await whole(dialect, {
      tools,
      messages: [...ask, message, ...results, { role: "user", content: "So?" }],
    });
    assert.is(second.choices[0]?.message.content, "Done");
    const turns = view().turns;
    assert.equal(
      turns.flatMap((turn) => turn.calls.map((call) => [call.name, call.args])),
      expected,
    );
    const answered = turns.flatMap((turn) => turn.results);
    assert.equal(
      answered.map((one) => one.text),
      ["result 0", "result 1", "result 2"],
    );
    const ids = turns.flatMap((turn) => turn.calls.map((call) => call.id));
    assert.equal(
      answered.map((one) => one.id),
      ids,
    );
    if (dialect.name === "openai" || dialect.name === "azure") return;
    const orphan = await failure(
      whole(dialect, { messages: [...ask, { role: "tool", tool_call_id: "x", content: "" }] }),
    );
    assert.equal([orphan.status, orphan.param], [400, "messages[2].tool_call_id"]);
    const missing = await failure(whole(dialect, { messages: [...ask, message, ...results.slice(1)] }));
    assert.equal([missing.status, missing.param], [400, "messages[2].tool_calls[0]"]);
  });

  test(name("images"), async () => {
    fake().next = { answer: { text: ["A cat"] } };
    const parts: OpenAI.ChatCompletionContentPart[] = [
      { type: "text", text: "What?" },
      { type: "image_url", image_url: { url: `data:image/png;base64,${PNG.toString("base64")}` } },
      { type: "image_url", image_url: { url: imageUrl } },
    ];
    await whole(dialect, { messages: [{ role: "user", content: parts }] });
    const takesUrls = ["openai", "azure", "anthropic", "mistral"].includes(dialect.name);
    const bytes = PNG.toString("base64");
    assert.equal(view().turns[0]?.images, [bytes, takesUrls ? imageUrl : bytes]);
    if (!takesUrls) {
      // Without leave, private addresses are not fetched from.
      const messages: Messages = [{ role: "user", content: parts }];
      const attempt = client.chat.completions.create({
        ...requestOf(dialect, {}, `${dialect.name}-guarded`),
        messages,
      });
      const refused = await failure(attempt);
      assert.equal([refused.status, refused.param], [400, "messages[0].content[2].image_url.url"]);
    }
    if (takesUrls && dialect.name !== "anthropic") return;
    const audio = { type: "input_audio" as const, input_audio: { data: "AAAA", format: "wav" as const } };
    if (dialect.name !== "gemini") {
      const refused = await failure(whole(dialect, { messages: [{ role: "user", content: [audio] }] }));
      assert.equal([refused.status, refused.param], [400, "messages[0].content[0].input_audio"]);
    }
  });

  test(name("structured output"), async () => {
    fake().next = { answer: { text: ['{"a":1}'] } };
    const schema = {
      type: "object",
      properties: { a: { type: "integer" } },
      required: ["a"],
      additionalProperties: false,
    };
    const response_format = { type: "json_schema" as const, json_schema: { name: "r", schema, strict: true } };
    const answer = await whole(dialect, { response_format });
    assert.is(answer.choices[0]?.message.content, '{"a":1}');
    assert.equal(view().schema, schema);
    await whole(dialect, { response_format: { type: "json_object" } });
  });

  test(name("what has no place is dropped by name, or refused"), async () => {
    fake().next = { answer: { text: ["x"] } };
    const { response } = await client.chat.completions
      .create(requestOf(dialect, { logit_bias: { "5": 1 }, seed: null, tools: undefined }))
      .withResponse();
    const openAiLike = dialect.name === "openai" || dialect.name === "azure";
    assert.is(response.headers.get("x-portico-dropped"), openAiLike ? null : "logit_bias");
    if (openAiLike || dialect.name === "gemini" || dialect.name === "mistral") return;
    const refused = await failure(whole(dialect, { n: 2 }));
    assert.equal([refused.status, refused.param], [400, "n"]);
  });

  test(name("errors"), async () => {
    const { request = "invalid_request_error", rateLimit = "rate_limit_exceeded" } = ownCodes[dialect.name] ?? {};
    const expected: Record<Problem, [number, string]> = {
      auth: [502, "upstream_auth"],
      request: [400, request],
      rate_limit: [429, rateLimit],
      overloaded: [503, "upstream_error"],
      server: [502, "upstream_error"],
    };
    for (const problem of PROBLEMS) {
      fake().next = { refuse: problem };
      const channel = `${dialect.name}-${problem}`;
      for (const stream of [false, true]) {
        const attempt = client.chat.completions.create({ ...requestOf(dialect, {}, channel), stream });
        const error = await failure(attempt as Promise<unknown>);
        const [status, code] = expected[problem];
        assert.is(error.status, status, `${problem} is ${error.status}`);
        assert.match(error.message, `why ${problem}`);
        assert.is(error.code, code);
        assert.not.match(error.message, "secret");
        if (problem === "rate_limit") assert.is(error.headers?.get("retry-after"), "30");
      }
    }
  });

  test(name("failures inside a stream"), async () => {
    for (const broken of ["error event", "cut"] as const) {
      fake().next = { broken, script: { text: ["Hello", " you"] } };
      const stream = await client.chat.completions.create({
        ...requestOf(dialect, {}, `${dialect.name}-broken`),
        stream: true,
      });
      let text = "";
      const error = await failure(
        (async () => {
          for await (const chunk of stream) text += chunk.choices[0]?.delta.content ?? "";
        })(),
      );
      assert.is(text, "Hello you", broken);
      if (broken === "error event") assert.match(error.message, "it broke");
    }
    fake().next = { broken: "after finish", script: { text: ["Hello"] } };
    const answer = await streamed(dialect, {}, `${dialect.name}-broken`);
    assert.equal([answer.text, answer.finish], ["Hello", "stop"]);
  });

  test(name("time-outs"), async () => {
    for (const silent of ["at once", "after headers"] as const) {
      fake().next = { silent };
      for (const stream of [false, true]) {
        const attempt = client.chat.completions.create({ ...requestOf(dialect, {}, `${dialect.name}-slow`), stream });
        const error = await failure(attempt as Promise<unknown>);
        assert.equal([error.status, error.code], [504, "upstream_timeout"]);
      }
    }
    fake().next = { endless: "Hello" };
    const stream = await client.chat.completions.create({
      ...requestOf(dialect, {}, `${dialect.name}-idle`),
      stream: true,
    });
    let text = "";
    await failure(
      (async () => {
        for await (const chunk of stream) text += chunk.choices[0]?.delta.content ?? "";
      })(),
    );
    assert.is(text, "HelloHello");
  });

  test(name("a client that leaves takes the upstream along"), async () => {
    fake().next = { endless: "Hello" };
    const stream = await client.chat.completions.create({ ...requestOf(dialect, {}), stream: true });
    for await (const chunk of stream) if (chunk.choices[0]?.delta.content) break;
    await fake().left;

    fake().next = { silent: "after headers" };
    const before = fake().seen.length;
    const leaving = new AbortController();
    const attempt = client.chat.completions.create(requestOf(dialect, {}), { signal: leaving.signal });
    const settled = attempt.then(
      () => "answered",
      () => "left",
    );
    while (fake().seen.length === before) await new Promise((resolve) => setImmediate(resolve));
    leaving.abort();
    assert.is(await settled, "left");
    await fake().left;
  });
}

test("a conversation with signed reasoning fails over, and every next provider takes it", async () => {
  const fakeOf = (name: string) =>
    fakes.get(dialects.find((dialect) => dialect.name === name) as Dialect) as FakeProvider;
  const names = ["anthropic", "gemini", "mistral", "bedrock"];
  let messages: Messages = ask;
  for (const [i, name] of names.entries()) {
    for (const before of names.slice(0, i)) fakeOf(before).next = { refuse: "overloaded" };
    fakeOf(name).next = { answer: { reasoning: "hm", calls: [{ id: `abcdefgh${i}`, name: "now" }] } };
    const { data, response } = await client.chat.completions
      .create({ model: "any", messages, tools, reasoning_effort: "low" })
      .withResponse();
    assert.is(response.headers.get("x-portico-channel"), name);
    const message = data.choices[0]?.message as OpenAI.ChatCompletionMessage;
    const call = message.tool_calls?.[0] as Call;
    messages = [...messages, message, { role: "tool", tool_call_id: call.id, content: `noon in ${name}` }];
    const results = fakeOf(name)
      .views.at(-1)
      ?.turns.flatMap((turn) => turn.results.map((one) => one.text));
    assert.equal(
      results,
      names.slice(0, i).map((one) => `noon in ${one}`),
    );
    const raw = JSON.stringify(fakeOf(name).seen.at(-1)?.body);
    assert.not.match(raw, /"signed"/, "a signature of another provider");
  }
});

test.run();

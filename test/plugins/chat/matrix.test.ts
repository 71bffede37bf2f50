/** Every provider × everything that a chat can do, through the gateway, with the `openai` package as the client. */
import type OpenAI from "openai";
import { suite } from "../../support/suite.ts";
import * as assert from "uvu/assert";
import {
  type Dialect,
  dialects,
  type FakeProvider,
  TOKENS,
} from "../../support/upstreams/index.ts";
import {
  type Ask,
  type Call,
  type Messages,
  ask,
  client,
  failure,
  fakes,
  imageUrl,
  onScene,
  PNG,
  requestOf,
  streamed,
  whole,
} from "./matrix-scene.ts";

const test = suite("matrix");
onScene(test);

const weather: OpenAI.ChatCompletionTool = {
  type: "function",
  function: {
    name: "weather",
    parameters: { type: "object", properties: { city: { type: "string" } } },
  },
};
const now: OpenAI.ChatCompletionTool = { type: "function", function: { name: "now" } };
const tools = [weather, now];

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
    assert.is(
      (choice?.message as { reasoning_content?: string } | undefined)?.reasoning_content,
      "hm",
    );
    assert.is(choice?.finish_reason, "stop");
    assert.match(data.id, /^chatcmpl-/);
    // Bedrock's answers do not say which model they are of.
    assert.is(data.model, dialect.name === "bedrock" ? dialect.model : "real-model");
    assert.equal(
      [data.usage?.prompt_tokens, data.usage?.completion_tokens, data.usage?.total_tokens],
      [TOKENS.prompt, TOKENS.completion, TOKENS.prompt + TOKENS.completion],
    );
    if (dialect.name !== "ollama")
      assert.is(data.usage?.prompt_tokens_details?.cached_tokens, TOKENS.cached);
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
    const response = await streamed(dialect, { stream_options: { include_usage: true } } as Ask);
    assert.equal(
      [response.text, response.reasoning, response.finish],
      [words.join(""), "hm", "stop"],
    );
    assert.equal(
      response.usage.map((usage) => [usage?.prompt_tokens, usage?.completion_tokens]),
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
    fake().next = {
      answer: { calls: [{ id: "abcdefgh1", name: "weather", args: { city: "Oslo" } }] },
    };
    const response = await whole(dialect, { tools });
    assert.is(response.choices[0]?.finish_reason, "tool_calls");
    assert.is(response.choices[0]?.message.content, null);
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
    const receivedCalls = message.tool_calls as Call[];
    const expected = calls.map((call) => [call.name, call.args ?? {}]);
    assert.equal(
      receivedCalls.map((call) => [call.function.name, JSON.parse(call.function.arguments)]),
      expected,
    );
    if (dialect.clientId) {
      assert.equal(
        receivedCalls.map((call) => call.id),
        calls.map((call) => dialect.clientId?.(call.id)),
      );
    }
    assert.is(new Set(receivedCalls.map((call) => call.id)).size, 3);
    for (const call of receivedCalls)
      assert.ok(call.id.length <= 40, "longer ids are refused by OpenAI");

    const again = await streamed(dialect, { tools });
    assert.equal(
      again.calls.map((call) => [call.name, JSON.parse(call.args)]),
      expected,
    );
    assert.equal([again.text, again.finish], ["Wait", "tool_calls"]);
    for (const call of again.calls)
      assert.match(call.id ?? "", dialect.clientId?.("x") === "x" ? /./ : /^call_/);

    fake().next = { answer: { text: ["Done"] } };
    const results = receivedCalls.map((call, i) => ({
      role: "tool" as const,
      tool_call_id: call.id,
      content: `result ${i}`,
    }));
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
    const receivedResults = turns.flatMap((turn) => turn.results);
    assert.equal(
      receivedResults.map((result) => result.text),
      ["result 0", "result 1", "result 2"],
    );
    const ids = turns.flatMap((turn) => turn.calls.map((call) => call.id));
    assert.equal(
      receivedResults.map((result) => result.id),
      ids,
    );
    if (dialect.name === "openai" || dialect.name === "azure") return;
    const orphan = await failure(
      whole(dialect, { messages: [...ask, { role: "tool", tool_call_id: "x", content: "" }] }),
    );
    assert.equal([orphan.status, orphan.param], [400, "messages[2].tool_call_id"]);
    const missing = await failure(
      whole(dialect, { messages: [...ask, message, ...results.slice(1)] }),
    );
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
    const audio = {
      type: "input_audio" as const,
      input_audio: { data: "AAAA", format: "wav" as const },
    };
    if (dialect.name !== "gemini") {
      const refused = await failure(
        whole(dialect, { messages: [{ role: "user", content: [audio] }] }),
      );
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
    const response_format = {
      type: "json_schema" as const,
      json_schema: { name: "r", schema, strict: true },
    };
    const response = await whole(dialect, { response_format });
    assert.is(response.choices[0]?.message.content, '{"a":1}');
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
}

test("a conversation with signed reasoning falls back to another provider, and every provider accepts it", async () => {
  const fakeOf = (name: string) =>
    fakes.get(dialects.find((dialect) => dialect.name === name) as Dialect) as FakeProvider;
  const names = ["anthropic", "gemini", "mistral", "bedrock"];
  let messages: Messages = ask;
  for (const [i, name] of names.entries()) {
    for (const before of names.slice(0, i)) fakeOf(before).next = { refuse: "overloaded" };
    fakeOf(name).next = {
      answer: { reasoning: "hm", calls: [{ id: `abcdefgh${i}`, name: "now" }] },
    };
    const { data, response } = await client.chat.completions
      .create({ model: "any", messages, tools, reasoning_effort: "low" })
      .withResponse();
    assert.is(response.headers.get("x-portico-channel"), name);
    const message = data.choices[0]?.message as OpenAI.ChatCompletionMessage;
    const call = message.tool_calls?.[0] as Call;
    messages = [
      ...messages,
      message,
      { role: "tool", tool_call_id: call.id, content: `noon in ${name}` },
    ];
    const results = fakeOf(name)
      .views.at(-1)
      ?.turns.flatMap((turn) => turn.results.map((result) => result.text));
    assert.equal(
      results,
      names.slice(0, i).map((providerName) => `noon in ${providerName}`),
    );
    const raw = JSON.stringify(fakeOf(name).seen.at(-1)?.body);
    assert.not.match(raw, /"signed"/, "a signature of another provider");
  }
});

test.run();

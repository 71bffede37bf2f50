/** The package `openai`, by chat completions or by the Responses API. */
import OpenAI from "openai";
import {
  assert,
  cityTool,
  model,
  raised,
  run,
  token,
  tokens,
  unknownModel,
  url,
  wayIn,
} from "./support.mjs";

const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: token, maxRetries: 0 });
const isChat = wayIn === "/v1/chat/completions";
const user = (content) => ({ role: "user", content });
const weather = { name: "get_weather", description: "The weather", parameters: cityTool };
const resultOf = (text) => `sunny in ${JSON.parse(text).city}`;
const SUNNY = "sunny in Rome and sunny in Oslo";

const chat = {
  ask: (text, more) => client.chat.completions.create({ model, messages: [user(text)], ...more }),
  async whole() {
    const { choices, usage } = await chat.ask("Say hello");
    assert.equal(choices[0].message.content, "Hello");
    assert.equal(usage.prompt_tokens_details.cached_tokens, tokens.cached);
    assert.deepEqual(
      [usage.prompt_tokens, usage.completion_tokens],
      [tokens.prompt, tokens.completion],
    );
  },
  async streamed() {
    const stream = client.chat.completions.stream({
      model,
      messages: [user("Say hello")],
      stream_options: { include_usage: true },
    });
    assert.equal(await stream.finalContent(), "Hello");
    const usage = await stream.totalUsage();
    assert.deepEqual(
      [usage.prompt_tokens, usage.completion_tokens],
      [tokens.prompt, tokens.completion],
    );
  },
  async tools(stream) {
    const runner = client.chat.completions.runTools({
      model,
      stream,
      messages: [user("The weather?")],
      tools: [
        {
          type: "function",
          function: { ...weather, parse: JSON.parse, function: ({ city }) => `sunny in ${city}` },
        },
      ],
    });
    assert.equal(await runner.finalContent(), SUNNY);
    const results = runner.messages.filter(({ role }) => role === "tool");
    assert.deepEqual(
      results.map(({ content }) => content),
      ["sunny in Rome", "sunny in Oslo"],
    );
  },
};

const responses = {
  ask: (text, more) => client.responses.create({ model, input: text, ...more }),
  async whole() {
    const { output_text: text, usage } = await responses.ask("Say hello");
    assert.equal(text, "Hello");
    assert.equal(usage.input_tokens_details.cached_tokens, tokens.cached);
    assert.deepEqual([usage.input_tokens, usage.output_tokens], [tokens.prompt, tokens.completion]);
  },
  async streamed() {
    const { output_text: text, usage } = await client.responses
      .stream({ model, input: "Say hello" })
      .finalResponse();
    assert.equal(text, "Hello");
    assert.deepEqual([usage.input_tokens, usage.output_tokens], [tokens.prompt, tokens.completion]);
  },
  async tools(stream) {
    const request = { model, tools: [{ type: "function", strict: false, ...weather }] };
    const question = { ...request, input: [user("The weather?")] };
    const { id, output } = stream
      ? await client.responses.stream(question).finalResponse()
      : await client.responses.create(question);
    const calls = output.filter(({ type }) => type === "function_call");
    assert.equal(calls.length, 2);
    const input = calls.map((call) => ({
      type: "function_call_output",
      call_id: call.call_id,
      output: resultOf(call.arguments),
    }));
    const done = await client.responses.create({ ...request, input, previous_response_id: id });
    assert.equal(done.output_text, SUNNY);
  },
};

const way = isChat ? chat : responses;

async function eachWay(text, more, check) {
  for (const stream of [false, true]) check(await raised(() => way.ask(text, { ...more, stream })));
}

await run({
  whole: way.whole,
  streamed: way.streamed,
  "two calls, whole": () => way.tools(false),
  "two calls, streamed": () => way.tools(true),
  "unknown model": () =>
    eachWay("hi", { model: unknownModel }, (error) => {
      assert.ok(error instanceof OpenAI.NotFoundError);
      assert.ok(error.code);
    }),
  "context length": () =>
    eachWay("context length", {}, (error) => {
      assert.ok(error instanceof OpenAI.BadRequestError);
      assert.equal(error.code, "context_length_exceeded");
    }),
  "rate limit": () =>
    eachWay("rate limit", {}, (error) => {
      assert.ok(error instanceof OpenAI.RateLimitError);
      assert.ok(error.headers.get("retry-after"));
    }),
  async models() {
    const ids =
      (await Array.fromAsync?.(client.models.list())) ?? (await client.models.list()).data;
    assert.ok(ids.some(({ id }) => id === "echo"));
    assert.equal((await client.models.retrieve(model)).id, model);
  },
});

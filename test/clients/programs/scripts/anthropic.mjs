/** The package `@anthropic-ai/sdk`, with its tool runner. */
import Anthropic from "@anthropic-ai/sdk";
import { betaZodTool } from "@anthropic-ai/sdk/helpers/beta/zod";
import { z } from "zod";
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
} from "./support.mjs";

const client = new Anthropic({ baseURL: url, apiKey: token, maxRetries: 0 });
const tool = { name: "get_weather", description: "The weather", input_schema: cityTool };
const SUNNY = "sunny in Rome and sunny in Oslo";

function asking(content, more) {
  return { model, max_tokens: 100, messages: [{ role: "user", content }], ...more };
}

function checkUsage(usage) {
  assert.equal(usage.cache_read_input_tokens, tokens.cached);
  assert.equal(usage.input_tokens + usage.cache_read_input_tokens, tokens.prompt);
  assert.equal(usage.output_tokens, tokens.completion);
}

async function twoCalls(streams) {
  const request = asking("The weather?", { tools: [tool] });
  const message = streams
    ? await client.messages.stream(request).finalMessage()
    : await client.messages.create(request);
  const uses = message.content.filter(({ type }) => type === "tool_use");
  assert.deepEqual(
    uses.map(({ input }) => input),
    [{ city: "Rome" }, { city: "Oslo" }],
  );
  const content = uses.map(({ id, input }) => ({
    type: "tool_result",
    tool_use_id: id,
    content: `sunny in ${input.city}`,
  }));
  request.messages.push({ role: "assistant", content: message.content }, { role: "user", content });
  assert.equal((await client.messages.create(request)).content[0].text, SUNNY);
}

async function runTools(stream) {
  const weather = betaZodTool({
    name: "get_weather",
    description: "The weather",
    inputSchema: z.object({ city: z.string() }),
    run: ({ city }) => `sunny in ${city}`,
  });
  const runner = client.beta.messages.toolRunner(
    asking("The weather?", { tools: [weather], stream }),
  );
  assert.equal((await runner.runUntilDone()).content[0].text, SUNNY);
}

async function eachWay(request, check) {
  for (const stream of [false, true])
    check(await raised(() => client.messages.create({ ...request, stream })));
}

await run({
  async whole() {
    const message = await client.messages.create(asking("Say hello"));
    assert.deepEqual([message.content[0].text, message.model], ["Hello", model]);
    checkUsage(message.usage);
  },
  async streamed() {
    const message = await client.messages.stream(asking("Say hello")).finalMessage();
    assert.deepEqual([message.content[0].text, message.model], ["Hello", model]);
    checkUsage(message.usage);
  },
  "two calls, whole": () => twoCalls(false),
  "two calls, streamed": () => twoCalls(true),
  "toolRunner, whole": () => runTools(false),
  "toolRunner, streamed": () => runTools(true),
  async "count tokens"() {
    const { messages } = asking("Say hello");
    assert.ok((await client.messages.countTokens({ model, messages })).input_tokens > 0);
  },
  "unknown model": () =>
    eachWay(asking("hi", { model: unknownModel }), (error) => {
      assert.ok(error instanceof Anthropic.NotFoundError);
      assert.equal(error.error.error.type, "not_found_error");
    }),
  "context length": () =>
    eachWay(asking("context length"), (error) => {
      assert.ok(error instanceof Anthropic.BadRequestError);
      assert.match(error.error.error.message, /^prompt is too long: \d+ tokens > \d+ maximum/);
    }),
  "rate limit": () =>
    eachWay(asking("rate limit"), (error) => assert.ok(error instanceof Anthropic.RateLimitError)),
  async models() {
    const { data } = await client.models.list();
    assert.ok(data.some(({ id }) => id === "echo"));
  },
});

/** The AI SDK with its providers for OpenAI-compatible servers, for OpenAI (Responses) and for Anthropic. */
import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { APICallError, generateText, stepCountIs, streamText, tool } from "ai";
import { z } from "zod";
import { assert, model, raised, run, token, tokens, unknownModel, url, wayIn } from "./support.mjs";

const account = { baseURL: `${url}/v1`, apiKey: token };
const provider = {
  "/v1/chat/completions": () =>
    createOpenAICompatible({ ...account, name: "portico", includeUsage: true }),
  "/v1/responses": () => createOpenAI(account).responses,
  "/v1/messages": () => createAnthropic(account),
}[wayIn]();
const SUNNY = "sunny in Rome and sunny in Oslo";
const tools = {
  get_weather: tool({
    description: "The weather",
    inputSchema: z.object({ city: z.string() }),
    execute: ({ city }) => `sunny in ${city}`,
  }),
};

function asking(prompt, more) {
  return { model: provider(model), prompt, maxRetries: 0, stopWhen: stepCountIs(3), ...more };
}

function checkUsage(usage) {
  assert.deepEqual([usage.inputTokens, usage.outputTokens], [tokens.prompt, tokens.completion]);
  assert.equal(usage.inputTokenDetails.cacheReadTokens, tokens.cached);
}

/** Checks the error of a refused request, whole and streamed. */
async function refusals(prompt, more, check) {
  check(await raised(() => generateText(asking(prompt, more))));
  const errors = [];
  const { fullStream } = streamText(asking(prompt, { ...more, onError() {} }));
  for await (const part of fullStream) if (part.type === "error") errors.push(part.error);
  check(errors[0]);
}

function checkCall(error, status, words) {
  assert.ok(APICallError.isInstance(error), String(error));
  assert.equal(error.statusCode, status);
  assert.match(error.responseBody, words);
}

const isMessages = wayIn === "/v1/messages";

await run({
  async whole() {
    const { text, usage, finishReason } = await generateText(asking("Say hello"));
    assert.deepEqual([text, finishReason], ["Hello", "stop"]);
    checkUsage(usage);
  },
  async streamed() {
    const { textStream, usage } = streamText(asking("Say hello"));
    let text = "";
    for await (const part of textStream) text += part;
    assert.equal(text, "Hello");
    checkUsage(await usage);
  },
  async "two calls, whole"() {
    const { text, steps } = await generateText(asking("The weather?", { tools }));
    assert.deepEqual([text, steps[0].toolCalls.length], [SUNNY, 2]);
  },
  async "two calls, streamed"() {
    const { text, steps } = streamText(asking("The weather?", { tools }));
    assert.deepEqual([await text, (await steps)[0].toolResults.length], [SUNNY, 2]);
  },
  "unknown model": () =>
    refusals("hi", { model: provider(unknownModel) }, (error) =>
      checkCall(error, 404, /no-such-model/),
    ),
  "context length": () =>
    refusals("context length", {}, (error) =>
      checkCall(error, 400, isMessages ? /prompt is too long: \d+/ : /context_length_exceeded/),
    ),
  "rate limit": () =>
    refusals("rate limit", {}, (error) => {
      checkCall(error, 429, /rate_limit/);
      assert.equal(error.isRetryable, true);
    }),
});

/** The AI SDK and LangChain as clients of every provider: text, streams, tools and their results, as they send and read them. */
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { HumanMessage, ToolMessage } from "@langchain/core/messages";
import { ChatOpenAI } from "@langchain/openai";
import { generateText, stepCountIs, streamText, tool } from "ai";
import { suite } from "../../support/suite.ts";
import * as assert from "uvu/assert";
import { z } from "zod";
import { type EveryProvider, startEveryProvider } from "../../support/sources/every-provider.ts";
import { dialects } from "../../support/upstreams/index.ts";

const CALLS = [
  { id: "abcdefgh1", name: "weather", args: { city: "Oslo" } },
  { id: "abcdefgh2", name: "weather", args: { city: "Rome" } },
];
let every: EveryProvider;

const test = suite("clients");

test.before(async () => {
  every = await startEveryProvider();
});
test.after(() => every?.stop());

for (const { name: provider, model: served } of dialects) {
  const fake = () => every.ways.get(provider)!.fake;
  const name = (what: string) => `${provider}: ${what}`;
  const model = `${provider}/${served}`;
  const results = () =>
    fake()
      .views.at(-1)
      ?.turns.flatMap((turn) => turn.results.map((result) => result.text));

  test(name("AI SDK"), async () => {
    const provider = createOpenAICompatible({
      name: "portico",
      baseURL: `${every.gateway.url}/v1`,
      apiKey: every.gateway.token,
      includeUsage: true,
    });
    fake().next = { answer: { text: ["Hello ", "you"], reasoning: "hm" } };
    const response = await generateText({ model: provider(model), prompt: "Hi", maxRetries: 0 });
    assert.equal(
      [response.text, response.reasoningText, response.finishReason],
      ["Hello you", "hm", "stop"],
    );
    const streamed = streamText({ model: provider(model), prompt: "Hi", maxRetries: 0 });
    let text = "";
    for await (const part of streamed.textStream) text += part;
    assert.is(text, "Hello you");
    assert.is((await streamed.usage).inputTokens, 20);

    // The first step calls, the second one sees the results.
    const tools = {
      weather: tool({
        description: "w",
        inputSchema: z.object({ city: z.string() }),
        execute: async ({ city }: { city: string }) => {
          fake().next = { answer: { text: ["Done"] } };
          return `sunny in ${city}`;
        },
      }),
    };
    fake().next = { answer: { calls: CALLS } };
    const worked = await generateText({
      model: provider(model),
      prompt: "Hi",
      tools,
      stopWhen: stepCountIs(3),
      maxRetries: 0,
    });
    assert.is(worked.text, "Done");
    assert.equal(results(), ["sunny in Oslo", "sunny in Rome"]);
    fake().next = { answer: { calls: CALLS } };
    const working = streamText({
      model: provider(model),
      prompt: "Hi",
      tools,
      stopWhen: stepCountIs(3),
      maxRetries: 0,
    });
    let last = "";
    for await (const part of working.textStream) last += part;
    assert.is(last, "Done");
    assert.equal(results(), ["sunny in Oslo", "sunny in Rome"]);
  });

  test(name("LangChain"), async () => {
    const chat = new ChatOpenAI({
      model,
      apiKey: every.gateway.token,
      configuration: { baseURL: `${every.gateway.url}/v1` },
      maxRetries: 0,
    });
    fake().next = { answer: { text: ["Hello ", "you"] } };
    assert.is((await chat.invoke("Hi")).content, "Hello you");
    let text = "";
    for await (const part of await chat.stream("Hi")) text += part.content;
    assert.is(text, "Hello you");

    const weather = {
      type: "function" as const,
      function: {
        name: "weather",
        parameters: { type: "object", properties: { city: { type: "string" } } },
      },
    };
    const bound = chat.bindTools([weather]);
    fake().next = { answer: { calls: CALLS } };
    const message = await bound.invoke("Hi");
    assert.equal(
      message.tool_calls?.map((call) => [call.name, call.args]),
      CALLS.map((call) => [call.name, call.args]),
    );
    fake().next = { answer: { text: ["Done"] } };
    const toolMessages = (message.tool_calls ?? []).map(
      (call, i) => new ToolMessage({ tool_call_id: call.id ?? "", content: `result ${i}` }),
    );
    const done = await bound.invoke([new HumanMessage("Hi"), message, ...toolMessages]);
    assert.is(done.content, "Done");
    assert.equal(results(), ["result 0", "result 1"]);
  });
}

test.run();

/** The openai package as a client of every provider. */
import OpenAI from "openai";
import { suite } from "../../support/suite.ts";
import * as assert from "uvu/assert";
import {
  type EveryProvider,
  names,
  startEveryProvider,
  type ProviderUnderTest,
} from "../../support/sources/every-provider.ts";
import { TOKENS } from "../../support/upstreams/index.ts";

const test = suite("openai package through each provider");
let every: EveryProvider;
let client: OpenAI;

const tool = (name: string): OpenAI.ChatCompletionTool => ({
  type: "function",
  function: { name, parameters: { type: "object", properties: { city: { type: "string" } } } },
});
const CALLS = [{ name: "get_weather", args: { city: "Rome" } }, { name: "get_time" }];

test.before(async () => {
  every = await startEveryProvider();
  client = new OpenAI({
    baseURL: `${every.gateway.url}/v1`,
    apiKey: every.gateway.token,
    maxRetries: 0,
  });
});
test.after(() => every?.stop());

for (const name of names) {
  const way = (): ProviderUnderTest => every.ways.get(name)!;

  test(`${name}: text, whole and streamed, with usage`, async () => {
    const { model, script } = way();
    script({ answer: { text: ["Hel", "lo"] } });
    const messages: OpenAI.ChatCompletionMessageParam[] = [{ role: "user", content: "Hi" }];
    const whole = await client.chat.completions.create({ model, messages });
    const stream = client.chat.completions.stream({
      model,
      messages,
      stream_options: { include_usage: true },
    });
    for (const response of [whole, await stream.finalChatCompletion()]) {
      assert.equal(
        [response.choices[0]?.message.content, response.choices[0]?.finish_reason],
        ["Hello", "stop"],
      );
      assert.equal(
        [response.usage?.prompt_tokens, response.usage?.completion_tokens],
        [TOKENS.prompt, TOKENS.completion],
      );
    }
  });

  test(`${name}: parallel calls, whole and streamed, and back with results`, async () => {
    const { model, fake, script } = way();
    script({ answer: { calls: CALLS } });
    const tools = [tool("get_weather"), tool("get_time")];
    const messages: OpenAI.ChatCompletionMessageParam[] = [
      { role: "user", content: "Weather and time?" },
    ];
    const whole = await client.chat.completions.create({ model, tools, messages });
    const streamed = await client.chat.completions
      .stream({ model, tools, messages })
      .finalChatCompletion();
    for (const response of [whole, streamed]) {
      assert.is(response.choices[0]?.finish_reason, "tool_calls");
      const calls = response.choices[0]!.message
        .tool_calls as OpenAI.ChatCompletionMessageFunctionToolCall[];
      assert.equal(
        calls.map((call) => [call.function.name, JSON.parse(call.function.arguments)]),
        [
          ["get_weather", { city: "Rome" }],
          ["get_time", {}],
        ],
      );
      script({ answer: { text: ["Done"] } });
      const results = calls.map(
        ({ id }, i): OpenAI.ChatCompletionToolMessageParam => ({
          role: "tool",
          tool_call_id: id,
          content: `r${i}`,
        }),
      );
      const done = await client.chat.completions.create({
        model,
        tools,
        messages: [...messages, response.choices[0]!.message, ...results],
      });
      assert.is(done.choices[0]?.message.content, "Done");
      assert.equal(
        fake.views[0]!.turns.flatMap((turn) => turn.results).map((result) => result.text),
        ["r0", "r1"],
      );
    }
  });

  test(`${name}: errors are the package's own classes, and a disconnect aborts the upstream request`, async () => {
    const { model, fake, script } = way();
    const messages: OpenAI.ChatCompletionMessageParam[] = [{ role: "user", content: "Hi" }];
    const raised = (work: PromiseLike<unknown>) =>
      work.then(
        () => undefined,
        (error: unknown) => error,
      );
    for (const stream of [false, true]) {
      script({ refuse: "request" });
      assert.instance(
        await raised(client.chat.completions.create({ model, messages, stream })),
        OpenAI.BadRequestError,
      );
      script({ refuse: "rate_limit" });
      assert.instance(
        await raised(client.chat.completions.create({ model, messages, stream })),
        OpenAI.RateLimitError,
      );
    }
    script({ endless: "x" });
    for await (const _ of await client.chat.completions.create({ model, messages, stream: true }))
      break;
    await fake.aborted;
  });
}

test.run();

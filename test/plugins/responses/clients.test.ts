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

const test = suite("responses of the openai package through each provider");
const PNG =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
let every: EveryProvider;
let client: OpenAI;

const tools: OpenAI.Responses.FunctionTool[] = [
  {
    type: "function",
    name: "get_weather",
    description: "w",
    parameters: { type: "object", properties: { city: { type: "string" } } },
    strict: false,
  },
  {
    type: "function",
    name: "get_time",
    parameters: { type: "object", properties: {} },
    strict: false,
  },
];

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
  const testedProvider = (): ProviderUnderTest => every.ways.get(name)!;

  test(`${name}: a response, with instructions, limits and usage`, async () => {
    const { model, fake, script } = testedProvider();
    script({ answer: { text: ["Hel", "lo"] } });
    const response = await client.responses.create({
      model,
      instructions: "Be kind.",
      max_output_tokens: 50,
      input: [
        { role: "user", content: "Hi" },
        { role: "assistant", content: "Yes?" },
        { role: "user", content: [{ type: "input_text", text: "Say hello" }] },
      ],
    });
    assert.is(response.output_text, "Hello");
    assert.equal([response.object, response.status], ["response", "completed"]);
    assert.equal(
      [response.usage?.input_tokens, response.usage?.output_tokens],
      [TOKENS.prompt, TOKENS.completion],
    );
    const [view] = fake.views;
    assert.equal([view!.system, view!.maxTokens], ["Be kind.", 50]);
    assert.equal(
      view!.turns.map((turn) => `${turn.role}:${turn.text}`),
      ["user:Hi", "assistant:Yes?", "user:Say hello"],
    );
  });

  test(`${name}: a stream has the format's events in order`, async () => {
    const { model, script } = testedProvider();
    script({ answer: { text: ["Hel", "lo"] } });
    const stream = client.responses.stream({ model, input: "Hi" });
    const types: string[] = [];
    const numbers: number[] = [];
    for await (const event of stream) {
      types.push(event.type.replace("response.", ""));
      numbers.push(event.sequence_number);
    }
    assert.is((await stream.finalResponse()).output_text, "Hello");
    assert.equal(
      types.filter((type) => type !== "output_text.delta"),
      [
        "created",
        "in_progress",
        "output_item.added",
        "content_part.added",
        "output_text.done",
        "content_part.done",
        "output_item.done",
        "completed",
      ],
    );
    assert.equal(
      numbers,
      numbers.map((_, i) => i),
    );
  });

  test(`${name}: parallel calls, whole and streamed, and back with results by previous_response_id`, async () => {
    const { model, fake, script } = testedProvider();
    script({
      answer: { calls: [{ name: "get_weather", args: { city: "Rome" } }, { name: "get_time" }] },
    });
    const whole = await client.responses.create({ model, tools, input: "Weather and time?" });
    const streamed = await client.responses
      .stream({ model, tools, input: "Weather and time?" })
      .finalResponse();
    for (const { output } of [whole, streamed]) {
      assert.equal(
        output.flatMap((item) =>
          item.type === "function_call" ? [[item.name, JSON.parse(item.arguments)]] : [],
        ),
        [
          ["get_weather", { city: "Rome" }],
          ["get_time", {}],
        ],
      );
    }
    assert.equal(fake.views[0]!.tools, ["get_weather", "get_time"]);

    script({ answer: { text: ["Sunny at noon"] } });
    const results = streamed.output.flatMap(
      (item, i): OpenAI.Responses.ResponseInputItem.FunctionCallOutput[] =>
        item.type === "function_call"
          ? [
              {
                type: "function_call_output",
                call_id: item.call_id,
                output: i === 0 ? "sunny" : "noon",
              },
            ]
          : [],
    );
    const last = await client.responses.create({
      model,
      tools,
      previous_response_id: streamed.id,
      input: results,
    });
    assert.is(last.output_text, "Sunny at noon");
    // The same with everything sent anew.
    await client.responses.create({
      model,
      tools,
      store: false,
      input: [
        { role: "user", content: "Weather and time?" },
        ...(streamed.output as typeof results),
        ...results,
      ],
    });
    for (const view of fake.views) {
      assert.equal(
        view.turns.flatMap((turn) => turn.calls).map((call) => [call.name, call.args]),
        [
          ["get_weather", { city: "Rome" }],
          ["get_time", {}],
        ],
      );
      assert.is(view.turns.flatMap((turn) => turn.results).length, 2);
      assert.is(view.turns[0]!.text, "Weather and time?");
    }
  });

  test(`${name}: an image reaches the model`, async () => {
    const { model, fake, script } = testedProvider();
    script({ answer: { text: ["A dot"] } });
    await client.responses.create({
      model,
      input: [
        {
          role: "user",
          content: [
            { type: "input_text", text: "What is it?" },
            { type: "input_image", image_url: `data:image/png;base64,${PNG}`, detail: "auto" },
          ],
        },
      ],
    });
    assert.equal(fake.views[0]!.turns[0]!.images, [PNG]);
  });

  test(`${name}: reasoning comes as an item of its own, before the text`, async () => {
    const { model, script } = testedProvider();
    script({ answer: { reasoning: "hm", text: ["Yes"] } });
    const request = { model, input: "Hi", reasoning: { summary: "auto" as const } };
    for (const response of [
      await client.responses.create(request),
      await client.responses.stream(request).finalResponse(),
    ]) {
      assert.equal(
        response.output.map((item) => item.type),
        ["reasoning", "message"],
      );
      assert.is(
        (response.output[0] as OpenAI.Responses.ResponseReasoningItem).summary[0]?.text,
        "hm",
      );
    }
  });

  test(`${name}: a response that was cut off names the reason`, async () => {
    const { model, script } = testedProvider();
    script({ answer: { text: ["Hel"], finish: "length" } });
    for (const response of [
      await client.responses.create({ model, input: "Hi" }),
      await client.responses.stream({ model, input: "Hi" }).finalResponse(),
    ]) {
      assert.is(response.status, "incomplete");
      assert.equal(response.incomplete_details, { reason: "max_output_tokens" });
    }
  });

  test(`${name}: errors are the package's own classes`, async () => {
    const { model, script } = testedProvider();
    const raised = (step: Parameters<ProviderUnderTest["script"]>[0], stream: boolean) => {
      script(step);
      return client.responses.create({ model, input: "Hi", stream }).then(
        () => undefined,
        (error: unknown) => error as InstanceType<typeof OpenAI.APIError>,
      );
    };
    for (const stream of [false, true]) {
      assert.instance(await raised({ refuse: "request" }, stream), OpenAI.BadRequestError);
      assert.instance(await raised({ refuse: "server" }, stream), OpenAI.InternalServerError);
      assert.is((await raised({ refuse: "auth" }, stream))!.code, "upstream_auth");
      assert.instance(await raised({ refuse: "rate_limit" }, stream), OpenAI.RateLimitError);
    }
  });

  test(`${name}: a stream that breaks ends with error and response.failed`, async () => {
    const { model, script } = testedProvider();
    script({ broken: "cut", script: { text: ["Hel", "lo"] } });
    const events: OpenAI.Responses.ResponseStreamEvent[] = [];
    for await (const event of await client.responses.create({ model, input: "Hi", stream: true }))
      events.push(event);
    const last = events.at(-1) as OpenAI.Responses.ResponseFailedEvent;
    assert.equal([events.at(-2)!.type, last.type], ["error", "response.failed"]);
    assert.is(last.response.status, "failed");
    assert.is(last.response.error?.code as string, "server_error");
  });

  test(`${name}: leaving cuts the upstream`, async () => {
    const { model, fake, script } = testedProvider();
    script({ endless: "x" });
    for await (const event of await client.responses.create({ model, input: "Hi", stream: true })) {
      if (event.type === "response.output_text.delta") break;
    }
    await fake.aborted;
  });
}

test.run();

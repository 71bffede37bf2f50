import Anthropic from "@anthropic-ai/sdk";
import { suite } from "../../support/suite.ts";
import * as assert from "uvu/assert";
import {
  type EveryProvider,
  names,
  startEveryProvider,
  type ProviderUnderTest,
} from "../../support/sources/every-provider.ts";
import { TOKENS } from "../../support/upstreams/index.ts";

const test = suite("@anthropic-ai/sdk through each provider");
const PNG =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
let every: EveryProvider;
let client: Anthropic;

const tools: Anthropic.Tool[] = [
  {
    name: "get_weather",
    description: "w",
    input_schema: { type: "object", properties: { city: { type: "string" } } },
  },
  { name: "get_time", input_schema: { type: "object", properties: {} } },
];
const user = (content: Anthropic.MessageParam["content"]): Anthropic.MessageParam => ({
  role: "user",
  content,
});

test.before(async () => {
  every = await startEveryProvider();
  client = new Anthropic({
    baseURL: every.gateway.url,
    apiKey: every.gateway.token,
    maxRetries: 0,
  });
});
test.after(() => every?.stop());

for (const name of names) {
  const way = (): ProviderUnderTest => every.ways.get(name)!;

  test(`${name}: a message, with system, limits and usage`, async () => {
    const { model, fake, script } = way();
    script({ answer: { text: ["Hel", "lo"] } });
    const message = await client.messages.create({
      model,
      max_tokens: 50,
      system: [
        { type: "text", text: "Be kind." },
        { type: "text", text: "Be short.", cache_control: { type: "ephemeral" } },
      ],
      stop_sequences: ["END"],
      messages: [
        user("Hi"),
        { role: "assistant", content: "Yes?" },
        user([{ type: "text", text: "Say hello" }]),
      ],
    });
    assert.equal(
      message.content.map((block) => (block as Anthropic.TextBlock).text),
      ["Hello"],
    );
    assert.equal(
      [message.type, message.role, message.stop_reason],
      ["message", "assistant", "end_turn"],
    );
    assert.match(message.id, /^msg_/);
    // Not every provider reports cached tokens.
    const { input_tokens, cache_read_input_tokens, output_tokens } = message.usage;
    assert.equal(
      [input_tokens + (cache_read_input_tokens ?? 0), output_tokens],
      [TOKENS.prompt, TOKENS.completion],
    );
    const [view] = fake.views;
    assert.is(view!.maxTokens, 50);
    assert.equal(view!.stop, ["END"]);
    assert.equal(
      view!.turns.map((turn) => `${turn.role}:${turn.text}`),
      ["user:Hi", "assistant:Yes?", "user:Say hello"],
    );
    // Its own provider receives the request unchanged.
    if (name === "anthropic") assert.is((view!.system as unknown as object[]).length, 2);
    else assert.match(view!.system, /Be kind\.\s+Be short\./);
  });

  test(`${name}: a stream has the format's events in order`, async () => {
    const { model, script } = way();
    script({ answer: { text: ["Hel", "lo"] } });
    const types: string[] = [];
    const stream = client.messages.stream({ model, max_tokens: 50, messages: [user("Hi")] });
    for await (const event of stream) types.push(event.type);
    const message = await stream.finalMessage();
    assert.is((message.content[0] as Anthropic.TextBlock).text, "Hello");
    assert.is(message.stop_reason, "end_turn");
    assert.is(message.usage.output_tokens, TOKENS.completion);
    assert.equal(
      types.filter((type) => type !== "content_block_delta"),
      [
        "message_start",
        "content_block_start",
        "content_block_stop",
        "message_delta",
        "message_stop",
      ],
    );
  });

  test(`${name}: parallel calls, whole and streamed, and back with results`, async () => {
    const { model, fake, script } = way();
    const calls = [{ name: "get_weather", args: { city: "Rome" } }, { name: "get_time" }];
    script({ answer: { calls } });
    const request: Anthropic.MessageCreateParamsNonStreaming = {
      model,
      max_tokens: 50,
      tools,
      tool_choice: { type: "auto" },
      messages: [user("Weather and time?")],
    };
    const whole = await client.messages.create(request);
    const streamed = await client.messages.stream(request).finalMessage();
    for (const message of [whole, streamed]) {
      assert.is(message.stop_reason, "tool_use");
      assert.equal(
        message.content.flatMap((block) =>
          block.type === "tool_use" ? [[block.name, block.input]] : [],
        ),
        [
          ["get_weather", { city: "Rome" }],
          ["get_time", {}],
        ],
      );
    }
    assert.equal(fake.views[0]!.tools, ["get_weather", "get_time"]);

    script({ answer: { text: ["Sunny at noon"] } });
    const uses = streamed.content.filter((block) => block.type === "tool_use");
    const results = uses.map(
      ({ id }, i): Anthropic.ToolResultBlockParam => ({
        type: "tool_result",
        tool_use_id: id,
        content: i === 0 ? "sunny" : [{ type: "text", text: "noon" }],
      }),
    );
    await client.messages.create({
      ...request,
      messages: [
        ...request.messages,
        { role: "assistant", content: streamed.content },
        user([...results, { type: "text", text: "And?" }]),
      ],
    });
    const turns = fake.views[0]!.turns;
    assert.equal(
      turns.flatMap((turn) => turn.calls).map((call) => [call.name, call.args]),
      [
        ["get_weather", { city: "Rome" }],
        ["get_time", {}],
      ],
    );
    assert.equal(turns.flatMap((turn) => turn.results).length, 2);
    assert.is(turns.at(-1)!.text, "And?");
  });

  test(`${name}: an image reaches the model`, async () => {
    const { model, fake, script } = way();
    script({ answer: { text: ["A dot"] } });
    const source: Anthropic.Base64ImageSource = {
      type: "base64",
      media_type: "image/png",
      data: PNG,
    };
    await client.messages.create({
      model,
      max_tokens: 50,
      messages: [
        user([
          { type: "image", source },
          { type: "text", text: "What is it?" },
        ]),
      ],
    });
    assert.equal(fake.views[0]!.turns[0]!.images, [PNG]);
  });

  test(`${name}: reasoning comes as thinking, before the text`, async () => {
    const { model, script } = way();
    script({ answer: { reasoning: "hm", text: ["Yes"] } });
    const request = { model, max_tokens: 4000, messages: [user("Hi")] };
    for (const message of [
      await client.messages.create(request),
      await client.messages.stream(request).finalMessage(),
    ]) {
      const kinds = message.content
        .map((block) => block.type)
        .filter((type) => type !== "redacted_thinking");
      assert.equal(kinds, ["thinking", "text"]);
      assert.is(
        (message.content.find((block) => block.type === "thinking") as Anthropic.ThinkingBlock)
          .thinking,
        "hm",
      );
    }
  });

  test(`${name}: a response that was cut off names the reason`, async () => {
    const { model, script } = way();
    script({ answer: { text: ["Hel"], finish: "length" } });
    assert.is(
      (await client.messages.create({ model, max_tokens: 5, messages: [user("Hi")] })).stop_reason,
      "max_tokens",
    );
  });

  test(`${name}: errors are the package's own classes`, async () => {
    const { model, script } = way();
    const raised = (step: Parameters<ProviderUnderTest["script"]>[0], stream: boolean) => {
      script(step);
      return client.messages.create({ model, max_tokens: 5, messages: [user("Hi")], stream }).then(
        () => undefined,
        (error: unknown) => error as InstanceType<typeof Anthropic.APIError>,
      );
    };
    for (const stream of [false, true]) {
      assert.instance(await raised({ refuse: "request" }, stream), Anthropic.BadRequestError);
      const down = await raised({ refuse: "server" }, stream);
      assert.instance(down, Anthropic.InternalServerError);
      assert.is((down!.error as { error: { type: string } }).error.type, "api_error");
      assert.is((await raised({ refuse: "auth" }, stream))!.status, 502);
      assert.instance(await raised({ refuse: "rate_limit" }, stream), Anthropic.RateLimitError);
    }
  });

  test(`${name}: a stream that breaks raises an error after the events before it`, async () => {
    const { model, script } = way();
    script({ broken: "cut", script: { text: ["Hel", "lo"] } });
    let text = "";
    const stream = client.messages.stream({ model, max_tokens: 5, messages: [user("Hi")] });
    stream.on("error", () => {});
    stream.on("text", (piece) => {
      text += piece;
    });
    try {
      await stream.finalMessage();
      assert.unreachable();
    } catch (error) {
      assert.instance(error, Anthropic.APIError);
    }
    assert.is(text, "Hello");
  });

  test(`${name}: a stream that is cut after its stop reason is complete`, async () => {
    const { model, script } = way();
    script({ broken: "after finish", script: { text: ["Hel", "lo"] } });
    const message = await client.messages
      .stream({ model, max_tokens: 5, messages: [user("Hi")] })
      .finalMessage();
    assert.is((message.content[0] as Anthropic.TextBlock).text, "Hello");
  });

  test(`${name}: a client that disconnects aborts the upstream request`, async () => {
    const { model, fake, script } = way();
    script({ endless: "x" });
    for await (const event of client.messages.stream({
      model,
      max_tokens: 5,
      messages: [user("Hi")],
    })) {
      if (event.type === "content_block_delta") break;
    }
    await fake.aborted;
  });
}

test.run();

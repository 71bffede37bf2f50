/** Headers and errors name places in the client's own request, whatever its form and however it was translated. */
import * as assert from "uvu/assert";
import { type InProcessGateway, startGateway } from "../../support/gateway.ts";
import { suite } from "../../support/suite.ts";
import { dialects, type FakeProvider, startProvider } from "../../support/upstreams/index.ts";

const test = suite("paths in the client's request");
const fakes: FakeProvider[] = [];
let gateway: InProcessGateway;

test.before(async () => {
  const channels: Record<string, unknown> = {};
  for (const dialect of dialects) {
    const fake = await startProvider(dialect);
    fakes.push(fake);
    channels[dialect.name] = { ...dialect.channel(fake.root), models: ["*"], maxRetries: 0 };
  }
  const alias = { targets: ["anthropic/claude-sonnet-4-5"], system: "Be brief." };
  gateway = await startGateway({ config: { channels, models: { brief: alias } } });
});
test.after(async () => {
  await gateway?.stop();
  for (const fake of fakes) await fake.close();
});

const CLAUDE = "bedrock/us.anthropic.claude-sonnet-4-5-20250929-v1:0";
/** A JPEG with the label of a PNG. */
const MISLABELLED = "/9j/4AAQSkZJRg==";
const ALTERNATIVES = { type: "object", anyOf: [{ required: ["a"] }, { required: ["b"] }] };

async function places(path: string, body: object) {
  const response = await gateway.request("POST", path, body);
  const text = await response.text();
  assert.is(response.status, 200, text);
  const listed = (name: string) => response.headers.get(name)?.split(", ") ?? [];
  return { changed: listed("x-portico-changed"), dropped: listed("x-portico-dropped") };
}

test("messages: changes and losses", async () => {
  const { changed, dropped } = await places("/v1/messages", {
    model: CLAUDE,
    max_tokens: 9,
    system: [{ type: "text", text: "\ud83d" }],
    stop_sequences: ["\n", "END"],
    tools: [{ name: "f", input_schema: ALTERNATIVES }],
    messages: [
      {
        role: "user",
        content: [
          { type: "text", text: "\ud83d" },
          {
            type: "image",
            source: { type: "base64", media_type: "image/png", data: MISLABELLED },
          },
        ],
      },
      {
        role: "assistant",
        content: [
          { type: "text", text: "ok" },
          { type: "tool_use", id: "c", name: "f", input: { x: "\ud83d" } },
        ],
      },
      {
        role: "user",
        content: [
          { type: "tool_result", tool_use_id: "c", content: "\ud83d" },
          { type: "text", text: "\ud83d" },
        ],
      },
      { role: "assistant", content: [{ type: "tool_use", id: "c", name: "f", input: {} }] },
      { role: "user", content: [{ type: "tool_result", tool_use_id: "c", content: "r" }] },
    ],
  });
  assert.equal(changed, [
    "well-formed-unicode system",
    "well-formed-unicode messages[0].content[0].text",
    "well-formed-unicode messages[1].content[1].input",
    "well-formed-unicode messages[2].content[0].content",
    "well-formed-unicode messages[2].content[1].text",
    "unique-tool-ids messages[3].content[0].id",
    "unique-tool-ids messages[4].content[0].tool_use_id",
    "tool-schema tools[0].input_schema",
    "image-type messages[0].content[1].source",
  ]);
  assert.equal(dropped, ["stop_sequences[0]"]);
});

test("responses: changes and losses, also of tools in a namespace", async () => {
  const { changed, dropped } = await places("/v1/responses", {
    model: CLAUDE,
    store: false,
    instructions: "\ud83d",
    reasoning: { effort: "low" },
    text: { verbosity: "low" },
    tools: [
      { type: "web_search" },
      { type: "function", name: "f", parameters: ALTERNATIVES },
      {
        type: "namespace",
        name: "n",
        tools: [{ type: "function", name: "g", parameters: ALTERNATIVES }],
      },
    ],
    input: [
      {
        role: "user",
        content: [
          { type: "input_text", text: "hi" },
          { type: "input_image", image_url: `data:image/png;base64,${MISLABELLED}` },
        ],
      },
      { type: "function_call", call_id: "c", name: "f", arguments: '{"x":"\\ud83d"}' },
      { type: "function_call_output", call_id: "c", output: "\ud83d" },
      { type: "function_call", call_id: "c", name: "f", arguments: "{}" },
      { type: "function_call_output", call_id: "c", output: "r" },
      { role: "user", content: " " },
      { role: "user", content: "\ud83d" },
    ],
  });
  assert.equal(changed, [
    "well-formed-unicode instructions",
    "well-formed-unicode input[1].arguments",
    "well-formed-unicode input[2].output",
    "well-formed-unicode input[6].content",
    "no-blank-texts input[5]",
    "unique-tool-ids input[3].call_id",
    "unique-tool-ids input[4].call_id",
    "tool-schema tools[1].parameters",
    "tool-schema tools[2].tools[0].parameters",
    "image-type input[0].content[1].image_url",
  ]);
  assert.equal(dropped, ["tools[0]", "reasoning.effort", "text.verbosity"]);
});

test("responses: unknown members are named at every depth", async () => {
  const { dropped } = await places("/v1/responses", {
    model: "anthropic/claude-sonnet-4-5",
    store: false,
    odd: 1,
    reasoning: { odd: 1 },
    text: { odd: 1, format: { type: "json_schema", name: "n", schema: {}, odd: 1 } },
    tool_choice: { type: "function", name: "f", odd: 1 },
    tools: [
      { type: "function", name: "f", parameters: {}, odd: 1 },
      { type: "namespace", name: "n", odd: 1, tools: [{ type: "function", name: "g", odd: 1 }] },
    ],
    input: [
      {
        role: "user",
        odd: 1,
        content: [
          { type: "input_text", text: "hi", odd: 1 },
          {
            type: "input_image",
            image_url: `data:image/jpeg;base64,${MISLABELLED}`,
            detail: "high",
          },
        ],
      },
      { type: "function_call", call_id: "c", name: "f", arguments: "{}", odd: 1 },
      { type: "function_call_output", call_id: "c", output: "r", odd: 1 },
      { role: "user", content: "go" },
    ],
  });
  assert.equal(dropped.toSorted(), [
    "input[0].content[0].odd",
    "input[0].content[1].detail",
    "input[0].odd",
    "input[1].odd",
    "input[2].odd",
    "odd",
    "reasoning.odd",
    "text.format.odd",
    "text.odd",
    "tool_choice.odd",
    "tools[0].odd",
    "tools[1].odd",
    "tools[1].tools[0].odd",
  ]);
});

test("chat: unknown members are named at every depth", async () => {
  for (const model of ["anthropic/claude-sonnet-4-5", CLAUDE, "mistral/mistral-large-latest"]) {
    const { dropped } = await places("/v1/chat/completions", {
      model,
      odd: 1,
      response_format: {
        type: "json_schema",
        odd: 1,
        json_schema: { name: "n", schema: {}, odd: 1 },
      },
      tool_choice: { type: "function", function: { name: "f" }, odd: 1 },
      tools: [{ type: "function", odd: 1, function: { name: "f", odd: 1 } }],
      messages: [
        { role: "user", odd: 1, content: [{ type: "text", text: "hi", odd: 1 }] },
        {
          role: "assistant",
          content: null,
          tool_calls: [
            { id: "c", type: "function", odd: 1, function: { name: "f", arguments: "{}", odd: 1 } },
          ],
        },
        { role: "tool", tool_call_id: "c", content: "r", odd: 1 },
      ],
    });
    const odd = dropped.filter((path) => path.endsWith("odd"));
    assert.equal(odd.toSorted(), [
      "messages[0].content[0].odd",
      "messages[0].odd",
      "messages[1].tool_calls[0].function.odd",
      "messages[1].tool_calls[0].odd",
      "messages[2].odd",
      "odd",
      "response_format.json_schema.odd",
      "response_format.odd",
      "tool_choice.odd",
      "tools[0].function.odd",
      "tools[0].odd",
    ]);
  }
});

const REFUSED: [string, string, object, string][] = [
  [
    "a prefill",
    "/v1/responses",
    {
      model: "anthropic/claude-opus-4-6",
      input: [
        { role: "user", content: "a" },
        { role: "assistant", content: "b" },
      ],
    },
    "input[1]",
  ],
  [
    "a result of no call",
    "/v1/responses",
    { model: CLAUDE, input: [{ type: "function_call_output", call_id: "c", output: "r" }] },
    "input[0].call_id",
  ],
  [
    "a call without its result",
    "/v1/responses",
    {
      model: CLAUDE,
      input: [
        { role: "user", content: "a" },
        { type: "function_call", call_id: "c", name: "f", arguments: "{}" },
        { role: "user", content: "b" },
      ],
    },
    "input[1]",
  ],
  [
    "audio",
    "/v1/responses",
    {
      model: CLAUDE,
      input: [
        {
          role: "user",
          content: [{ type: "input_audio", input_audio: { data: "AA", format: "wav" } }],
        },
      ],
    },
    "input[0].content[0].input_audio",
  ],
  [
    "a result of no call",
    "/v1/messages",
    {
      model: CLAUDE,
      max_tokens: 9,
      messages: [
        { role: "user", content: [{ type: "tool_result", tool_use_id: "c", content: "r" }] },
      ],
    },
    "messages[0].content[0].tool_use_id",
  ],
  [
    "a result of no call behind the system prompt of an alias",
    "/v1/chat/completions",
    {
      model: "brief",
      messages: [{ role: "tool", tool_call_id: "c", content: "r" }],
    },
    "messages[0].tool_call_id",
  ],
];

for (const [what, path, body, param] of REFUSED) {
  test(`${path}: the error about ${what} names its place`, async () => {
    const response = await gateway.request("POST", path, body);
    const { error } = (await response.json()) as any;
    assert.is(response.status, 400);
    // Anthropic's form has no member for it.
    if (path === "/v1/messages") assert.ok(error.message.startsWith(`${param}: `), error.message);
    else assert.is(error.param, param);
  });
}

test("chat: the system prompt of an alias does not shift the paths", async () => {
  const { changed } = await places("/v1/chat/completions", {
    model: "brief",
    messages: [{ role: "user", content: "\ud83d" }],
  });
  assert.equal(changed, ["well-formed-unicode messages[0].content"]);
});

test.run();

/** Providers' rules for whole requests, over HTTP, with upstreams that refuse what the real ones refuse. */
import * as assert from "uvu/assert";
import { type InProcessGateway, startGateway } from "../../support/gateway.ts";
import { suite } from "../../support/suite.ts";
import { dialects, type FakeProvider, startProvider } from "../../support/upstreams/index.ts";
import {
  completion,
  json,
  startUpstream,
  type Upstream,
} from "../../support/upstreams/upstream.ts";

const test = suite("request rules");
const fakes: Record<string, FakeProvider> = {};
/** A server of OpenAI's format, behind several presets. */
let lenient: Upstream;
let gateway: InProcessGateway;

const PRESETS = ["openai", "openrouter", "deepseek", "vllm", "lmstudio", "llamacpp", "cerebras"];

test.before(async () => {
  const channels: Record<string, unknown> = {};
  for (const dialect of dialects) {
    const fake = await startProvider(dialect);
    fakes[dialect.name] = fake;
    channels[dialect.name] = { ...dialect.channel(fake.root), models: ["*"], maxRetries: 0 };
  }
  lenient = await startUpstream((_, res) => json(res, completion("ok")));
  for (const provider of PRESETS)
    channels[`at-${provider}`] = { provider, baseUrl: lenient.url, apiKey: "k", models: ["*"] };
  gateway = await startGateway({ config: { channels } });
});
test.after(async () => {
  await gateway?.stop();
  await lenient?.close();
  for (const fake of Object.values(fakes)) await fake.close();
});
test.before.each(() => {
  lenient.seen.length = 0;
  for (const fake of Object.values(fakes)) fake.seen.length = 0;
});

const MODELS: Record<string, string> = {
  anthropic: "anthropic/claude-sonnet-4-5",
  bedrock: "bedrock/us.anthropic.claude-sonnet-4-5-20250929-v1:0",
  mistral: "mistral/mistral-large-latest",
  gemini: "gemini/gemini-3-flash-preview",
  ollama: "ollama/llama3.2",
  azure: "azure/my-deployment",
};
const modelAt = (channel: string) => MODELS[channel] ?? `${channel}/m`;

interface Outcome {
  status: number;
  body: any;
  changed: string | null;
  dropped: string | null;
  /** The body that the upstream received. */
  sent: any;
}

async function post(path: string, channel: string, body: object | string): Promise<Outcome> {
  const response = await fetch(gateway.url + path, {
    method: "POST",
    headers: { authorization: `Bearer ${gateway.token}`, "content-type": "application/json" },
    body: typeof body === "string" ? body : JSON.stringify({ model: modelAt(channel), ...body }),
  });
  const requests = fakes[channel]?.seen ?? lenient.seen;
  return {
    status: response.status,
    body: await response.json(),
    changed: response.headers.get("x-portico-changed"),
    dropped: response.headers.get("x-portico-dropped"),
    sent: requests.at(-1)?.body,
  };
}

const chat = (channel: string, body: object | string) =>
  post("/v1/chat/completions", channel, body);
const messages = (channel: string, body: object) =>
  post("/v1/messages", channel, { max_tokens: 50, ...body });

const user = (content: unknown) => ({ role: "user", content });
const call = (id: string, args = "{}") => ({
  role: "assistant",
  content: null,
  tool_calls: [{ id, type: "function", function: { name: "f", arguments: args } }],
});
const result = (id: string, content: unknown = "r") => ({
  role: "tool",
  tool_call_id: id,
  content,
});
const tool = (parameters: object, more: object = {}) => ({
  type: "function",
  function: { name: "f", description: "the f", parameters },
  ...more,
});
const TOOLS = [tool({ type: "object", properties: { x: { type: "string" } } })];

// ---------------------------------------------------------------------------------------------- ids of calls

const repeated = [
  user("a"),
  call("call_0", '{"x":"1"}'),
  result("call_0", "r1"),
  call("call_0", '{"x":"2"}'),
  result("call_0", "r2"),
];

for (const channel of ["anthropic", "bedrock", "mistral"]) {
  test(`${channel}: ids of calls become unique, in the same way on every turn`, async () => {
    const { status, changed, sent, body } = await chat(channel, {
      tools: TOOLS,
      messages: repeated,
    });
    assert.is(status, 200, JSON.stringify(body));
    assert.is(
      changed,
      "unique-tool-ids messages[3].tool_calls[0].id, unique-tool-ids messages[4].tool_call_id",
    );
    const later = [...repeated, call("call_0", '{"x":"3"}'), result("call_0", "r3")];
    const next = await chat(channel, { tools: TOOLS, messages: later });
    assert.is(next.status, 200, JSON.stringify(next.body));
    assert.equal(next.sent.messages.slice(0, sent.messages.length), sent.messages);
  });

  test(`${channel}: ids that collide upstream, ids within one message, and legacy functions become unique`, async () => {
    const histories: Record<string, object[]> = {
      "with and without a prefix": [
        user("a"),
        call("call_abcdefghi"),
        result("call_abcdefghi"),
        call("abcdefghi"),
        result("abcdefghi"),
      ],
      "in one message": [
        user("a"),
        {
          ...call("x"),
          tool_calls: [...call("x", '{"x":"1"}').tool_calls, ...call("x", '{"x":"2"}').tool_calls],
        },
        result("x", "r1"),
        result("x", "r2"),
      ],
      "a function's calls": [
        user("a"),
        { role: "assistant", content: null, function_call: { name: "f", arguments: "{}" } },
        { role: "function", name: "f", content: "r1" },
        { role: "assistant", content: null, function_call: { name: "f", arguments: "{}" } },
        { role: "function", name: "f", content: "r2" },
      ],
    };
    for (const [what, history] of Object.entries(histories)) {
      const { status, body, changed } = await chat(channel, { tools: TOOLS, messages: history });
      assert.is(status, 200, `${what}: ${JSON.stringify(body)}`);
      assert.match(changed ?? "", "unique-tool-ids", what);
    }
  });
}

test("ids of calls from /v1/messages are unique, translated or not", async () => {
  const use = { type: "tool_use", id: "call_0", name: "f", input: {} };
  const done = { type: "tool_result", tool_use_id: "call_0", content: "r" };
  const history = [
    user("a"),
    { role: "assistant", content: [use] },
    user([done]),
    { role: "assistant", content: [use] },
    user([done, { type: "text", text: "go on" }]),
  ];
  const tools = [{ name: "f", input_schema: { type: "object", properties: {} } }];
  for (const channel of ["anthropic", "bedrock", "mistral"]) {
    const { status, body, changed } = await messages(channel, { tools, messages: history });
    assert.is(status, 200, `${channel}: ${JSON.stringify(body)}`);
    assert.match(changed ?? "", "unique-tool-ids messages[3]", channel);
    assert.match(changed ?? "", "unique-tool-ids messages[4]", channel);
  }
});

test("ids of calls from /v1/responses are unique", async () => {
  const use = { type: "function_call", call_id: "call_0", name: "f", arguments: "{}" };
  const done = { type: "function_call_output", call_id: "call_0", output: "r" };
  for (const channel of ["anthropic", "bedrock", "mistral"]) {
    const { status, body, changed } = await post("/v1/responses", channel, {
      store: false,
      tools: [{ type: "function", name: "f", parameters: { type: "object", properties: {} } }],
      input: [user("a"), use, done, use, done],
    });
    assert.is(status, 200, `${channel}: ${JSON.stringify(body)}`);
    assert.match(changed ?? "", "unique-tool-ids", channel);
  }
});

test("ids that are unique stay as they are", async () => {
  const history = [user("a"), call("one"), result("one"), call("two"), result("two")];
  const { changed, sent } = await chat("anthropic", { tools: TOOLS, messages: history });
  assert.is(changed, null);
  assert.equal([sent.messages[1].content[0].id, sent.messages[3].content[0].id], ["one", "two"]);
});

// ------------------------------------------------------------------------------------------- order of turns

test("mistral: an assistant message is inserted between a tool result and the next user message", async () => {
  for (const next of [user("next"), { role: "system", content: "be brief" }]) {
    const history = [user("a"), call("call_0"), result("call_0"), next];
    const { status, changed, body } = await chat("mistral", { tools: TOOLS, messages: history });
    assert.is(status, 200, JSON.stringify(body));
    assert.match(changed ?? "", "assistant-after-tool");
  }
  const use = { type: "tool_use", id: "u", name: "f", input: {} };
  const done = { type: "tool_result", tool_use_id: "u", content: "r" };
  const anthropicForm = await messages("mistral", {
    messages: [
      user("a"),
      { role: "assistant", content: [use] },
      user([done, { type: "text", text: "next" }]),
    ],
  });
  assert.is(anthropicForm.status, 200, JSON.stringify(anthropicForm.body));
});

test("mistral: a prefill is sent as such, whether or not the client marks it", async () => {
  for (const prefix of [true, undefined, false]) {
    const last = { role: "assistant", content: "Sure, ", prefix };
    const { status, sent, changed } = await chat("mistral", { messages: [user("a"), last] });
    assert.is(status, 200);
    assert.equal(sent.messages.at(-1), { role: "assistant", content: "Sure, ", prefix: true });
    assert.is(changed, prefix === true ? null : "prefix-last-assistant messages[1].prefix");
  }
});

test("mistral: an earlier message that was once a prefill is no longer sent as one", async () => {
  const begun = { role: "assistant", content: "Sure, ", prefix: true };
  const { status, sent, changed } = await chat("mistral", {
    messages: [user("a"), begun, user("b"), { role: "assistant", content: "Well" }],
  });
  assert.is(status, 200);
  assert.equal(
    sent.messages.map(({ prefix }: any) => prefix),
    [undefined, undefined, undefined, true],
  );
  assert.match(changed ?? "", "prefix-last-assistant messages[1].prefix");
});

test("mistral: the rules about turns hold from /v1/messages and /v1/responses as well", async () => {
  const prefill = { role: "assistant", content: "Sure, " };
  const ofMessages = await messages("mistral", { messages: [user("a"), prefill] });
  assert.equal([ofMessages.status, ofMessages.sent.messages.at(-1).prefix], [200, true]);
  const request = { store: false, input: [user("a"), prefill] };
  const ofResponses = await post("/v1/responses", "mistral", request);
  assert.equal([ofResponses.status, ofResponses.sent.messages.at(-1).prefix], [200, true]);
  const afterTool = await post("/v1/responses", "mistral", {
    store: false,
    tools: [{ type: "function", name: "f", parameters: { type: "object", properties: {} } }],
    input: [
      user("a"),
      { type: "function_call", call_id: "c", name: "f", arguments: "{}" },
      { type: "function_call_output", call_id: "c", output: "r" },
      user("next"),
    ],
  });
  assert.is(afterTool.status, 200, JSON.stringify(afterTool.body));
  assert.match(afterTool.changed ?? "", "assistant-after-tool");
});

test("mistral: a system message after the assistant is moved into the user's turn", async () => {
  const history = [
    { role: "system", content: "S" },
    user("a"),
    { role: "assistant", content: "b" },
    { role: "system", content: "later" },
    user("c"),
  ];
  const { status, sent } = await chat("mistral", { messages: history });
  assert.is(status, 200);
  assert.equal(sent.messages.at(-1), user("later\n\nc"));
});

test("mistral: an empty assistant message is omitted", async () => {
  const history = [user("a"), { role: "assistant", content: "" }, user([{ type: "video" }])];
  const refused = await chat("mistral", { messages: history });
  assert.equal([refused.status, refused.body.error.param], [400, "messages[2].content[0].type"]);
  const { status, sent, changed } = await chat("mistral", { messages: history.slice(0, 2) });
  assert.equal([status, changed], [200, "no-blank-assistant messages[1]"]);
  assert.equal(sent.messages, [user("a")]);
});

for (const [channel, model] of [
  ["anthropic", "anthropic/claude-opus-4-6"],
  ["anthropic", "anthropic/claude-sonnet-5"],
  ["bedrock", "bedrock/us.anthropic.claude-opus-4-6-v1:0"],
  ["at-openrouter", "at-openrouter/anthropic/claude-opus-4.6"],
] as const) {
  test(`${model} accepts no prefill: 400 names the message`, async () => {
    for (const [path, trailing] of [
      ["/v1/chat/completions", []],
      ["/v1/chat/completions", [{ role: "system", content: "S" }]],
      ["/v1/chat/completions", [user(" ")]],
      ["/v1/messages", []],
      ["/v1/responses", []],
    ] as const) {
      const history = [user("a"), { role: "assistant", content: "Partial" }, ...trailing];
      const own = path === "/v1/responses" ? { input: history } : { messages: history };
      const { status, body } = await post(path, channel, { model, max_tokens: 9, ...own });
      assert.is(status, 400, JSON.stringify(body));
      if (path === "/v1/chat/completions") assert.is(body.error.param, "messages[1]");
      else assert.match(body.error.message, /messages/);
    }
    assert.is((fakes[channel]?.seen ?? lenient.seen).length, 0);
  });
}

test("claude 4.5 continues a prefill", async () => {
  for (const channel of ["anthropic", "bedrock"]) {
    const history = [user("a"), { role: "assistant", content: "Partial" }];
    assert.is((await chat(channel, { messages: history })).status, 200);
    assert.is((await messages(channel, { messages: history })).status, 200);
  }
});

for (const channel of ["anthropic", "bedrock", "gemini"]) {
  test(`${channel}: blank texts are omitted and named, wherever they occur`, async () => {
    const history = [
      { role: "system", content: " " },
      user([
        { type: "text", text: "" },
        { type: "text", text: "hi" },
      ]),
      { ...call("c1"), content: "" },
      result("c1", ""),
      { role: "assistant", content: "\n" },
      user("go on"),
    ];
    const { status, changed, sent, body } = await chat(channel, {
      messages: history,
      tools: TOOLS,
    });
    assert.is(status, 200, JSON.stringify(body));
    assert.is(
      changed,
      "no-blank-texts messages[0], no-blank-texts messages[1].content[0], no-blank-texts messages[4]",
    );
    assert.not.match(JSON.stringify(sent), /"text":"\s*"/);
    const silent = await chat(channel, { messages: [user("hi")] });
    assert.is(silent.changed, null);
  });
}

for (const channel of ["anthropic", "bedrock"]) {
  test(`${channel}: a prefill ends without white space`, async () => {
    const text = (value: string) => ({ type: "text", text: value });
    for (const begun of ["It is \n", [text("It is ")], [text("It is "), text(" ")]]) {
      const history = [user("a"), { role: "assistant", content: begun }];
      const { status, changed, sent, body } = await chat(channel, { messages: history });
      assert.is(status, 200, JSON.stringify(body));
      assert.match(changed ?? "", /no-trailing-space messages\[1\]\.content$/);
      assert.match(JSON.stringify(sent.messages.at(-1)), '"It is"');
      const native = await messages(channel, { messages: [user("a"), history[1]!] });
      if (begun.length !== 2) assert.match(native.changed ?? "", "no-trailing-space messages[1]");
      const later = await chat(channel, { messages: [...history, user("b")] });
      assert.match(JSON.stringify(later.sent.messages[1]), "It is ");
      assert.not.match(later.changed ?? "", "no-trailing-space");
    }
  });
}

test("bedrock: a header names the document whose name was changed", async () => {
  const file = (filename: string) => ({
    type: "file",
    file: { filename, file_data: "data:application/pdf;base64,JVBERi0xLjQK" },
  });
  const content = [
    file("report.pdf"),
    file("a_b.c.pdf"),
    file("report.pdf"),
    { type: "text", text: "x" },
  ];
  const { changed } = await chat("bedrock", { messages: [user(content)] });
  assert.is(
    changed,
    "unique-document-names messages[0].content[1].file.filename, unique-document-names messages[0].content[2].file.filename",
  );
});

test("bedrock: a user message is inserted if the first turn is not the user's", async () => {
  for (const first of [[], [{ role: "system", content: "S" }], [user(" ")]]) {
    const history = [...first, { role: "assistant", content: "Welcome!" }, user("hi")];
    const { status, sent, changed, body } = await chat("bedrock", { messages: history });
    assert.is(status, 200, JSON.stringify(body));
    assert.equal(
      sent.messages.map((message: any) => message.role),
      ["user", "assistant", "user"],
    );
    const isBlank = JSON.stringify(first) === JSON.stringify([user(" ")]);
    const blank = isBlank ? "no-blank-texts messages[0], " : "";
    assert.is(changed, `${blank}user-turn-first messages[${first.length}]`);
  }
  const { status } = await messages("bedrock", {
    messages: [{ role: "assistant", content: "Welcome!" }, user("hi")],
  });
  assert.is(status, 200);
});

test("gemini: a user message is inserted before a first turn that calls a tool", async () => {
  const begun = [call("c"), result("c"), user("go")];
  for (const history of [begun, [{ role: "assistant", content: "I look" }, ...begun]]) {
    const { status, changed, body } = await chat("gemini", { tools: TOOLS, messages: history });
    assert.is(status, 200, JSON.stringify(body));
    assert.is(changed, "user-turn-first messages[0]");
  }
  const { changed } = await chat("gemini", {
    messages: [{ role: "assistant", content: "Welcome!" }, user("hi")],
  });
  assert.is(changed, null);
});

for (const channel of ["anthropic", "bedrock", "gemini"]) {
  test(`${channel}: a request of system messages alone sends them as the user's, and each is named`, async () => {
    const history = [
      { role: "system", content: "one" },
      { role: "developer", content: "two" },
    ];
    const { status, sent, changed, body } = await chat(channel, { messages: history });
    assert.is(status, 200, JSON.stringify(body));
    const turns = sent.messages ?? sent.contents;
    assert.equal([turns.length, turns[0].role], [1, "user"]);
    assert.match(JSON.stringify(turns), /one.*two/);
    assert.is(changed, "system-not-alone messages[0].role, system-not-alone messages[1].role");
  });
}

test("an error about a message after an inserted one names the index in the client's request", async () => {
  const history = [{ role: "assistant", content: "Welcome!" }, user([{ type: "video" }])];
  const { status, body } = await chat("bedrock", { messages: history });
  assert.equal([status, body.error.param], [400, "messages[1].content[0].type"]);
});

for (const channel of ["at-vllm", "at-lmstudio", "at-llamacpp", "ollama"]) {
  test(`${channel}: one system message comes first, and later ones are moved into the next user turn`, async () => {
    const history = [
      { role: "system", content: "one" },
      { role: "developer", content: "two" },
      user("a"),
      { role: "system", content: "three" },
      { role: "assistant", content: "b" },
      user("c"),
      { role: "system", content: "four" },
    ];
    const { status, sent, changed } = await chat(channel, { messages: history });
    assert.is(status, 200);
    assert.equal(
      sent.messages.map(({ role, content }: any) => [role, content]),
      [
        ["system", "one\n\ntwo"],
        ["user", "a"],
        ["assistant", "b"],
        ["user", "three\n\nc\n\nfour"],
      ],
    );
    for (const at of [1, 3, 6]) assert.match(changed ?? "", `later-system-to-user messages[${at}]`);
  });
}

// ------------------------------------------------------------------------------------------------- Unicode

for (const channel of ["anthropic", "bedrock", "gemini", "mistral", "ollama", "at-cerebras"]) {
  test(`${channel}: a lone surrogate is replaced wherever it occurs`, async () => {
    const half = "cut \\ud83d end";
    const body = `{"model":"${modelAt(channel)}","messages":[
      {"role":"system","content":"${half}"},
      {"role":"user","content":[{"type":"text","text":"${half}"}]},
      {"role":"assistant","content":"${half}","tool_calls":[{"id":"c","type":"function",
        "function":{"name":"f","arguments":"{\\"x\\":\\"${half.replace("\\u", "\\\\u")}\\"}"}}]},
      {"role":"tool","tool_call_id":"c","content":"${half}"}],
      "tools":[{"type":"function","function":{"name":"f","description":"${half}",
        "parameters":{"type":"object","properties":{"x":{"type":"string","description":"${half}"}}}}}]}`;
    const { status, changed, sent, body: responseBody } = await chat(channel, body);
    assert.is(status, 200, JSON.stringify(responseBody));
    for (const place of [
      "messages[0].content",
      "messages[1].content[0].text",
      "messages[2].tool_calls[0].function.arguments",
      "messages[3].content",
      "tools[0].function.description",
    ])
      assert.match(changed ?? "", `well-formed-unicode ${place}`);
    assert.ok(JSON.stringify(sent).includes("cut \ufffd end"));
    assert.not.ok(/\\u+d83d/.test(JSON.stringify(sent)), "no half is left");
  });
}

test("a path with characters outside ASCII is encoded so that the header can still be split", async () => {
  const properties = { "k\ud83d\u00e9": { type: "string", description: "cut \ud83d" } };
  const { status, changed } = await chat("anthropic", {
    messages: [user("a")],
    tools: [tool({ type: "object", properties })],
  });
  assert.is(status, 200);
  const rules = (changed ?? "").split(", ").map((entry) => entry.split(" ")[0]);
  assert.equal(new Set(rules), new Set(["well-formed-unicode"]));
});

test("/v1/responses: a lone surrogate is replaced wherever it occurs", async () => {
  const half = "cut \ud83d end";
  for (const channel of ["anthropic", "bedrock", "gemini", "mistral", "at-cerebras"]) {
    const { status, sent, body } = await post("/v1/responses", channel, {
      store: false,
      instructions: half,
      tools: [
        {
          type: "function",
          name: "f",
          description: half,
          parameters: { type: "object", properties: {} },
        },
      ],
      input: [
        user(half),
        { type: "function_call", call_id: "c", name: "f", arguments: JSON.stringify({ x: half }) },
        { type: "function_call_output", call_id: "c", output: half },
      ],
    });
    assert.is(status, 200, `${channel}: ${JSON.stringify(body)}`);
    assert.not.ok(/\\u+d83d/.test(JSON.stringify(sent)), `${channel}: no half is left`);
  }
});

test("/v1/messages: a lone surrogate is replaced, translated or not", async () => {
  for (const channel of ["anthropic", "bedrock", "at-openai"]) {
    const { status, changed } = await messages(channel, { messages: [user("cut \ud83d end")] });
    assert.is(status, 200, channel);
    assert.is(changed, "well-formed-unicode messages[0].content");
  }
});

test("whole pairs and escaped backslashes stay as they are", async () => {
  const body = `{"model":"anthropic/claude-sonnet-4-5","messages":[{"role":"user","content":"\\ud83d\\ude00 \\\\ud83d"}]}`;
  const { sent, changed } = await chat("anthropic", body);
  assert.equal([sent.messages[0].content, changed], ["😀 \\ud83d", null]);
});

// --------------------------------------------------------------------------------------------------- tools

const schemas: Record<string, object> = {
  "anyOf at the root": {
    type: "object",
    properties: { a: { type: "string" }, b: { type: "string" } },
    anyOf: [{ required: ["a"] }, { required: ["b"] }],
  },
  "oneOf objects": {
    oneOf: [
      { type: "object", properties: { a: { type: "string" } }, required: ["a"] },
      { type: "object", properties: { b: { type: "number" } }, required: ["b"] },
    ],
  },
  "allOf with references": {
    $defs: { A: { properties: { a: { type: "string" } }, required: ["a"] } },
    allOf: [{ $ref: "#/$defs/A" }, { properties: { b: { type: "string" } } }],
  },
  "a reference at the root": {
    $ref: "#/definitions/A",
    definitions: { A: { type: "object", properties: { a: { type: "string" } } } },
  },
  "nulls at the root": { type: null, properties: null, required: null },
  "nulls within": {
    type: "object",
    properties: { a: { type: null, items: null }, b: { type: "object", properties: null } },
  },
  "a list of types": { type: ["object", "null"], properties: { a: { type: "string" } } },
  "lists where maps belong": { type: "object", properties: [], required: {} },
  "nulls among alternatives": {
    type: "object",
    properties: { a: { anyOf: [null, { type: "string" }], enum: null } },
  },
  "no type": { properties: { a: { type: "string" } } },
  "a reference to itself": { $ref: "#", properties: { a: { type: "string" } } },
};

for (const [what, schema] of Object.entries(schemas)) {
  test(`tool schema: ${what}`, async () => {
    for (const channel of ["anthropic", "bedrock"]) {
      const { status, changed, body } = await chat(channel, {
        tools: [tool(schema)],
        messages: [user("a")],
      });
      assert.is(status, 200, `${channel}: ${JSON.stringify(body)}`);
      assert.is(changed, "tool-schema tools[0].function.parameters");
      const native = await messages(channel, {
        tools: [{ name: "f", description: "the f", input_schema: schema }],
        messages: [user("a")],
      });
      assert.is(native.status, 200, `${channel}: ${JSON.stringify(native.body)}`);
    }
  });
}

test("alternatives at the root are folded, and the description states the choice", async () => {
  const sendSchema = async (schema: object) => {
    const { sent } = await chat("anthropic", { tools: [tool(schema)], messages: [user("a")] });
    return sent.tools[0];
  };
  const any = await sendSchema(schemas["anyOf at the root"]!);
  assert.equal(Object.keys(any.input_schema.properties), ["a", "b"]);
  assert.is(any.input_schema.required, undefined);
  assert.match(any.description, /^the f\n\n.*`a`.*`b`/s);
  const all = await sendSchema(schemas["allOf with references"]!);
  assert.equal(Object.keys(all.input_schema.properties), ["a", "b"]);
  assert.equal(all.input_schema.required, ["a"]);
  assert.is(all.description, "the f");
});

test("a null that is a value is kept", async () => {
  const schema = { type: "object", properties: { a: { default: null, enum: ["x", null] } } };
  const { sent, changed } = await chat("anthropic", {
    tools: [tool(schema)],
    messages: [user("a")],
  });
  assert.equal([sent.tools[0].input_schema, changed], [schema, null]);
});

// -------------------------------------------------------------------------------------- images and documents

const JPEG = "/9j/4AAQSkZJRgABAQEASABIAAD/2wBDAP//////";
const GIF = Buffer.from("GIF89a and so on").toString("base64");
const WEBP = Buffer.from("RIFF....WEBPVP8 ").toString("base64");

for (const channel of ["anthropic", "bedrock", "gemini"]) {
  test(`${channel}: the type of an image is determined from its bytes`, async () => {
    for (const [label, data] of [
      ["image/png", JPEG],
      ["image/jpeg", GIF],
      ["application/octet-stream", WEBP],
      ["", JPEG],
    ] as const) {
      const url = `data:${label};base64,${data}`;
      const image = { type: "image_url", image_url: { url } };
      const file = { type: "file", file: { filename: "a.png", file_data: url } };
      const text = { type: "text", text: "look" };
      for (const history of [
        [user([text, image])],
        [user([text, file])],
        [user("a"), call("c"), result("c", [text, image])],
      ]) {
        const { status, changed, body } = await chat(channel, { tools: TOOLS, messages: history });
        assert.is(status, 200, `${label}: ${JSON.stringify(body)}`);
        assert.match(changed ?? "", "image-type messages[");
      }
    }
  });

  test(`${channel}: the type of an image from /v1/messages is determined from its bytes`, async () => {
    const image = {
      type: "image",
      source: { type: "base64", media_type: "image/png", data: JPEG },
    };
    const done = { type: "tool_result", tool_use_id: "u", content: [image] };
    const use = { type: "tool_use", id: "u", name: "f", input: {} };
    for (const history of [
      [user([image])],
      [user("a"), { role: "assistant", content: [use] }, user([done])],
    ]) {
      const { status, changed, body } = await messages(channel, { messages: history });
      assert.is(status, 200, JSON.stringify(body));
      assert.match(changed ?? "", "image-type messages[");
    }
  });
}

const PDF = "data:application/pdf;base64,JVBERi0xLjQK";
const pdf = (filename: string) => ({ type: "file", file: { filename, file_data: PDF } });

test("a file is a PDF if its bytes are", async () => {
  const bytes = PDF.slice(PDF.indexOf(",") + 1);
  for (const channel of ["anthropic", "bedrock", "gemini"]) {
    for (const file_data of [bytes, `data:application/octet-stream;base64,${bytes}`]) {
      const file = { type: "file", file: { filename: "a", file_data } };
      const text = { type: "text", text: "read" };
      const { status, sent, changed, body } = await chat(channel, {
        messages: [user([text, file])],
      });
      assert.is(status, 200, `${channel}: ${JSON.stringify(body)}`);
      assert.match(JSON.stringify(sent), /application\/pdf|"format":"pdf"/);
      assert.is(changed, "image-type messages[0].content[1].file.file_data");
    }
  }
});

test("bedrock: a document has a text beside it, and a unique name", async () => {
  const history = [
    user([pdf("a.pdf")]),
    { role: "assistant", content: "b" },
    user([pdf("a.pdf"), pdf("a.pdf"), { type: "text", text: "and these" }]),
    call("c"),
    result("c", [pdf("ä/b.pdf")]),
  ];
  const { status, sent, changed, body } = await chat("bedrock", {
    tools: TOOLS,
    messages: history,
  });
  assert.is(status, 200, JSON.stringify(body));
  const names = JSON.stringify(sent).match(/"name":"a(-\d)?"/g);
  assert.equal(names, ['"name":"a"', '"name":"a-2"', '"name":"a-3"']);
  for (const change of [
    "text-beside-document messages[0].content",
    "unique-document-names messages[2].content[0].file.filename",
    "text-beside-document messages[4].content",
  ])
    assert.match(changed ?? "", change);
});

// ------------------------------------------------------------------------------------------------ cache marks

const MARK = { type: "ephemeral" };
const HOUR = { type: "ephemeral", ttl: "1h" };
const marked = {
  tools: [tool({ type: "object", properties: {} }, { cache_control: MARK })],
  messages: [
    { role: "system", content: [{ type: "text", text: "LONG", cache_control: MARK }] },
    user([{ type: "text", text: "q", cache_control: HOUR }]),
  ],
};
const markedMessages = {
  system: [{ type: "text", text: "LONG", cache_control: MARK }],
  tools: [{ name: "f", input_schema: { type: "object", properties: {} }, cache_control: MARK }],
  messages: [
    user([{ type: "text", text: "q", cache_control: HOUR }]),
    {
      role: "assistant",
      content: [{ type: "tool_use", id: "u", name: "f", input: {}, cache_control: MARK }],
    },
    user([{ type: "tool_result", tool_use_id: "u", content: "r", cache_control: HOUR }]),
  ],
};
const point = { cachePoint: { type: "default" } };
const hourPoint = { cachePoint: { type: "default", ttl: "1h" } };

test("bedrock: cache marks on system, tools and parts become cache points, with their ttl", async () => {
  const { sent, dropped } = await chat("bedrock", marked);
  assert.equal(sent.system, [{ text: "LONG" }, point]);
  assert.equal(sent.toolConfig.tools.at(-1), point);
  assert.equal(sent.messages[0].content, [{ text: "q" }, hourPoint]);
  assert.is(dropped, null);
  const native = await messages("bedrock", markedMessages);
  assert.equal(native.sent.system, [{ text: "LONG" }, point]);
  assert.equal(native.sent.toolConfig.tools.at(-1), point);
  assert.equal(native.sent.messages[0].content, [{ text: "q" }, hourPoint]);
  assert.equal(native.sent.messages[1].content.at(-1), point);
  assert.equal(native.sent.messages[2].content.at(-1), hourPoint);
  assert.is(native.dropped, null);
});

test("bedrock: requests to models without a cache have no cache points, and each mark is named", async () => {
  const { status, sent, dropped } = await chat("bedrock", {
    ...marked,
    model: "bedrock/meta.llama3-70b-instruct-v1:0",
  });
  assert.is(status, 200);
  assert.not.match(JSON.stringify(sent), "cachePoint");
  assert.is(
    dropped,
    "tools[0].cache_control, messages[0].content[0].cache_control, messages[1].content[0].cache_control",
  );
});

test("anthropic: marks on messages and functions are marks on blocks", async () => {
  const fn = { name: "f", description: "d", parameters: { type: "object" }, cache_control: MARK };
  const { sent, dropped } = await chat("anthropic", {
    tools: [{ type: "function", function: fn }],
    messages: [
      { role: "system", content: "LONG", cache_control: MARK },
      { ...user("q"), cache_control: HOUR },
      { ...call("c"), cache_control: MARK },
      { ...result("c"), cache_control: HOUR },
    ],
  });
  assert.equal(sent.system, [{ type: "text", text: "LONG", cache_control: MARK }]);
  assert.equal(sent.tools[0].cache_control, MARK);
  assert.equal(sent.messages[0].content, [{ type: "text", text: "q", cache_control: HOUR }]);
  assert.equal(sent.messages[1].content[0].cache_control, MARK);
  assert.equal(sent.messages[2].content[0].cache_control, HOUR);
  assert.is(dropped, null);
});

test("openrouter: marks from /v1/messages are kept; other servers of the format receive plain texts, and each mark is named", async () => {
  const { sent, dropped } = await messages("at-openrouter", markedMessages);
  assert.equal(sent.messages[0].content, [{ type: "text", text: "LONG", cache_control: MARK }]);
  assert.equal(sent.messages[1].content, [{ type: "text", text: "q", cache_control: HOUR }]);
  assert.equal(sent.tools[0].cache_control, MARK);
  assert.is(dropped, null);
  const plain = await messages("at-openai", markedMessages);
  assert.equal(plain.sent.messages[0], { role: "system", content: "LONG" });
  assert.equal(plain.sent.messages[1], user("q"));
  assert.not.match(JSON.stringify(plain.sent), "cache_control");
  assert.is(
    plain.dropped,
    [
      "tools[0].cache_control",
      "system[0].cache_control",
      "messages[0].content[0].cache_control",
      "messages[1].content[0].cache_control",
      "messages[2].content[0].cache_control",
    ].join(", "),
  );
});

test("gemini, mistral, ollama: marks are not supported, and each is named", async () => {
  for (const channel of ["gemini", "mistral", "ollama"]) {
    const { status, dropped } = await chat(channel, marked);
    assert.is(status, 200);
    assert.is(
      dropped,
      "tools[0].cache_control, messages[0].content[0].cache_control, messages[1].content[0].cache_control",
    );
  }
});

test("members that a translation drops are named at every depth", async () => {
  const { dropped } = await chat("anthropic", {
    tools: [tool({ type: "object" }, { defer: true })],
    messages: [{ ...user([{ type: "text", text: "a", mood: 1 }]), weight: 2 }],
  });
  assert.is(dropped, "tools[0].defer, messages[0].weight, messages[0].content[0].mood");
  const native = await messages("gemini", {
    tools: [{ name: "f", input_schema: { type: "object" }, defer_loading: true }],
    messages: [user([{ type: "text", text: "a", citations: [1] }])],
  });
  assert.is(native.dropped, "messages[0].content[0].citations, tools[0].defer_loading");
});

// -------------------------------------------------------------------------------------------------- DeepSeek

test("deepseek: a thinking model receives reasoning beside each earlier call", async () => {
  const history = [
    user("a"),
    call("call_0"),
    result("call_0"),
    { ...call("call_1"), reasoning: "hm" },
    result("call_1"),
    { ...call("call_2"), reasoning_content: "own" },
    result("call_2"),
  ];
  const ask = (model: string, more: object = {}) =>
    chat("at-deepseek", { model: `at-deepseek/${model}`, messages: history, ...more });
  const reasoningOf = ({ sent }: Outcome) =>
    [1, 3, 5].map((at) => sent.messages[at].reasoning_content);
  assert.equal(reasoningOf(await ask("deepseek-reasoner")), ["", "hm", "own"]);
  assert.equal(reasoningOf(await ask("deepseek-chat")), [undefined, undefined, "own"]);
  const thinking = await ask("deepseek-chat", { thinking: { type: "enabled" } });
  assert.equal(reasoningOf(thinking), ["", "hm", "own"]);
  assert.match(thinking.changed ?? "", "reasoning-beside-calls messages[1].reasoning_content");
});

test("deepseek: reasoning from /v1/messages and /v1/responses is sent as well, under the name that it accepts", async () => {
  const use = { type: "tool_use", id: "u", name: "f", input: {} };
  const done = { type: "tool_result", tool_use_id: "u", content: "r" };
  const model = "at-deepseek/deepseek-reasoner";
  const ofMessages = await messages("at-deepseek", {
    model,
    messages: [user("a"), { role: "assistant", content: [use] }, user([done])],
  });
  const ofResponses = await post("/v1/responses", "at-deepseek", {
    model,
    store: false,
    input: [
      user("a"),
      { type: "function_call", call_id: "c", name: "f", arguments: "{}" },
      { type: "function_call_output", call_id: "c", output: "r" },
    ],
  });
  const renamed = await chat("at-deepseek", {
    model,
    messages: [user("a"), { ...call("c"), reasoning: "hm" }, result("c")],
  });
  const nulled = await chat("at-deepseek", {
    model,
    messages: [user("a"), { ...call("c"), reasoning_content: null }, result("c")],
  });
  for (const [{ sent }, expected] of [
    [ofMessages, ""],
    [ofResponses, ""],
    [renamed, "hm"],
    [nulled, ""],
  ] as const)
    assert.is(sent.messages[1].reasoning_content, expected);
});

test("bedrock: documents from /v1/messages and /v1/responses follow the same rules", async () => {
  const source = { type: "base64", media_type: "application/pdf", data: "JVBERi0xLjQK" };
  const document = { type: "document", source };
  const ofMessages = await messages("bedrock", {
    messages: [user([document]), { role: "assistant", content: "k" }, user([document])],
  });
  const ofResponses = await post("/v1/responses", "bedrock", {
    store: false,
    input: [
      user([{ type: "input_file", filename: "ä/ü.pdf", file_data: PDF }]),
      user([{ type: "input_file", filename: `${"x".repeat(300)}.pdf`, file_data: PDF }]),
    ],
  });
  for (const { status, body, sent, changed } of [ofMessages, ofResponses]) {
    assert.is(status, 200, JSON.stringify(body));
    const documents = sent.messages
      .flatMap(({ content }: any) => content)
      .flatMap((part: any) => part.document ?? []);
    const names: string[] = documents.map(({ name }: any) => name);
    assert.is(new Set(names).size, 2);
    for (const name of names) assert.match(name, /^[\w\s()[\]-]{1,200}$/);
    assert.match(changed ?? "", "text-beside-document");
  }
});

test.run();

import { suite } from "../../support/suite.ts";
import * as assert from "uvu/assert";
import { asJson } from "../../support/target.ts";
import { readMessages } from "../../../plugins/messages/request.ts";
import { type InProcessGateway, startGateway } from "../../support/gateway.ts";
import { hookFiles, scriptedHook } from "../../support/hook-files.ts";
import { openai } from "../../support/upstreams/openai.ts";
import { type FakeProvider, startProvider } from "../../support/upstreams/server.ts";
import { json, startUpstream, type Upstream } from "../../support/upstreams/upstream.ts";

const test = suite("messages");
let gateway: InProcessGateway;
/** A server of Anthropic's format, and one of OpenAI's. */
let claude: Upstream;
let other: FakeProvider;

const message = {
  id: "msg_up",
  type: "message",
  role: "assistant",
  model: "claude-x",
  content: [
    { type: "thinking", thinking: "hm", signature: "c2lnbmVk" },
    { type: "text", text: "Hello", citations: [{ type: "char_location" }] },
  ],
  stop_reason: "end_turn",
  stop_sequence: null,
  usage: {
    input_tokens: 3,
    cache_read_input_tokens: 4,
    output_tokens: 5,
    server_tool_use: { web_search_requests: 1 },
  },
};
const events: [string, object][] = [
  ["message_start", { message: { ...message, content: [], stop_reason: null } }],
  [
    "content_block_start",
    { index: 0, content_block: { type: "thinking", thinking: "", signature: "" } },
  ],
  ["content_block_delta", { index: 0, delta: { type: "thinking_delta", thinking: "hm" } }],
  ["content_block_delta", { index: 0, delta: { type: "signature_delta", signature: "c2lnbmVk" } }],
  ["content_block_stop", { index: 0 }],
  ["ping", {}],
  ["content_block_start", { index: 1, content_block: { type: "text", text: "" } }],
  ["content_block_delta", { index: 1, delta: { type: "text_delta", text: "Hello" } }],
  ["content_block_stop", { index: 1 }],
  ["message_delta", { delta: { stop_reason: "end_turn" }, usage: { output_tokens: 5 } }],
  ["message_stop", {}],
];
const streamText = (list: [string, object][]) =>
  list
    .map(([type, fields]) => `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`)
    .join("");

test.before(async () => {
  claude = await startUpstream(() => {});
  other = await startProvider(openai);
  gateway = await startGateway({
    config: {
      channels: {
        claude: {
          provider: "anthropic",
          baseUrl: claude.url.replace("/v1", ""),
          apiKey: "up",
          maxRetries: 0,
        },
        other: { ...openai.channel(other.root), maxRetries: 0 },
      },
      models: {
        smart: { targets: ["claude/claude-x", "other/gpt-4o"] },
        either: { targets: ["other/gpt-4o", "claude/claude-x"] },
      },
    },
    files: scriptedHook,
  });
});
test.after(async () => {
  await gateway?.stop();
  await claude?.close();
  await other?.close();
});
test.before.each(() => {
  claude.seen.length = 0;
  other.seen.length = 0;
  other.views.length = 0;
  claude.answer = (request, res) =>
    request.body.stream
      ? res.writeHead(200, { "content-type": "text/event-stream" }).end(streamText(events))
      : json(res, message);
  other.next = { answer: { text: ["Hel", "lo"] } };
});

const ask = (body: object, headers: Record<string, string> = {}) =>
  gateway.request("POST", "/v1/messages", { model: "echo", max_tokens: 10, ...body }, { headers });
const user = (content: unknown) => [{ role: "user", content }];

test("credentials are accepted as bearer token or x-api-key, and errors have Anthropic's format and the request's id", async () => {
  const body = { model: "echo", max_tokens: 10, messages: user("Hi") };
  const post = (headers: Record<string, string>) =>
    gateway.request("POST", "/v1/messages", body, { token: null, headers });
  const good = await post({ "x-api-key": gateway.token, "anthropic-version": "2023-06-01" });
  assert.is(good.status, 200);
  assert.is(good.headers.get("request-id"), good.headers.get("x-request-id"));
  for (const headers of [{}, { "x-api-key": "wrong" }]) {
    const bad = await post(headers as Record<string, string>);
    const errorBody = (await bad.json()) as {
      type: string;
      error: { type: string };
      request_id: string;
    };
    assert.is(bad.status, 401);
    assert.equal([errorBody.type, errorBody.error.type], ["error", "authentication_error"]);
    assert.is(errorBody.request_id, bad.headers.get("x-request-id"));
  }
});

test("every response has the request's id in Anthropic's header, even if no handler ran", async () => {
  const headers = { "anthropic-version": "2023-06-01" };
  const requests: [string, string, unknown, number][] = [
    ["GET", "/v1/messages", undefined, 405],
    ["POST", "/v1/messages/none", {}, 404],
    ["POST", "/v1/messages", {}, 400],
    ["POST", "/v1/messages/count_tokens", { model: "echo", messages: user("Hi") }, 200],
    ["GET", "/v1/models", undefined, 200],
    ["GET", "/v1/models/echo", undefined, 200],
    ["GET", "/v1/models?limit=0", undefined, 400],
  ];
  for (const [method, path, body, status] of requests) {
    const response = await gateway.request(method, path, body, { headers });
    const id = response.headers.get("x-request-id");
    assert.equal([path, response.status, response.headers.get("request-id")], [path, status, id]);
  }
  const refused = await gateway.request("GET", "/v1/models", undefined, { token: null, headers });
  assert.equal([refused.status, refused.headers.has("request-id")], [401, true]);
  const chat = await gateway.request("POST", "/v1/chat/completions", {});
  assert.equal([chat.status, chat.headers.has("request-id")], [400, false]);
});

test("a whole response is a Message, and a stream consists of its events", async () => {
  const whole = (await (await ask({ messages: user("Hello dear") })).json()) as Record<
    string,
    unknown
  >;
  assert.match(String(whole["id"]), /^msg_\w+$/);
  assert.equal(
    { ...whole, id: "", usage: 0 },
    {
      id: "",
      type: "message",
      role: "assistant",
      model: "echo",
      // without `citations`, as Anthropic sends it: a client that checks types refuses null there
      content: [{ type: "text", text: "Hello dear" }],
      stop_reason: "end_turn",
      stop_sequence: null,
      usage: 0,
    },
  );
  const streamed = await ask({ messages: user("Hello dear"), stream: true });
  assert.match(streamed.headers.get("content-type")!, "text/event-stream");
  assert.is(streamed.headers.get("x-portico-channel"), "echo");
  const blocks = (await streamed.text()).trim().split("\n\n");
  assert.equal(
    blocks.map((block) => /^event: (\w+)\ndata: /.exec(block)?.[1]),
    [
      "message_start",
      "ping",
      "content_block_start",
      "content_block_delta",
      "content_block_delta",
      "content_block_stop",
      "message_delta",
      "message_stop",
    ],
  );
});

test("the first event estimates the tokens of the prompt if the channel reports them at the end", async () => {
  const request = { model: "other/gpt-4o", messages: user("word ".repeat(200)), stream: true };
  const events = (await (await ask(request)).text()).trim().split("\n\n");
  const data = events.map((event) => JSON.parse(/^data: (.*)$/m.exec(event)![1]!));
  const start = data.find(({ type }) => type === "message_start").message.usage.input_tokens;
  assert.ok(start > 200 && start < 300, String(start));
  // The upstream's own count: 20 tokens, 5 of them from its cache.
  const end = data.find(({ type }) => type === "message_delta").usage;
  assert.equal([end.input_tokens, end.cache_read_input_tokens], [15, 5]);
});

test("an Anthropic channel receives the request unchanged, and its response is passed on unchanged", async () => {
  const body = {
    model: "claude/claude-x",
    max_tokens: 10,
    messages: [
      ...user([{ type: "text", text: "Hi", cache_control: { type: "ephemeral" } }]),
      { role: "assistant", content: message.content },
      ...user("Go on"),
    ],
    tools: [{ type: "web_search_20250305", name: "web_search" }],
    thinking: { type: "enabled", budget_tokens: 1024 },
    context_management: { edits: [] },
  };
  const whole = await ask(body, {
    "anthropic-beta": "context-1",
    "anthropic-version": "2026-10-21",
  });
  // Clients compare the model with the one that they requested.
  assert.equal(await whole.json(), { ...message, model: "claude/claude-x" });
  assert.is(whole.headers.get("x-portico-model"), "claude-x");
  assert.is(whole.headers.get("x-portico-dropped"), null);
  const [upstreamRequest] = claude.seen;
  assert.equal(upstreamRequest!.body, { ...body, model: "claude-x" });
  assert.is(upstreamRequest!.path, "/v1/messages");
  const {
    "x-api-key": key,
    "anthropic-beta": beta,
    "anthropic-version": version,
  } = upstreamRequest!.headers;
  assert.equal([key, beta, version], ["up", "context-1", "2026-10-21"]);
  const streamed = await ask({ ...body, stream: true });
  const expected = streamText(events).replace('"model":"claude-x"', '"model":"claude/claude-x"');
  assert.is(await streamed.text(), expected);
});

test("calls of an Anthropic channel keep their arguments if their ids are replaced", async () => {
  const callIds = ["toolu_1", "toolu_2"];
  const blocks = callIds.flatMap((id, index): [string, object][] => [
    [
      "content_block_start",
      { index, content_block: { type: "tool_use", id, name: "calc", input: {} } },
    ],
    ["content_block_delta", { index, delta: { type: "input_json_delta", partial_json: '{"x":' } }],
    [
      "content_block_delta",
      { index, delta: { type: "input_json_delta", partial_json: `${index}}` } },
    ],
    ["content_block_stop", { index }],
  ]);
  claude.answer = (_, res) =>
    res
      .writeHead(200, { "content-type": "text/event-stream" })
      .end(streamText([events[0]!, ...blocks, ...events.slice(-2)]));
  const earlier = callIds.map((id) => ({ type: "tool_use", id, name: "calc", input: {} }));
  const results = callIds.map((id) => ({ type: "tool_result", tool_use_id: id, content: "r" }));
  const messages = [...user("Hi"), { role: "assistant", content: earlier }, ...user(results)];
  const tools = [{ name: "calc", input_schema: { type: "object" } }];
  const response = await ask({ model: "claude/claude-x", messages, tools, stream: true });
  const args: Record<number, string> = {};
  for (const event of (await response.text()).trim().split("\n\n")) {
    const { type, index, delta, content_block } = JSON.parse(event.split("data: ")[1]!);
    if (type === "content_block_start") {
      assert.not.ok(callIds.includes(content_block.id), "the id is a new one");
      args[index] = "";
    }
    if (delta?.type === "input_json_delta") args[index] += delta.partial_json;
  }
  assert.equal(Object.values(args), ['{"x":0}', '{"x":1}']);
});

test("a hook that only observes requests changes none: the channel receives the request unchanged", async () => {
  const baseUrl = claude.url.replace("/v1", "");
  const channel = { provider: "anthropic", baseUrl, apiKey: "k", models: ["*"] };
  const looking = await startGateway({
    config: { channels: { claude: channel } },
    files: hookFiles("looks", "event.context.request.messages.length;", { events: "chat:request" }),
  });
  try {
    const body = { model: "claude/claude-x", max_tokens: 9, messages: user("Hi"), speed: "fast" };
    const response = await looking.request("POST", "/v1/messages", body);
    assert.is(response.status, 200, await response.text());
    assert.is(response.headers.get("x-portico-dropped"), null, "it was not translated");
    assert.is(claude.seen.at(-1)!.body.speed, "fast");
  } finally {
    await looking.stop();
  }
});

test("features of Anthropic alone are sent to an Anthropic channel, and every other channel refuses them", async () => {
  const file = { type: "file", file_id: "f" };
  const rows = [
    { messages: user([{ type: "search_result", source: "s", title: "t", content: [] }]) },
    { messages: user([{ type: "image", source: file }]) },
    {
      messages: user([
        { type: "document", source: { type: "url", url: "https://example.com/a.pdf" } },
      ]),
    },
    {
      messages: [
        ...user("Hi"),
        { role: "assistant", content: [{ type: "server_tool_use", id: "s", name: "w" }] },
      ],
    },
    { messages: user("Hi"), tools: [{ type: "web_search_20250305", name: "web_search" }] },
  ];
  for (const row of rows) {
    for (const [model, status] of [
      ["other/gpt-4o", 400],
      ["agent", 400],
      ["claude/claude-x", 200],
      ["either", 200],
    ] as const) {
      const response = await ask({ model, ...row });
      assert.is(response.status, status, `${model} ${JSON.stringify(row)}`);
      const { error } = (await response.json()) as { error?: { message: string } };
      if (status === 400)
        assert.match(
          error!.message,
          /^(?:messages\[\d\]\.content\[0\](?:\.\w+)?|tools\[0\])\.type: /,
        );
    }
  }
  assert.is(other.seen.length, 0);
  assert.is(claude.seen.length, 2 * rows.length);
});

test("reasoning of other providers is not sent to Anthropic, and its own is", async () => {
  await ask({
    model: "claude/claude-x",
    messages: [
      ...user("Hi"),
      {
        role: "assistant",
        content: [
          { type: "thinking", thinking: "mine", signature: "good" },
          { type: "thinking", thinking: "other", signature: "" },
          { type: "redacted_thinking", data: "opaque" },
          { type: "redacted_thinking", data: "portico.e30" },
          { type: "text", text: "Yes" },
        ],
      },
      ...user("Go on"),
    ],
  });
  assert.equal(
    claude.seen[0]!.body.messages[1].content.map(
      (block: { thinking?: string; data?: string; text?: string }) =>
        block.thinking ?? block.data ?? block.text,
    ),
    ["mine", "opaque", "Yes"],
  );
});

test("if Anthropic fails, the response of the next channel has the same format", async () => {
  claude.answer = (_, res) =>
    json(res, { type: "error", error: { type: "api_error", message: "down" } }, 500);
  for (const stream of [false, true]) {
    const lost = { context_management: {}, made_up: 1, seed: null };
    const response = await ask({ model: "smart", messages: user("Hi"), stream, ...lost });
    assert.is(response.headers.get("x-portico-channel"), "other");
    assert.is(response.headers.get("x-portico-dropped"), "context_management, made_up");
    assert.match(await response.text(), stream ? /text_delta","text":"Hel"/ : '"text":"Hello"');
  }
  // A stream that begins with an error has not begun.
  claude.answer = (_, res) =>
    res
      .writeHead(200, { "content-type": "text/event-stream" })
      .end(streamText([["error", { error: { type: "overloaded_error", message: "busy" } }]]));
  const response = await ask({ model: "smart", messages: user("Hi"), stream: true });
  assert.is(response.headers.get("x-portico-channel"), "other");
  await response.text();
});

test("an error within an Anthropic stream ends it once, in Anthropic's format", async () => {
  claude.answer = (_, res) =>
    res
      .writeHead(200, { "content-type": "text/event-stream" })
      .end(
        streamText([
          ...events.slice(0, 4),
          ["error", { error: { type: "overloaded_error", message: "busy" } }],
        ]),
      );
  const text = await (
    await ask({ model: "claude/claude-x", messages: user("Hi"), stream: true })
  ).text();
  const errors = text.split("\n\n").filter((block) => block.startsWith("event: error"));
  assert.is(errors.length, 1);
  assert.equal(JSON.parse(errors[0]!.split("data: ")[1]!).error, {
    type: "overloaded_error",
    message: "busy",
  });
});

test("hooks can observe, change, reply to, refuse and extend these messages like all others", async () => {
  const text = async (content: string, more: object = {}) => {
    const response = await ask({ messages: user(content), ...more });
    return [response.status, await response.text()] as const;
  };
  for (const stream of [false, true]) {
    assert.match((await text("reply please", { stream }))[1], stream ? /by .*hook/s : "by a hook");
    const [status, blocked] = await text("block please", { stream });
    assert.equal(
      [status, JSON.parse(blocked).error],
      [403, { type: "permission_error", message: "not here" }],
    );
    assert.match((await text("change please", { stream }))[1], "changed");
    const [, pushed] = await text("push please", { stream, model: "claude/claude-x" });
    assert.match(pushed, "first\\n\\n");
  }
  await text("change please", { model: "claude/claude-x" });
  assert.is(claude.seen.at(-1)!.body.messages[0].content, "changed");
});

test("count_tokens estimates", async () => {
  const count = async (body: object) =>
    (await gateway.json("POST", "/v1/messages/count_tokens", { model: "echo", ...body }))
      .input_tokens as number;
  const short = await count({ messages: user("Hi") });
  const long = await count({ messages: user("word ".repeat(1000)) });
  assert.ok(short > 0 && short < 20, String(short));
  assert.ok(long > 1000 && long < 1600, String(long));
  const bad = await gateway.request("POST", "/v1/messages/count_tokens", {
    model: "echo",
    messages: [],
  });
  assert.is(bad.status, 400);
});

test("a request that is wrong is refused with the place of the error", () => {
  const rows: [object, string][] = [
    [{ model: 3 }, "model"],
    [{ model: "" }, "model"],
    [{ max_tokens: undefined }, "max_tokens"],
    [{ max_tokens: 1.5 }, "max_tokens"],
    [{ max_tokens: -1 }, "max_tokens"],
    [{ messages: undefined }, "messages"],
    [{ messages: [] }, "messages"],
    [{ messages: [{ role: "robot", content: "" }] }, "messages[0].role"],
    [{ messages: user(3) }, "messages[0].content"],
    [{ messages: user([]) }, "messages[0].content"],
    [{ messages: user([{ type: "text" }]) }, "messages[0].content[0].text"],
    [{ messages: user([{ text: "x" }]) }, "messages[0].content[0].type"],
    [{ messages: user([{ type: "image" }]) }, "messages[0].content[0].source"],
    [{ messages: user([{ type: "tool_result" }]) }, "messages[0].content[0].tool_use_id"],
    [
      { messages: [{ role: "assistant", content: [{ type: "tool_use", id: "a" }] }] },
      "messages[0].content[0].name",
    ],
    [{ system: 3 }, "system"],
    [{ system: [{ type: "image" }] }, "system[0].type"],
    [{ stream: "yes" }, "stream"],
    [{ temperature: 2 }, "temperature"],
    [{ stop_sequences: [1] }, "stop_sequences[0]"],
    [{ tools: [{ name: "a" }] }, "tools[0].input_schema"],
    [{ tools: [{ input_schema: {} }] }, "tools[0].name"],
    [
      { tools: [{ name: "a", input_schema: {} }], tool_choice: { type: "maybe" } },
      "tool_choice.type",
    ],
    [{ thinking: { type: "enabled" } }, "thinking.budget_tokens"],
    [{ thinking: { type: 7 } }, "thinking.type"],
    [{ thinking: { budget_tokens: 2000 } }, "thinking.type"],
    [{ metadata: { user_id: 1 } }, "metadata.user_id"],
    [
      { messages: user([{ type: "image", source: { type: [] } }]) },
      "messages[0].content[0].source.type",
    ],
    [
      { messages: user([{ type: "document", source: { data: "x" } }]) },
      "messages[0].content[0].source.type",
    ],
    [
      { messages: user([{ type: "tool_result", tool_use_id: "a", is_error: "yes" }]) },
      "messages[0].content[0].is_error",
    ],
    [
      {
        messages: [
          { role: "assistant", content: [{ type: "thinking", thinking: "a", signature: 1 }] },
        ],
      },
      "messages[0].content[0].signature",
    ],
  ];
  for (const [change, param] of rows) {
    try {
      readMessages({ model: "m", max_tokens: 1, messages: user("Hi"), ...change });
      assert.unreachable(JSON.stringify(change));
    } catch (error) {
      assert.is((error as { param?: string }).param, param, JSON.stringify(change));
    }
  }
});

test("settings become the members of a request in OpenAI's format", () => {
  const read = (body: object) =>
    asJson(readMessages({ model: "m", max_tokens: 5, messages: user("Hi"), ...body }).request);
  const tools = [{ name: "a", description: "d", input_schema: { type: "object" } }];
  const choice = (tool_choice: object) => read({ tools, tool_choice })["tool_choice"];
  assert.equal(read({ tools }).tools, [
    { type: "function", function: { name: "a", description: "d", parameters: { type: "object" } } },
  ]);
  assert.equal(choice({ type: "any" }), "required");
  assert.equal(choice({ type: "none" }), "none");
  assert.equal(choice({ type: "tool", name: "a" }), { type: "function", function: { name: "a" } });
  assert.is(
    read({ tools, tool_choice: { type: "auto", disable_parallel_tool_use: true } })[
      "parallel_tool_calls"
    ],
    false,
  );
  assert.not.ok("tool_choice" in read({ tool_choice: { type: "auto" } }));
  const thinks = (budget_tokens: number) =>
    read({ thinking: { type: "enabled", budget_tokens } })["reasoning_effort"];
  assert.equal([thinks(1024), thinks(4000), thinks(20_000)], ["low", "medium", "high"]);
  for (const effort of ["low", "xhigh", "max"])
    assert.is(read({ output_config: { effort } })["reasoning_effort"], effort);
  assert.equal(
    read({ output_config: { format: { type: "json_schema", schema: { a: 1 } } } })[
      "response_format"
    ],
    {
      type: "json_schema",
      json_schema: { name: "answer", schema: { a: 1 }, strict: true },
    },
  );
  assert.is(read({ metadata: { user_id: "u" } })["user"], "u");
  const long = String(read({ metadata: { user_id: "u".repeat(100) } })["user"]);
  assert.ok(long.length <= 64 && long !== read({ metadata: { user_id: "v".repeat(100) } })["user"]);
  assert.equal(read({ stop_sequences: ["a", "b"] })["stop"], ["a", "b"]);
  assert.is(read({ max_tokens: 0 })["max_tokens"], 1);
});

test("documents, results with images, and failed results are translated", () => {
  const png = { type: "image", source: { type: "base64", media_type: "image/png", data: "AA" } };
  const { messages } = readMessages({
    model: "m",
    max_tokens: 5,
    messages: [
      ...user([
        {
          type: "document",
          title: "a.pdf",
          source: { type: "base64", media_type: "application/pdf", data: "BB" },
        },
        { type: "document", source: { type: "text", media_type: "text/plain", data: "plain" } },
        { type: "image", source: { type: "url", url: "https://x.test/a.png" } },
      ]),
      {
        role: "assistant",
        content: [{ type: "tool_use", id: "t1", name: "shot", input: { a: 1 } }],
      },
      ...user([
        {
          type: "tool_result",
          tool_use_id: "t1",
          content: [{ type: "text", text: "here" }, png],
          is_error: true,
        },
        { type: "text", text: "Well?" },
      ]),
    ],
  }).request;
  assert.equal(messages[0]!.content, [
    { type: "file", file: { filename: "a.pdf", file_data: "data:application/pdf;base64,BB" } },
    { type: "text", text: "plain" },
    { type: "image_url", image_url: { url: "https://x.test/a.png" } },
  ]);
  assert.equal(asJson(messages[1]), {
    role: "assistant",
    content: null,
    tool_calls: [{ id: "t1", type: "function", function: { name: "shot", arguments: '{"a":1}' } }],
  });
  assert.equal(messages[2], { role: "tool", tool_call_id: "t1", content: "Error: here" });
  assert.equal(messages[3]!.content, [
    { type: "text", text: "From the result of the tool call t1:" },
    { type: "image_url", image_url: { url: "data:image/png;base64,AA" } },
    { type: "text", text: "Well?" },
  ]);
});

test.run();

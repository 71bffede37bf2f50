/** A client and a channel of one format: members that no feature changes are passed on as the channel sent them. */
import * as assert from "uvu/assert";
import { type InProcessGateway, startGateway } from "../../support/gateway.ts";
import { suite } from "../../support/suite.ts";
import {
  chunk,
  DONE,
  json,
  startUpstream,
  stream,
  type Upstream,
} from "../../support/upstreams/upstream.ts";

const test = suite("same format");
let up: Upstream;
let gateway: InProcessGateway;

const plugin = `
import { definePlugin } from "portico";
export default definePlugin({
  name: "redact",
  setup(ctx) {
    const watch = (holds) => holds
      ? ctx.on("message:sending", ({ context }) => {
          context.content = context.content.replaceAll("bad", "***");
        })
      : ctx.on("message:streaming", ({ context }) => {
          context.text = context.text.replaceAll("bad", "***");
        });
    let undo = watch(false);
    ctx.route("POST", "/t/watch", { access: "gateway" }, async (call) => {
      const { holds } = await call.json();
      undo();
      undo = watch(holds);
      return {};
    });
  },
});
`;

test.before(async () => {
  up = await startUpstream(() => {});
  const base = { models: ["*"], maxRetries: 0, apiKey: "sk-secret-of-the-channel" };
  const root = up.url.replace(/\/v1$/, "");
  gateway = await startGateway({
    config: {
      channels: {
        oai: { ...base, provider: "openai", baseUrl: up.url },
        claude: { ...base, provider: "anthropic", baseUrl: root },
        google: { ...base, provider: "gemini", baseUrl: root },
      },
    },
    files: { "plugins/redact/plugin.ts": plugin },
  });
});
test.after(async () => {
  await gateway?.stop();
  await up?.close();
});

const formatEvent = (type: string, fields: object) =>
  `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`;

const messages = [
  formatEvent("message_start", {
    message: {
      id: "msg_up",
      type: "message",
      role: "assistant",
      model: "claude-x",
      content: [],
      container: { id: "c1" },
      usage: { input_tokens: 3, cache_creation: { ephemeral_5m_input_tokens: 2 } },
    },
  }),
  formatEvent("content_block_start", {
    index: 0,
    content_block: { type: "thinking", thinking: "", signature: "" },
  }),
  formatEvent("content_block_delta", {
    index: 0,
    delta: { type: "thinking_delta", thinking: "hm" },
  }),
  formatEvent("content_block_delta", {
    index: 0,
    delta: { type: "signature_delta", signature: "c2ln" },
  }),
  formatEvent("content_block_stop", { index: 0 }),
  formatEvent("ping", {}),
  formatEvent("content_block_start", { index: 1, content_block: { type: "text", text: "" } }),
  formatEvent("content_block_delta", {
    index: 1,
    delta: { type: "text_delta", text: "good" },
    extra: 1,
  }),
  formatEvent("content_block_delta", {
    index: 1,
    delta: { type: "citations_delta", citation: { cited: "x" } },
  }),
  formatEvent("content_block_stop", { index: 1 }),
  formatEvent("content_block_start", {
    index: 2,
    content_block: { type: "server_tool_use", id: "s", name: "w", input: {} },
  }),
  formatEvent("content_block_delta", {
    index: 2,
    delta: { type: "input_json_delta", partial_json: '{"q":1}' },
  }),
  formatEvent("content_block_stop", { index: 2 }),
  formatEvent("content_block_start", {
    index: 3,
    content_block: { type: "tool_use", id: "toolu_1", name: "calc", input: {} },
  }),
  formatEvent("content_block_stop", { index: 3 }),
  formatEvent("message_delta", {
    delta: { stop_reason: "tool_use", stop_sequence: null },
    usage: { output_tokens: 5, server_tool_use: { web_search_requests: 1 } },
    context_management: { applied_edits: [] },
  }),
  formatEvent("message_stop", {}),
];

const ask = (path: string, model: string, more: object = {}) =>
  gateway.request("POST", path, {
    model,
    max_tokens: 9,
    stream: true,
    messages: [{ role: "user", content: "go" }],
    ...more,
  });

test("Messages: every event passes while a hook observes, and only the model is replaced by the requested name", async () => {
  up.answer = (_, res) => stream(res, ...messages);
  const text = await (await ask("/v1/messages", "claude/claude-x")).text();
  const expected = messages.join("").replace('"model":"claude-x"', '"model":"claude/claude-x"');
  assert.is(text, expected);
});

test("Messages: a text that a hook changes stays in its block, and everything else passes", async () => {
  const events = messages.map((message) => message.replace('"text":"good"', '"text":"bad"'));
  up.answer = (_, res) => stream(res, ...events);
  const text = await (await ask("/v1/messages", "claude/claude-x")).text();
  const changed = formatEvent("content_block_delta", {
    index: 1,
    delta: { type: "text_delta", text: "***" },
  });
  const expected = messages
    .join("")
    .replace('"model":"claude-x"', '"model":"claude/claude-x"')
    .replace(messages[7]!, changed);
  assert.is(text, expected);
});

test("Messages: only the event with an id that the conversation already contains is changed", async () => {
  up.answer = (_, res) => stream(res, ...messages);
  const earlier = [
    { role: "user", content: "go" },
    { role: "assistant", content: [{ type: "tool_use", id: "toolu_1", name: "calc", input: {} }] },
    { role: "user", content: [{ type: "tool_result", tool_use_id: "toolu_1", content: "r" }] },
  ];
  const tools = [{ name: "calc", input_schema: { type: "object" } }];
  const response = await ask("/v1/messages", "claude/claude-x", { messages: earlier, tools });
  const text = await response.text();
  assert.not.match(text, "toolu_1");
  assert.match(text, /"type":"tool_use","id":"call_\w+","name":"calc"/);
  const starts = [...text.matchAll(/"type":"content_block_start","index":(\d)/g)].map(([, i]) => i);
  const stops = [...text.matchAll(/"type":"content_block_stop","index":(\d)/g)].map(([, i]) => i);
  assert.equal(
    [starts, stops],
    [
      ["0", "1", "2", "3"],
      ["0", "1", "2", "3"],
    ],
  );
  assert.match(text, "context_management");
  assert.match(text, "citations_delta");
});

test("OpenAI: unknown members pass, even beside a text that a hook changes", async () => {
  const odd = (delta: object, finish: string | null = null) =>
    chunk(delta, finish, { system_fingerprint: "fp_1", obfuscation: "x", provider: { name: "p" } });
  const events = [
    odd({ role: "assistant", content: "" }),
    odd({ content: "good" }),
    odd({
      content: "",
      annotations: [{ type: "url_citation", url_citation: { url: "u" } }],
      odd: { a: 1 },
    }),
    odd({ content: "bad" }),
    odd({}, "stop"),
    DONE,
  ];
  up.answer = (_, res) => stream(res, ...events);
  const text = await (await ask("/v1/chat/completions", "oai/m")).text();
  const out = text.split("\n\n").map((event) => `${event}\n\n`);
  assert.equal(out.slice(0, 3), events.slice(0, 3));
  const changed = JSON.parse(out[3]!.slice(6));
  assert.equal(changed.choices[0].delta, { content: "***" });
  assert.equal(
    [changed.system_fingerprint, changed.obfuscation, changed.provider],
    ["fp_1", "x", { name: "p" }],
  );
  assert.equal(out.slice(4, 6), events.slice(4, 6));
});

/** Runs it with a handler that holds streams until they are complete. */
async function whileHeld(run: () => Promise<void>): Promise<void> {
  await gateway.request("POST", "/t/watch", { holds: true });
  try {
    await run();
  } finally {
    await gateway.request("POST", "/t/watch", { holds: false });
  }
}

const textBlock = (index: number, text: string) => [
  formatEvent("content_block_start", { index, content_block: { type: "text", text: "" } }),
  formatEvent("content_block_delta", { index, delta: { type: "text_delta", text } }),
  formatEvent("content_block_stop", { index }),
];

test("Messages: a stream that was held keeps its hosted tools, unknown events and blocks", () =>
  whileHeld(async () => {
    const blocks = (text: string) => [
      ...messages.slice(0, -6),
      ...textBlock(3, "fine, then "),
      formatEvent("telepathy", { depth: { of: "thought" } }),
      ...textBlock(4, text),
      ...messages.slice(-2),
    ];
    for (const [text, expected] of [
      ["bad", "***"],
      ["good", "good"],
    ]) {
      up.answer = (_, res) => stream(res, ...blocks(text!));
      const out = await (await ask("/v1/messages", "claude/claude-x")).text();
      const own = blocks(expected!).join("");
      assert.is(out, own.replace('"model":"claude-x"', '"model":"claude/claude-x"'));
    }
  }));

test("Messages: only the text of a whole response changes", () =>
  whileHeld(async () => {
    const message = (texts: string[]) => ({
      ...{ id: "msg_up", type: "message", role: "assistant", model: "claude-x" },
      content: [
        { type: "server_tool_use", id: "s1", name: "web_search", input: { query: "q" } },
        { type: "web_search_tool_result", tool_use_id: "s1", content: [{ url: "u" }] },
        ...texts.map((text) => ({ type: "text", text, citations: [{ cited_text: "c" }] })),
        { type: "telepathy", depth: 3 },
      ],
      ...{ stop_reason: "end_turn", stop_sequence: null, container: { id: "c1" } },
      usage: { input_tokens: 3, output_tokens: 2 },
    });
    for (const [texts, expected] of [
      [
        ["so ", "bad"],
        ["so ", "***"],
      ],
      [["fine"], ["fine"]],
    ]) {
      up.answer = (_, res) => json(res, message(texts!));
      const response = await ask("/v1/messages", "claude/claude-x", { stream: false });
      assert.equal(await response.json(), { ...message(expected!), model: "claude/claude-x" });
    }
  }));

test("OpenAI: a stream that was held keeps unknown members", () =>
  whileHeld(async () => {
    const events = (text: string) => [
      chunk({ role: "assistant", content: "" }, null, { provider: { name: "p" } }),
      chunk({ content: "so " }, null, { obfuscation: "x" }),
      chunk({ odd: { a: 1 } }, null, { obfuscation: "y" }),
      chunk({ content: text }, null, {}),
      chunk({ content: " it is" }, null, { obfuscation: "z" }),
      chunk({}, "stop"),
      DONE,
    ];
    for (const [text, expected] of [
      ["bad", "***"],
      ["good", "good"],
    ]) {
      up.answer = (_, res) => stream(res, ...events(text!));
      const out = await (await ask("/v1/chat/completions", "oai/m")).text();
      const parsed = (all: string) =>
        [...all.matchAll(/^data: (\{.*)$/gm)].map(([, data]) => JSON.parse(data!));
      assert.equal(parsed(out), parsed(events(expected!).join("")));
    }
  }));

const digits = "9007199254740993123";

test("an integer beyond 2^53 keeps its digits between formats, in responses and in history", async () => {
  const input = `{"type":"tool_use","id":"toolu_1","name":"calc","input":{"n":${digits}}}`;
  const message = `{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[${input}],"stop_reason":"tool_use","usage":{"input_tokens":1,"output_tokens":1}}`;
  const call = `{"functionCall":{"name":"calc","args":{"n":${digits}}}}`;
  const generated = `{"candidates":[{"content":{"parts":[${call}]},"finishReason":"STOP"}]}`;
  const tools = [{ type: "function", function: { name: "calc", parameters: { type: "object" } } }];
  const ownTools = [{ name: "calc", input_schema: { type: "object" } }];
  for (const [model, body] of [
    ["claude/claude-x", message],
    ["google/gemini-2.5-pro", generated],
  ] as const) {
    up.answer = (_, res) => {
      res.writeHead(200, { "content-type": "application/json" });
      res.end(body);
    };
    const chat = await ask("/v1/chat/completions", model, { stream: false, tools });
    assert.match((await chat.text()).replaceAll("\\", ""), `{"n":${digits}}`, model);
    const own = await ask("/v1/messages", model, { stream: false, tools: ownTools });
    assert.match(await own.text(), `{"n":${digits}}`, model);
    // and back
    const history = [
      { role: "user", content: "go" },
      {
        role: "assistant",
        content: null,
        tool_calls: [
          { id: "c1", type: "function", function: { name: "calc", arguments: `{"n":${digits}}` } },
        ],
      },
      { role: "tool", tool_call_id: "c1", content: "r" },
    ];
    await ask("/v1/chat/completions", model, { stream: false, tools, messages: history });
    assert.match(up.seen.at(-1)!.raw, `{"n":${digits}}`, model);
  }
  const rawRequest = `{"model":"oai/m","max_tokens":9,"messages":[{"role":"user","content":"go"},{"role":"assistant","content":[{"type":"tool_use","id":"t1","name":"calc","input":{"n":${digits}}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"r"}]}]}`;
  up.answer = (_, res) => json(res, { choices: [{ message: { content: "ok" } }] });
  const response = await gateway.request("POST", "/v1/messages", rawRequest);
  assert.is(response.status, 200, await response.text());
  assert.match(up.seen.at(-1)!.raw.replaceAll("\\", ""), `{"n":${digits}}`);
});

test("an integer beyond 2^53 keeps its digits in the schemas of tools, between formats", async () => {
  up.answer = (_, res) => json(res, { error: { message: "enough" } }, 400);
  const schema = `{"type":"object","properties":{"n":{"type":"integer","enum":[${digits}]}}}`;
  const turn = `"max_tokens":9,"messages":[{"role":"user","content":"go"}]`;
  for (const model of ["oai/m", "claude/claude-x", "google/gemini-2.5-pro"]) {
    const tools = `[{"type":"function","function":{"name":"calc","parameters":${schema}}}]`;
    for (const body of [
      `{"model":"${model}",${turn},"tools":${tools}}`,
      `{"model":"\\u006d${model}","models":["${model}"],${turn},"tools":${tools}}`,
    ]) {
      await gateway.request("POST", "/v1/chat/completions", body);
      assert.match(up.seen.at(-1)!.raw, `[${digits}]`, body);
    }
    const ownTools = `[{"name":"calc","input_schema":${schema}}]`;
    await gateway.request(
      "POST",
      "/v1/messages",
      `{"model":"${model}",${turn},"tools":${ownTools}}`,
    );
    assert.match(up.seen.at(-1)!.raw, `[${digits}]`, model);
  }
  const odd = `{"model":"oai/m",${turn},"seed":${digits}}`;
  assert.is((await gateway.request("POST", "/v1/chat/completions", odd)).status, 400);
});

test("ids of calls stay as a channel of Anthropic's format sent them, unless the history already contains one", async () => {
  const use = (id: string) => ({ type: "tool_use", id, name: "f", input: {} });
  const start = { id: "msg_up", type: "message", role: "assistant", model: "claude-x", usage: {} };
  const events = [
    formatEvent("message_start", { message: { ...start, content: [] } }),
    ...["toolu_1", "toolu_2"].flatMap((id, index) => [
      formatEvent("content_block_start", { index, content_block: use(id) }),
      formatEvent("content_block_stop", { index }),
    ]),
    formatEvent("message_delta", {
      delta: { stop_reason: "tool_use" },
      usage: { output_tokens: 1 },
    }),
    formatEvent("message_stop", {}),
  ];
  up.answer = ({ body }, res) => {
    if (body.stream) return stream(res, ...events);
    json(res, { ...start, content: [use("toolu_1"), use("toolu_2")], stop_reason: "tool_use" });
  };
  const result = { type: "tool_result", tool_use_id: "toolu_1", content: "r" };
  const history = [
    { role: "assistant", content: [use("toolu_1")] },
    { role: "user", content: [result] },
  ];
  for (const streamed of [false, true])
    for (const earlier of [[], history]) {
      const response = await gateway.request("POST", "/v1/messages", {
        model: "claude/claude-x",
        max_tokens: 9,
        stream: streamed,
        messages: [{ role: "user", content: "go" }, ...earlier],
      });
      const ids = [...(await response.text()).matchAll(/"tool_use","id":"([^"]+)"/g)];
      const [first, second] = ids.map(([, id]) => id);
      assert.is(first === "toolu_1", earlier.length === 0, `streamed: ${streamed}, ${first}`);
      assert.is(second, "toolu_2");
    }
});

test.run();

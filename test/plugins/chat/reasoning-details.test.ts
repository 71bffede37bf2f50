/** OpenRouter's `reasoning_details`: clients receive them and send them back unchanged. Other formats do not receive them. */
import * as assert from "uvu/assert";
import { type InProcessGateway, startGateway } from "../../support/gateway.ts";
import { hookFiles } from "../../support/hook-files.ts";
import { suite } from "../../support/suite.ts";
import {
  chunk,
  DONE,
  eventsOf,
  json,
  startUpstream,
  stream,
  type Upstream,
} from "../../support/upstreams/upstream.ts";

const test = suite("reasoning details");
let up: Upstream;
let other: Upstream;
let plain: InProcessGateway;
let hooked: InProcessGateway;

const text = { type: "reasoning.text", text: "Let me see", signature: "c2lnbmVk+/=", index: 0 };
const sealed = {
  ...{ type: "reasoning.encrypted", data: "gAAAA==", id: "rs_1" },
  ...{ format: "openai-responses-v1", index: 1, unknown: null },
};
const summary = { type: "reasoning.summary", summary: "A look", id: null, index: 2 };
const details = [text, sealed, summary];
const call = {
  ...{ id: "call_1", type: "function" },
  function: { name: "look", arguments: "{}" },
};
const tools = [{ type: "function", function: { name: "look", parameters: { type: "object" } } }];

test.before(async () => {
  up = await startUpstream(() => {});
  other = await startUpstream(() => {});
  const base = { models: ["*"], maxRetries: 0, apiKey: "sk-secret-of-the-channel" };
  const root = other.url.replace(/\/v1$/, "");
  const channels = {
    router: { ...base, provider: "openrouter", baseUrl: up.url },
    oai: { ...base, provider: "openai", baseUrl: up.url },
    claude: { ...base, provider: "anthropic", baseUrl: root },
    google: { ...base, provider: "gemini", baseUrl: root },
    mistral: { ...base, provider: "mistral", baseUrl: root },
    ollama: { ...base, provider: "ollama", baseUrl: root },
    aws: { ...base, provider: "bedrock", baseUrl: root, region: "us-east-1" },
  };
  const hook = hookFiles(
    "redact",
    "event.context.content = event.context.content.replaceAll('bad', '***');",
    { events: "message:sending" },
  );
  plain = await startGateway({ config: { channels } });
  hooked = await startGateway({ config: { channels }, files: hook });
});
test.after(async () => {
  await plain?.stop();
  await hooked?.stop();
  await up?.close();
  await other?.close();
});

const ask = (gateway: InProcessGateway, body: object) =>
  gateway.request("POST", "/v1/chat/completions", {
    ...{ model: "router/x", tools, max_tokens: 9 },
    messages: [{ role: "user", content: "go" }],
    ...body,
  });

test("a stream passes every piece unchanged, even if a hook changes the text beside it", async () => {
  const pieces = [[{ ...text, signature: null }], [{ ...text, text: "" }], [sealed], [summary]];
  const events = [
    chunk({
      role: "assistant",
      content: "",
      reasoning: "Let me see",
      reasoning_details: pieces[0],
    }),
    ...pieces.slice(1).map((piece) => chunk({ content: "", reasoning_details: piece })),
    chunk({ content: "bad", reasoning_details: [{ type: "reasoning.text", text: "late" }] }),
    chunk({ tool_calls: [{ index: 0, ...call }] }),
    chunk({}, "tool_calls"),
    DONE,
  ];
  for (const gateway of [plain, hooked]) {
    up.answer = (_, res) => stream(res, ...events);
    const out = await (await ask(gateway, { stream: true })).text();
    const deltas = eventsOf(out).flatMap((event) => event.choices?.[0]?.delta ?? []);
    const came = deltas.flatMap((delta) => delta.reasoning_details ?? []);
    assert.equal(came, [...pieces.flat(), { type: "reasoning.text", text: "late" }]);
    assert.is(deltas.map(({ reasoning }) => reasoning ?? "").join(""), "Let me see");
    const content = deltas.map((delta) => delta.content ?? "").join("");
    assert.is(content, gateway === hooked ? "***" : "bad");
  }
});

test("a whole response passes them unchanged, even if a hook changes its text", async () => {
  const message = { role: "assistant", content: "bad", reasoning: "Let me see" };
  const choice = { index: 0, message: { ...message, reasoning_details: details } };
  for (const gateway of [plain, hooked]) {
    up.answer = (_, res) => json(res, { id: "gen-1", choices: [choice], provider: "p" });
    const body = (await (await ask(gateway, {})).json()) as any;
    const { reasoning, reasoning_details, content } = body.choices[0].message;
    assert.equal([reasoning, reasoning_details], ["Let me see", details]);
    assert.is(content, gateway === hooked ? "***" : "bad");
  }
});

const history = [
  { role: "user", content: "go" },
  {
    ...{ role: "assistant", content: "So:", reasoning: "Let me see" },
    ...{ reasoning_details: details, tool_calls: [call] },
  },
  { role: "tool", tool_call_id: "call_1", content: "seen" },
];

test("a channel of OpenAI's format receives them back unchanged", async () => {
  up.answer = ({ body }, res) =>
    body.stream
      ? stream(res, chunk({ role: "assistant", content: "ok" }, "stop"), DONE)
      : json(res, { choices: [{ message: { role: "assistant", content: "ok" } }] });
  for (const gateway of [plain, hooked])
    for (const model of ["router/x", "oai/x"])
      for (const streamed of [false, true]) {
        const response = await ask(gateway, { model, messages: history, stream: streamed });
        assert.is(response.status, 200, await response.text());
        assert.equal(up.seen.at(-1)!.body.messages, history);
        assert.is(response.headers.get("x-portico-dropped"), null);
      }
});

const signedText = { type: "reasoning.text", text: "Let me see", signature: "c2ln", index: 0 };
/** The same in pieces, as in a stream, and a second block. */
const signedPieces = [
  { type: "reasoning.text", text: "Let me", signature: null, index: 0, format: null },
  { type: "reasoning.text", text: " see", index: 0 },
  { type: "reasoning.text", text: "", signature: "c2ln", index: 0 },
  sealed,
  { type: "reasoning.summary", summary: "A ", index: 2 },
  { type: "reasoning.summary", summary: "look", index: 2 },
];

/** The call in the form in which most clients send it back. */
const bare = (id: string) => [
  { role: "user", content: "go" },
  { role: "assistant", content: null, tool_calls: [{ ...call, id }] },
  { role: "tool", tool_call_id: id, content: "seen" },
];

test("a client that drops them has them restored, whole and streamed", async () => {
  const message = {
    ...{ role: "assistant", content: null, tool_calls: [{ ...call, id: "call_w" }] },
    reasoning_details: [signedText, sealed],
  };
  up.answer = (_, res) =>
    json(res, { choices: [{ index: 0, message, finish_reason: "tool_calls" }] });
  await (await ask(plain, {})).text();
  up.answer = (_, res) =>
    stream(
      res,
      chunk({ role: "assistant", content: "" }),
      ...signedPieces.map((piece) => chunk({ reasoning_details: [piece] })),
      chunk({ tool_calls: [{ index: 0, ...call, id: "call_s" }] }, "tool_calls"),
      DONE,
    );
  await (await ask(plain, { stream: true })).text();

  const whole = [signedText, sealed];
  const streamed = [
    { ...signedText, format: null },
    sealed,
    { type: "reasoning.summary", summary: "A look", index: 2 },
  ];
  up.answer = (_, res) =>
    json(res, { choices: [{ message: { role: "assistant", content: "ok" } }] });
  for (const [id, expected] of [
    ["call_w", whole],
    ["call_s", streamed],
  ] as const) {
    const response = await ask(plain, { messages: bare(id) });
    assert.is(response.headers.get("x-portico-changed"), "restored-signature messages[1]");
    assert.equal(up.seen.at(-1)!.body.messages[1].reasoning_details, expected);
    const blocks = { type: "tool_use", id, name: "look", input: {} };
    const result = { type: "tool_result", tool_use_id: id, content: "seen" };
    const translated = await plain.request("POST", "/v1/messages", {
      ...{ model: "router/x", max_tokens: 9, tools: [{ name: "look", input_schema: {} }] },
      messages: [
        { role: "user", content: "go" },
        { role: "assistant", content: [blocks] },
        { role: "user", content: [result] },
      ],
    });
    assert.is(translated.status, 200, await translated.text());
    assert.equal(up.seen.at(-1)!.body.messages[1].reasoning_details, expected);
  }
});

test("nothing is restored for a message that still has some, for other arguments, or on other channels", async () => {
  const own = [{ type: "reasoning.text", text: "own", index: 0 }];
  const [user, assistant, result] = bare("call_w") as [object, any, object];
  const send = async (message: object, model = "router/x") => {
    const response = await ask(plain, { model, messages: [user, message, result] });
    assert.is(response.status, 200, await response.text());
    return up.seen.at(-1)!.body.messages[1].reasoning_details;
  };
  assert.equal(await send({ ...assistant, reasoning_details: own }), own);
  const other = { ...call, id: "call_w", function: { name: "look", arguments: '{"x":1}' } };
  assert.is(await send({ ...assistant, tool_calls: [other] }), undefined);
  assert.is(await send(assistant, "oai/x"), undefined);
  assert.is((await send(assistant)).length, 2, "the call itself still has them");
});

test("channels of other formats do not receive them", async () => {
  other.answer = (_, res) => {
    res.writeHead(400, { "content-type": "application/json" });
    res.end(JSON.stringify({ error: { message: "Enough was seen." } }));
  };
  for (const model of ["claude/x", "google/x", "mistral/x", "ollama/x", "aws/x"]) {
    const before = other.seen.length;
    await (await ask(plain, { model, messages: history })).text();
    const rawRequest = other.seen.at(-1)!.raw;
    assert.is(other.seen.length, before + 1, model);
    assert.match(rawRequest, "seen", model);
    assert.not.match(rawRequest, /reasoning|Let me see|c2lnbmVk|gAAAA/, model);
  }
});

test.run();

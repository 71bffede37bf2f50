/** Signatures of reasoning that a client does not send back are restored. */
import * as assert from "uvu/assert";
import { Signatures } from "../../../plugins/models/signatures/signatures.ts";
import { type InProcessGateway, makeHome, startGateway } from "../../support/gateway.ts";
import { suite } from "../../support/suite.ts";
import { until } from "../../support/until.ts";
import { dialects, type FakeProvider, startProvider } from "../../support/upstreams/index.ts";

const test = suite("signatures");
const fakes: Record<string, FakeProvider> = {};
let gateway: InProcessGateway;
const home = makeHome();

const MODELS: Record<string, string> = {
  gemini: "gemini-3-flash-preview",
  anthropic: "claude-sonnet-4-5",
  bedrock: "us.anthropic.claude-sonnet-4-5-20250929-v1:0",
};

async function start(): Promise<void> {
  const channels: Record<string, unknown> = {};
  for (const dialect of dialects.filter(({ name }) => name in MODELS)) {
    fakes[dialect.name] ??= await startProvider(dialect);
    const entry = { ...dialect.channel(fakes[dialect.name]!.root), models: ["*"], maxRetries: 0 };
    channels[dialect.name] = entry;
    channels[`${dialect.name}-two`] = entry;
  }
  gateway = await startGateway({ home, config: { channels } });
}
test.before(start);
test.after(async () => {
  await gateway?.stop();
  for (const fake of Object.values(fakes)) await fake.close();
});
test.before.each(() => {
  for (const fake of Object.values(fakes)) fake.seen.length = 0;
});

const parameters = { type: "object", properties: { x: { type: "string" }, y: { type: "string" } } };
const tools = [{ type: "function", function: { name: "calc", parameters } }];
const args = { x: "1", y: "2" };

const ask = (channel: string, more: object = {}, token?: string) =>
  gateway.request(
    "POST",
    "/v1/chat/completions",
    {
      model: `${channel}/${MODELS[channel.replace("-two", "")]}`,
      tools,
      reasoning_effort: "low",
      messages: [{ role: "user", content: "go" }],
      ...more,
    },
    token === undefined ? {} : { token },
  );

/** Lets the upstream call a tool, and returns the id of the call as the client receives it. */
async function firstCall(channel: string, streamed: boolean, id: string): Promise<string> {
  const fake = fakes[channel]!;
  fake.next = { answer: { reasoning: "hm", calls: [{ id, name: "calc", args }] } };
  const response = await ask(channel, { stream: streamed });
  const text = await response.text();
  assert.is(response.status, 200, text);
  const callId = /"id":"(call_[^"]+)"/.exec(text.replace(/"id":"chatcmpl[^"]+"/g, ""))?.[1];
  assert.ok(callId, text);
  fake.next = { answer: { text: ["done"] } };
  return callId;
}

/** As most clients write it: without `extra_content`, and the arguments in a form of their own. */
const history = (id: string, text = '{ "y": "2", "x": "1" }') => [
  { role: "user", content: "go" },
  {
    role: "assistant",
    content: null,
    tool_calls: [{ id, type: "function", function: { name: "calc", arguments: text } }],
  },
  { role: "tool", tool_call_id: id, content: "3" },
];

/** The signatures in the last request to the upstream. */
function signaturesSent(channel: string): unknown[] {
  const { body } = fakes[channel.replace("-two", "")]!.seen.at(-1)!;
  const text = JSON.stringify(body);
  return [...text.matchAll(/"(?:thoughtSignature|signature)":"([^"]+)"/g)].map((match) => match[1]);
}

for (const channel of Object.keys(MODELS)) {
  for (const streamed of [false, true]) {
    const how = streamed ? "streamed" : "whole";
    test(`${channel}, ${how}: the signature is sent back with the call`, async () => {
      const id = await firstCall(channel, streamed, `a${how}`);
      const response = await ask(channel, { messages: history(id) });
      assert.is(response.status, 200, await response.text());
      assert.equal(signaturesSent(channel), ["signed"]);
      const changed = response.headers.get("x-portico-changed");
      assert.is(changed, "restored-signature messages[1]");
    });
  }

  test(`${channel}: a signature is restored only with the same arguments, on the same channel`, async () => {
    const id = await firstCall(channel, false, "b1");
    for (const [targetChannel, messages] of [
      [channel, history(id, '{"x":"other"}')],
      [`${channel}-two`, history(id)],
    ] as const) {
      const response = await ask(targetChannel, { messages });
      assert.is(response.status, 200, await response.text());
      assert.not.ok(signaturesSent(targetChannel).includes("signed"), targetChannel);
    }
  });
}

test("a signature that the client sends itself is not replaced", async () => {
  const id = await firstCall("gemini", false, "own");
  const messages: any[] = history(id);
  messages[1].tool_calls[0].extra_content = { google: { thought_signature: "mine" } };
  await ask("gemini", { messages });
  assert.equal(signaturesSent("gemini"), ["mine"]);
});

test("of two calls with one id, each has its own signature", async () => {
  const firstId = await firstCall("gemini", false, "same");
  const messages = [...history(firstId), ...history(firstId, '{"x":"9"}').slice(1)];
  await ask("gemini", { messages });
  assert.equal(signaturesSent("gemini"), ["signed", "skip_thought_signature_validator"]);
});

test("signatures are restored from /v1/messages and /v1/responses as well, where clients drop unknown members", async () => {
  const fake = fakes["gemini"]!;
  fake.next = { answer: { calls: [{ id: "m1", name: "calc", args }] } };
  const model = `gemini/${MODELS["gemini"]}`;
  const common = { model, max_tokens: 99 };
  const ofMessages = { ...common, tools: [{ name: "calc", input_schema: parameters }] };
  const user = { role: "user", content: "go" };
  const first = await gateway.json("POST", "/v1/messages", { ...ofMessages, messages: [user] });
  const use = first.content.find((block: any) => block.type === "tool_use");
  fake.next = { answer: { text: ["done"] } };
  await gateway.json("POST", "/v1/messages", {
    ...ofMessages,
    messages: [
      user,
      { role: "assistant", content: [use] },
      { role: "user", content: [{ type: "tool_result", tool_use_id: use.id, content: "3" }] },
    ],
  });
  assert.equal(signaturesSent("gemini"), ["signed"]);

  fake.next = { answer: { calls: [{ id: "r1", name: "calc", args }] } };
  const ofResponses = {
    model,
    store: false,
    tools: [{ type: "function", name: "calc", parameters }],
  };
  const begun = await gateway.json("POST", "/v1/responses", { ...ofResponses, input: "go" });
  const {
    call_id,
    name,
    arguments: text,
  } = begun.output.find((item: any) => item.type === "function_call");
  fake.next = { answer: { text: ["done"] } };
  await gateway.json("POST", "/v1/responses", {
    ...ofResponses,
    input: [
      { role: "user", content: "go" },
      { type: "function_call", call_id, name, arguments: text },
      { type: "function_call_output", call_id, output: "3" },
    ],
  });
  assert.equal(signaturesSent("gemini"), ["signed"]);
});

test("each client key has its own signatures, and a restart loses none", async () => {
  const { key } = await gateway.json("POST", "/keys", { name: "other" });
  const id = await firstCall("anthropic", true, "kept");
  const foreign = await ask("anthropic", { messages: history(id) }, key);
  assert.is(foreign.status, 200, await foreign.text());
  assert.equal(signaturesSent("anthropic"), []);
  await gateway.stop();
  await start();
  await ask("anthropic", { messages: history(id) });
  assert.equal(signaturesSent("anthropic"), ["signed"]);
});

// ----------------------------------------------------------------------------------------------- bounds

const owner = { kind: "owner" } as const;
const callOf = (id: string) => ({ id, function: { name: "f", arguments: "{}" } });
const request = (id: string) => ({
  model: "m",
  messages: [{ role: "assistant", content: null, tool_calls: [callOf(id)] }],
});

test("signatures are kept for a day and within the size limit", async () => {
  let now = 1_000_000;
  const rows = new Map<string, unknown>();
  const kv: any = {
    get: async (namespace: string, key: string) => rows.get(namespace + key),
    set: async (namespace: string, key: string, value: unknown) => rows.set(namespace + key, value),
  };
  const services = { kv: () => kv, now: () => now };
  const signatures = new Signatures(services);
  signatures.remember(owner, "c", { tool_calls: [callOf("one")], extra_content: "s" });
  const restored = await signatures.restore(owner, "c", request("one"));
  assert.is(restored.messages[0]!["extra_content"], "s");
  now += 86_400_001;
  const late = request("one");
  assert.is(await signatures.restore(owner, "c", late), late);
  assert.is(await new Signatures(services).restore(owner, "c", late), late);

  const large = "x".repeat(100_000);
  for (let i = 0; i < 2000; i++)
    signatures.remember(owner, "c", { tool_calls: [callOf(`n${i}`)], extra_content: large });
  await new Promise((resolve) => setImmediate(resolve));
  const sizes = [...rows.values()].map((row) => JSON.stringify(row).length);
  assert.ok(rows.size <= 256 && Math.max(...sizes) <= 256 * 1024, `${rows.size} rows`);
});

test("calls of one response do not overwrite each other's signatures in the store", async () => {
  const rows = new Map<string, unknown>();
  let writes = 0;
  const turn = () => new Promise((resolve) => setImmediate(resolve));
  const kv: any = {
    async get(namespace: string, key: string) {
      await turn();
      return rows.get(namespace + key);
    },
    async set(namespace: string, key: string, value: unknown) {
      await turn();
      rows.set(namespace + key, value);
      writes++;
    },
  };
  const services = { kv: () => kv, now: () => 1_000_000 };
  const calls = Array.from({ length: 100 }, (_, n) => callOf(`parallel${n}`));
  const signed = calls.map((call) => ({ ...call, extra_content: call.id }));
  new Signatures(services).remember(owner, "c", { tool_calls: signed });
  await until("all signatures to be stored", () => writes === calls.length);
  const message = { role: "assistant", content: null, tool_calls: calls };
  const otherGateway = new Signatures(services);
  const { messages } = await otherGateway.restore(owner, "c", { model: "m", messages: [message] });
  assert.equal(messages[0]!.tool_calls, signed);
});

test("a signature that another gateway stores a moment later is restored", async () => {
  let now = 1_000_000;
  const rows = new Map<string, unknown>();
  const kv: any = {
    get: async (namespace: string, key: string) => rows.get(namespace + key),
    set: async (namespace: string, key: string, value: unknown) => rows.set(namespace + key, value),
  };
  const services = { kv: () => kv, now: () => now };
  const [first, second] = [new Signatures(services), new Signatures(services)];
  const early = request("late");
  assert.is(await second.restore(owner, "c", early), early);
  first.remember(owner, "c", { tool_calls: [callOf("late")], extra_content: "s" });
  await until("the signature to be stored", () => rows.size > 0);
  now += 10_000;
  const restored = await second.restore(owner, "c", request("late"));
  assert.is(restored.messages[0]!["extra_content"], "s");
});

test.run();

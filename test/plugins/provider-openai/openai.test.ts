import { suite } from "../../support/suite.ts";
import * as assert from "uvu/assert";
import { makeTarget } from "../../support/target.ts";
import { openaiProvider } from "../../../plugins/provider-openai/wire.ts";
import { presets } from "../../../plugins/provider-openai/presets.ts";
import { applyChatRules, type RuleChat } from "../../../plugins/provider-kit/index.ts";
import { type InProcessGateway, startGateway } from "../../support/gateway.ts";
import {
  completion,
  hello,
  json,
  startUpstream,
  stream,
  type Upstream,
} from "../../support/upstreams/upstream.ts";

const test = suite("openai channels");
let up: Upstream;
let gateway: InProcessGateway;
test.before(async () => {
  up = await startUpstream((request, res) =>
    request.body.stream ? stream(res, ...hello) : json(res, completion("Hello")),
  );
  const channels = Object.fromEntries(
    presets.map(({ name }) => [
      name,
      {
        provider: name,
        baseUrl: up.url,
        apiKey: `key-${name}`,
        headers: { Authorization: name === "vllm" ? "Custom" : `Bearer key-${name}` },
      },
    ]),
  );
  gateway = await startGateway({ config: { channels } });
});
test.before.each(() => {
  up.seen.length = 0;
});
test.after(async () => {
  await gateway?.stop();
  await up?.close();
});

const messages = [
  { role: "developer", content: "d" },
  { role: "user", content: "u" },
];

test("every preset is an https address with its path, or a local one", () => {
  for (const { name, baseUrl } of presets) {
    assert.ok(
      /^https:\/\/[a-z.]+(\/[a-z0-9/]+)?$/.test(baseUrl) ||
        /^http:\/\/127\.0\.0\.1:\d+\/v1$/.test(baseUrl),
      name,
    );
    assert.not.ok(baseUrl.endsWith("/"), name);
  }
  assert.is(new Set(presets.map(({ name }) => name)).size, presets.length);
});

for (const { name } of presets) {
  test(`${name} answers and streams; what fits is sent untouched`, async () => {
    const body = { model: `${name}/m`, messages: [messages[1]], extra: { kept: true } };
    const response = await gateway.request("POST", "/v1/chat/completions", body);
    assert.is(response.status, 200);
    assert.is(response.headers.get("x-portico-dropped"), null);
    assert.equal(up.seen[0]?.body, { ...body, model: "m" });
    assert.is(up.seen[0]?.headers.authorization, name === "vllm" ? "Custom" : `Bearer key-${name}`);
    const streamed = await gateway.request("POST", "/v1/chat/completions", {
      ...body,
      stream: true,
    });
    assert.is(await streamed.text(), hello.join(""));
  });
}

test("fields that a server refuses are dropped and named; others renamed", async () => {
  const response = await gateway.request("POST", "/v1/chat/completions", {
    model: "groq/m",
    messages,
    logprobs: true,
    top_logprobs: 2,
    seed: 1,
  });
  assert.is(response.headers.get("x-portico-dropped"), "logprobs, top_logprobs");
  assert.equal(up.seen[0]?.body, { model: "m", messages, seed: 1 });
  await gateway.request("POST", "/v1/chat/completions", {
    model: "deepseek/m",
    messages,
    max_completion_tokens: 5,
  });
  assert.equal(up.seen[1]?.body, {
    model: "m",
    messages: [{ role: "system", content: "d" }, messages[1]],
    max_tokens: 5,
  });
});

/** What the rules of a preset make of a request that goes to its own address. */
function apply(name: string, request: RuleChat) {
  const { baseUrl, rules } = presets.find((preset) => preset.name === name)!;
  const target = { model: request.model, baseUrl, options: {} };
  return applyChatRules(rules, request, { target });
}

test("rules by model", () => {
  const request = { model: "grok-4", messages, stop: "x", presence_penalty: 1 };
  assert.equal(apply("xai", request).dropped, ["presence_penalty", "stop"]);
  const older = { ...request, model: "grok-2" };
  assert.is(apply("xai", older).request, older);
  const limited = apply("openai", { model: "gpt-5-mini", messages, max_tokens: 9 });
  assert.equal(limited.request, { model: "gpt-5-mini", messages, max_completion_tokens: 9 });
  assert.equal(limited.changed, ["limit-name max_tokens"]);
  for (const same of [
    { model: "gpt-4o", messages, max_tokens: 9 },
    { model: "o3", messages, max_tokens: null },
  ])
    assert.is(apply("openai", same).request, same);
});

test("reasoning of earlier messages is not sent to servers that refuse it, except beside tool calls", () => {
  const call = { role: "assistant", reasoning_content: "r", tool_calls: [{ id: "c" }] };
  const { request, changed } = apply("deepseek", {
    model: "m",
    messages: [{ role: "assistant", content: "a", reasoning_content: "r" }, call],
  });
  assert.equal(request.messages, [{ role: "assistant", content: "a" }, call]);
  assert.equal(changed, ["reasoning-only-beside-calls messages[0].reasoning_content"]);
});

test("OpenAI's own models are spared what they refuse", () => {
  const applyRules = (model: string) =>
    apply("openai", { model, messages: [messages[1]!], top_k: 5, reasoning_effort: "low" });
  assert.equal(applyRules("gpt-4o").dropped, ["top_k", "reasoning_effort"]);
  assert.equal(applyRules("gpt-5").dropped, ["top_k"]);
  assert.is(applyRules("o4-mini").request["reasoning_effort"], "low");
  // A conversation that another provider began.
  const call = { id: "c", type: "function", function: { name: "f", arguments: "{}" } };
  const foreign = {
    reasoning_content: "r",
    extra_content: { portico: {} },
    tool_calls: [{ ...call, extra_content: 1 }],
  };
  const { request, dropped } = apply("openai", {
    model: "gpt-4o",
    messages: [messages[1]!, { role: "assistant", content: null, ...foreign }],
  });
  assert.equal(request.messages, [
    messages[1],
    { role: "assistant", content: null, tool_calls: [call] },
  ]);
  assert.equal(dropped, []);
});

test("only OpenAI's own address, and channels that say so, are asked in the Responses format", () => {
  const urlOf = (name: string, baseUrl?: string, options: object = {}) => {
    const preset = presets.find((preset) => preset.name === name)!;
    const { responses } = openaiProvider(preset).wire!.native!;
    const target = makeTarget({ baseUrl: baseUrl ?? preset.baseUrl, options: { ...options } });
    const native = { form: "responses", body: { input: [] }, headers: {} };
    return responses!.encode(native, target)?.url;
  };
  assert.is(urlOf("openai"), "https://api.openai.com/v1/responses");
  assert.is(urlOf("openai", undefined, { responses: false }), undefined);
  assert.is(urlOf("openai", "http://10.0.0.5/v1"), undefined);
  assert.is(
    urlOf("openai", "http://10.0.0.5/v1", { responses: true }),
    "http://10.0.0.5/v1/responses",
  );
  assert.is(urlOf("openrouter"), undefined);
  assert.is(
    urlOf("openrouter", undefined, { responses: true }),
    "https://openrouter.ai/api/v1/responses",
  );
});

test.run();

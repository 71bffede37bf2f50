/** Requests of Anthropic clients other than messages: threads, token counts, the list of models. */
import Anthropic from "@anthropic-ai/sdk";
import * as assert from "uvu/assert";
import { type InProcessGateway, startGateway } from "../../support/gateway.ts";
import { suite } from "../../support/suite.ts";
import {
  chunk,
  completion,
  DONE,
  json,
  startUpstream,
  stream,
  type Upstream,
} from "../../support/upstreams/upstream.ts";

const test = suite("messages: requests");
let up: Upstream;
let gateway: InProcessGateway;

test.before(async () => {
  up = await startUpstream((_, res) => json(res, completion("ok")));
  const root = up.url.replace("/v1", "");
  const channel = (provider: string, models: string[], baseUrl = root) => ({
    provider,
    baseUrl,
    apiKey: "k",
    models,
    maxRetries: 0,
  });
  gateway = await startGateway({
    config: {
      channels: {
        ant: channel("anthropic", ["claude-opus-5", "claude-sonnet-5"]),
        google: channel("gemini", ["gemini-3-flash"]),
        oai: channel("openai", ["gpt-x"], up.url),
      },
      models: { polite: { targets: ["ant/claude-opus-5"], system: "Be polite." } },
    },
  });
});
test.after(async () => {
  await gateway?.stop();
  await up?.close();
});
test.before.each(() => {
  up.all.length = 0;
});

const messages = [{ role: "user", content: "hi" }];
const message = {
  id: "msg_1",
  type: "message",
  role: "assistant",
  model: "claude-opus-5",
  content: [{ type: "text", text: "ok" }],
  stop_reason: "end_turn",
  stop_sequence: null,
  usage: { input_tokens: 5, output_tokens: 1 },
};

test("a thread is sent to a channel of the Messages format, and any other refuses it with the error code that SDKs expect", async () => {
  const thread = { type: "continue", previous_message_id: "msg_0" };
  up.answer = (_, res) => json(res, message);
  const native = await gateway.request("POST", "/v1/messages", {
    model: "ant/claude-opus-5",
    max_tokens: 9,
    messages,
    thread,
  });
  assert.is(native.status, 200);
  assert.equal(up.seen.at(-1)!.body.thread, thread);
  for (const model of ["oai/gpt-x", "google/gemini-3-flash", "echo", "polite"]) {
    for (const stream of [false, true]) {
      const body = { model, max_tokens: 9, messages, thread, stream };
      const refused = await gateway.request("POST", "/v1/messages", body);
      const { error } = (await refused.json()) as any;
      assert.is(refused.status, 400, model);
      assert.equal(error.details, {
        error_code: "thread_unsupported_request",
        unsupported: ["thread"],
      });
    }
  }
});

const count = (model: string, more: object = {}) =>
  gateway.request("POST", "/v1/messages/count_tokens", { model, messages, ...more });

test("count_tokens asks an Anthropic channel with the client's own request", async () => {
  up.answer = (_, res) => json(res, { input_tokens: 1234 });
  const tools = [{ name: "f", input_schema: { type: "object", anyOf: [{ required: ["a"] }] } }];
  const thinking = { type: "enabled", budget_tokens: 2000 };
  const response = await count("claude-opus-5", { tools, thinking, metadata: { user_id: "u" } });
  assert.equal(await response.json(), { input_tokens: 1234 });
  const { path, body } = up.all.at(-1)!;
  assert.is(path, "/v1/messages/count_tokens");
  assert.equal(Object.keys(body).sort(), ["messages", "model", "thinking", "tools"]);
  assert.equal([body.model, body.thinking], ["claude-opus-5", thinking]);
  assert.is(body.tools[0].input_schema.anyOf, undefined);
});

test("count_tokens counts what an alias adds", async () => {
  up.answer = (_, res) => json(res, { input_tokens: 99 });
  assert.equal(await (await count("polite")).json(), { input_tokens: 99 });
  const { body } = up.all.at(-1)!;
  assert.equal([body.system, body.max_tokens, body.stream], ["Be polite.", undefined, undefined]);
});

test("count_tokens asks a Gemini channel", async () => {
  up.answer = (_, res) => json(res, { totalTokens: 77 });
  assert.equal(await (await count("google/gemini-3-flash")).json(), { input_tokens: 77 });
  const { path, body } = up.all.at(-1)!;
  assert.is(path, "/v1beta/models/gemini-3-flash:countTokens");
  assert.equal(body.generateContentRequest, {
    model: "models/gemini-3-flash",
    contents: [{ role: "user", parts: [{ text: "hi" }] }],
  });
});

test("count_tokens estimates if the upstream cannot count or does not respond", async () => {
  const estimated = (await (await count("oai/gpt-x")).json()) as any;
  assert.ok(estimated.input_tokens > 0);
  assert.is(up.all.length, 0);
  up.answer = (_, res) => json(res, { error: { message: "no" } }, 500);
  assert.equal(await (await count("ant/claude-opus-5")).json(), estimated);
});

test("count_tokens of an unknown model is 404", async () => {
  const response = await count("nowhere/at-all");
  const { error } = (await response.json()) as any;
  assert.equal([response.status, error.type], [404, "not_found_error"]);
});

test("the list of models has Anthropic's format, page by page", async () => {
  const client = new Anthropic({ baseURL: gateway.url, apiKey: gateway.token });
  const ids: string[] = [];
  for await (const model of client.models.list({ limit: 2 })) {
    assert.equal([model.type, model.display_name], ["model", model.id]);
    assert.ok(!Number.isNaN(Date.parse(model.created_at)));
    ids.push(model.id);
  }
  for (const id of ["claude-opus-5", "claude-sonnet-5", "ant/claude-opus-5", "oai/gpt-x", "echo"])
    assert.ok(ids.includes(id), id);
  assert.is(new Set(ids).size, ids.length);
  assert.is((await client.models.retrieve("claude-opus-5")).id, "claude-opus-5");
  const last = await client.models.list({ limit: 1, before_id: ids[1] });
  assert.equal([last.data[0]!.id, last.has_more], [ids[0], false]);
  const plain = await gateway.json("GET", "/v1/models");
  assert.is(plain.object, "list");
});

test("errors of the model routes have the client's format", async () => {
  const authorization = `Bearer ${gateway.token}`;
  const version = { "anthropic-version": "2023-06-01" };
  const refusals: [string, Record<string, string>, number, string][] = [
    ["/v1/models?limit=0", { authorization }, 400, "invalid_request_error"],
    ["/v1/models?after_id=none", { authorization }, 400, "invalid_request_error"],
    ["/v1/models/no-such-model", { authorization }, 404, "not_found_error"],
    ["/v1/models", { authorization: "Bearer wrong" }, 401, "authentication_error"],
    ["/v1/models", {}, 401, "authentication_error"],
  ];
  for (const [path, headers, status, type] of refusals) {
    const response = await fetch(gateway.url + path, { headers: { ...headers, ...version } });
    const body = (await response.json()) as any;
    assert.equal([response.status, body.type, body.error.type], [status, "error", type], path);
    assert.is(body.request_id, response.headers.get("x-request-id"));
    const plain = await fetch(gateway.url + path, { headers });
    if (!plain.ok) assert.ok("code" in ((await plain.json()) as any).error, path);
  }
  const post = await fetch(`${gateway.url}/v1/models`, {
    method: "POST",
    headers: { authorization, ...version },
  });
  assert.equal([post.status, ((await post.json()) as any).type], [405, "error"]);
  const chat = await fetch(`${gateway.url}/v1/chat/completions`, {
    method: "POST",
    headers: { authorization, ...version, "content-type": "application/json" },
    body: "{",
  });
  assert.is(((await chat.json()) as any).error.code, "invalid_json");
});

test("usage is estimated if the channel does not report it, whole and streamed alike", async () => {
  const text = "word ".repeat(40);
  up.answer = ({ body }, res) => {
    if (body.stream)
      stream(res, chunk({ role: "assistant", content: text }), chunk({}, "stop"), DONE);
    else json(res, completion(text, { usage: undefined }));
  };
  const usages = [];
  for (const streamed of [false, true]) {
    const request = { model: "oai/gpt-x", max_tokens: 99, messages, stream: streamed };
    const events = await (await gateway.request("POST", "/v1/messages", request)).text();
    const counts = [...events.matchAll(/"(input|output)_tokens":(\d+)/g)].map(
      ([, , count]) => count,
    );
    usages.push(counts.slice(-2).map(Number));
  }
  assert.equal(usages[0], usages[1]);
  const [input, output] = usages[0]!;
  assert.ok(input! > 0 && output! >= 40 && output! <= 60, String(usages[0]));
});

test("zeros after real counts do not change the counts of a message", async () => {
  const usage = { input_tokens: 30, output_tokens: 1 };
  const text = { type: "text_delta", text: "ok" };
  const events = [
    { type: "message_start", message: { ...message, content: [], stop_reason: null, usage } },
    { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
    { type: "content_block_delta", index: 0, delta: text },
    { type: "content_block_stop", index: 0 },
    {
      ...{ type: "message_delta", delta: { stop_reason: "end_turn", stop_sequence: null } },
      usage: { input_tokens: 0, output_tokens: 20 },
    },
    { type: "message_delta", delta: {}, usage: { input_tokens: 0, output_tokens: 0 } },
    { type: "message_stop" },
  ];
  up.answer = (_, res) =>
    stream(
      res,
      ...events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`),
    );
  const client = new Anthropic({ baseURL: gateway.url, apiKey: gateway.token, maxRetries: 0 });
  const request = {
    model: "claude-opus-5",
    max_tokens: 9,
    messages: [{ role: "user", content: "hi" }],
  };
  const final = await client.messages.stream(request as any).finalMessage();
  const { input_tokens, output_tokens } = final.usage;
  assert.equal([input_tokens, output_tokens], [30, 20]);
});

test.run();

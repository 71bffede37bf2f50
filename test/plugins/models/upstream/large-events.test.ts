/** One event of a stream is bounded in size, in what it holds and in depth, whatever the provider. */
import * as assert from "uvu/assert";
import { type InProcessGateway, startGateway } from "../../../support/gateway.ts";
import { suite } from "../../../support/suite.ts";
import { eventsOf, startUpstream, type Upstream } from "../../../support/upstreams/upstream.ts";

const test = suite("large events");
const LIMIT = 1_000_000;
let up: Upstream;
let gateway: InProcessGateway;
let upstreamResponse: { type: string; body: string };

test.before(async () => {
  up = await startUpstream((_, res) => {
    res.writeHead(200, { "content-type": upstreamResponse.type });
    res.end(upstreamResponse.body);
  });
  const host = up.url.replace("/v1", "");
  const channel = { models: ["m"], apiKey: "sk-test-key-of-nobody", maxEventBytes: LIMIT };
  const of = (provider: string, baseUrl = host) => ({ ...channel, provider, baseUrl });
  const channels = {
    openai: of("openai", up.url),
    anthropic: of("anthropic"),
    gemini: of("gemini"),
    ollama: of("ollama"),
    mistral: of("mistral"),
    roomy: { ...of("openai", up.url), maxEventBytes: 4 * LIMIT },
  };
  gateway = await startGateway({ config: { channels } });
});
test.after(async () => {
  await gateway.stop();
  await up.close();
});

/** The beginning of each format, up to where a text stands, and its end. */
const FORMATS: Record<string, { type: string; of: (text: string, more: string) => string }> = {
  openai: { type: "text/event-stream", of: openai },
  mistral: { type: "text/event-stream", of: openai },
  anthropic: {
    type: "text/event-stream",
    of: (text, more) =>
      [
        '{"type":"message_start","message":{"id":"m1","type":"message","role":"assistant","model":"m","content":[],"usage":{"input_tokens":1,"output_tokens":1}}}',
        '{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}',
        `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"${text}"${more}}}`,
        '{"type":"content_block_stop","index":0}',
        '{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":1}}',
        '{"type":"message_stop"}',
      ]
        .map((data) => `data: ${data}\n\n`)
        .join(""),
  },
  gemini: {
    type: "text/event-stream",
    of: (text, more) =>
      `data: {"candidates":[{"content":{"role":"model","parts":[{"text":"${text}"${more}}]},"finishReason":"STOP"}]}\n\n`,
  },
  ollama: {
    type: "application/x-ndjson",
    of: (text, more) =>
      `{"model":"m","message":{"role":"assistant","content":"${text}"${more}},"done":false}\n` +
      '{"model":"m","message":{"role":"assistant","content":""},"done":true,"done_reason":"stop"}\n',
  },
};

function openai(text: string, more: string): string {
  const chunk = (delta: string, finish: string) =>
    `data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":${delta},"finish_reason":${finish}}]}\n\n`;
  const content = `{"role":"assistant","content":"${text}"${more}}`;
  return `${chunk(content, "null")}${chunk("{}", '"stop"')}data: [DONE]\n\n`;
}

async function ask(channel: string): Promise<{ error?: { code: string }; text: string }> {
  up.seen.length = 0;
  const messages = [{ role: "user", content: "hi" }];
  const body = { model: `${channel}/m`, stream: true, messages };
  const response = await gateway.request("POST", "/v1/chat/completions", body);
  const text = await response.text();
  if (response.status !== 200) return { error: JSON.parse(text).error, text: "" };
  const events = eventsOf(text) as {
    error?: { code: string };
    choices?: { delta: { content?: string } }[];
  }[];
  const error = events.find((event) => event.error !== undefined)?.error;
  const content = events.map(({ choices }) => choices?.[0]?.delta.content ?? "").join("");
  return { ...(error && { error }), text: content };
}

for (const [provider, { type, of }] of Object.entries(FORMATS)) {
  test(`${provider}: an event over the limit ends the response with an error, without a retry`, async () => {
    upstreamResponse = { type, body: of("x".repeat(2 * LIMIT), "") };
    const { error } = await ask(provider);
    assert.is(error?.code, "upstream_error");
    assert.is(up.seen.length, 1);
  });

  test(`${provider}: an event with too many values or too many levels ends the response with an error`, async () => {
    const values = `,"x":[${"{},".repeat(120_000)}1]`;
    const depth = `,"x":${"[".repeat(40_000)}${"]".repeat(40_000)}`;
    for (const more of [values, depth]) {
      upstreamResponse = { type, body: of("a", more) };
      const { error } = await ask(provider);
      assert.is(error?.code, "upstream_error");
    }
  });

  test(`${provider}: a large event within the limit passes`, async () => {
    const text = "word, ".repeat(LIMIT / 8);
    upstreamResponse = { type, body: of(text, "") };
    assert.equal(await ask(provider), { text });
  });
}

test("the limit can be raised by a setting of the channel", async () => {
  const text = "x".repeat(2 * LIMIT);
  upstreamResponse = { type: "text/event-stream", body: openai(text, "") };
  assert.equal(await ask("roomy"), { text });
});

test("an event without an end, endless comments and data on very many lines are bounded", async () => {
  const type = "text/event-stream";
  for (const body of [
    `data: {"x":"${"x".repeat(2 * LIMIT)}`,
    `: ${"x".repeat(2 * LIMIT)}\n\n`,
    "data:\n".repeat(LIMIT / 2),
  ]) {
    upstreamResponse = { type, body };
    assert.is((await ask("openai")).error?.code, "upstream_error");
    assert.is(up.seen.length, 1);
  }
});

test("too large arguments of a call end the response even if each event is small", async () => {
  const piece = JSON.stringify("{},".repeat(1000)).slice(1, -1);
  const fragments = Array.from({ length: 150 }, (_, i) => {
    const args = `${i === 0 ? "[" : ""}${piece}`;
    const call = { index: 0, ...(i === 0 && { id: "c1", type: "function" }) };
    const fn = { ...(i === 0 && { name: "f" }), arguments: args };
    const delta = { tool_calls: [{ ...call, function: fn }] };
    return `data: ${JSON.stringify({ id: "chatcmpl-1", choices: [{ index: 0, delta, finish_reason: null }] })}\n\n`;
  });
  const end = `data: {"id":"chatcmpl-1","choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}\n\ndata: [DONE]\n\n`;
  upstreamResponse = { type: "text/event-stream", body: fragments.join("") + end };
  assert.is((await ask("openai")).error?.code, "upstream_error");
});

test.run();

/** Impossible token counts reach neither clients nor the gateway's own counts. */
import * as assert from "uvu/assert";
import { type InProcessGateway, startGateway } from "../../support/gateway.ts";
import { suite } from "../../support/suite.ts";
import {
  chunk,
  completion,
  data,
  DONE,
  eventsOf,
  json,
  startUpstream,
  stream,
  type Upstream,
} from "../../support/upstreams/upstream.ts";

const test = suite("counts of tokens");
let up: Upstream;
let gateway: InProcessGateway;

test.before(async () => {
  up = await startUpstream(() => {});
  const common = { apiKey: "k", models: ["*"], maxRetries: 0 };
  gateway = await startGateway({
    config: {
      channels: {
        oai: { ...common, provider: "openai", baseUrl: up.url },
        own: { ...common, provider: "openai", baseUrl: up.url, responses: true },
        ant: { ...common, provider: "anthropic", baseUrl: up.url.replace("/v1", "") },
      },
    },
  });
});
test.after(async () => {
  await gateway?.stop();
  await up?.close();
});

const TEXT = "Hello to all of you";
const messages = [{ role: "user", content: "hi" }];

/** `usage` as a JSON text: some numbers cannot be written from a value. */
function answerOpenAi(usage: string): void {
  up.answer = ({ body }, res) => {
    if (!body.stream) {
      res.writeHead(200, { "content-type": "application/json" });
      res.end(JSON.stringify(completion(TEXT, { usage: "USAGE" })).replace('"USAGE"', usage));
      return;
    }
    const last = { id: "chatcmpl-1", object: "chat.completion.chunk", choices: [], usage: "USAGE" };
    stream(
      res,
      chunk({ role: "assistant", content: TEXT }),
      chunk({}, "stop"),
      data(last).replace('"USAGE"', usage),
      DONE,
    );
  };
}

/** The events of a format that names them. */
const formatEvents = (events: readonly { type: string }[]) =>
  events.map((event) => `event: ${event.type}\n${data(event)}`);

function namedEventsOf(text: string): any[] {
  return [...text.matchAll(/^data: (\{.*)$/gm)].map(([, json]) => JSON.parse(json!));
}

/** The gateway's own counts of a request. */
async function counted(requestId: string) {
  const { promptTokens, completionTokens, estimated } = await gateway.json(
    "GET",
    `/requests/${requestId}`,
  );
  return { promptTokens, completionTokens, estimated };
}

async function ask(streamed: boolean) {
  const options = streamed ? { stream: true, stream_options: { include_usage: true } } : {};
  const body = { model: "oai/m", messages, ...options };
  const response = await gateway.request("POST", "/v1/chat/completions", body);
  const text = await response.text();
  const events = streamed ? eventsOf(text) : [JSON.parse(text)];
  const id = response.headers.get("x-request-id")!;
  return { usage: events.map(({ usage }) => usage).findLast(Boolean), counted: await counted(id) };
}

const plain = (prompt_tokens: number, completion_tokens: number, total_tokens: number) => ({
  prompt_tokens,
  completion_tokens,
  total_tokens,
});
const FEW = { promptTokens: 7, completionTokens: 3, estimated: undefined };

/** The upstream's usage, the client's usage, and the counts of the gateway if they are no estimate. */
const USAGES: [string, object | undefined, typeof FEW?][] = [
  ['{"prompt_tokens":-5,"completion_tokens":-1,"total_tokens":-6}', undefined],
  ['{"prompt_tokens":"many","completion_tokens":null}', undefined],
  ['{"prompt_tokens":1e400,"completion_tokens":9007199254740993123}', undefined],
  ["{}", undefined],
  ['"none"', undefined],
  ['{"prompt_tokens":"7","completion_tokens":"3","total_tokens":"10"}', plain(7, 3, 10), FEW],
  ['{"prompt_tokens":7.2,"completion_tokens":2.6,"total_tokens":9.8}', undefined],
  ['{"prompt_tokens":7,"completion_tokens":3,"total_tokens":-1}', plain(7, 3, 10), FEW],
  ['{"prompt_tokens":7,"completion_tokens":3,"total_tokens":4}', plain(7, 3, 10), FEW],
  ['{"prompt_tokens":7,"completion_tokens":3}', plain(7, 3, 10), FEW],
  ['{"prompt_tokens":7,"completion_tokens":-3,"total_tokens":4}', undefined],
  ['{"prompt_tokens":7,"completion_tokens":1e300,"total_tokens":9}', undefined],
  ['{"prompt_tokens":0.5,"completion_tokens":3}', undefined],
  [
    '{"prompt_tokens":7,"completion_tokens":3,"total_tokens":10,"cost":0.25,"prompt_tokens_details":{"cached_tokens":-4},"completion_tokens_details":{"reasoning_tokens":"2"}}',
    {
      ...plain(7, 3, 10),
      cost: 0.25,
      prompt_tokens_details: { cached_tokens: 0 },
      completion_tokens_details: { reasoning_tokens: 2 },
    },
    FEW,
  ],
];

for (const [usage, expected, exact] of USAGES) {
  test(`chat: ${usage}`, async () => {
    answerOpenAi(usage);
    for (const streamed of [false, true]) {
      const counts = await ask(streamed);
      assert.equal(counts.usage, expected);
      if (exact !== undefined) {
        assert.equal(counts.counted, exact);
      } else {
        assert.is(counts.counted.estimated, true);
        assert.ok(counts.counted.promptTokens > 0 && counts.counted.completionTokens > 0);
      }
    }
  });
}

test("chat: a usage that is nested too deeply for any count breaks no response", async () => {
  const levels = 10_000;
  const deep = `${'{"a":'.repeat(levels)}1${"}".repeat(levels)}`;
  answerOpenAi(`{"prompt_tokens":7,"completion_tokens":3,"total_tokens":10,"details":${deep}}`);
  const body = { model: "oai/m", messages, stream: true };
  const response = await gateway.request("POST", "/v1/chat/completions", body);
  const texts = eventsOf(await response.text()).map(({ choices }) => choices?.[0]?.delta.content);
  assert.is(texts.join(""), TEXT);
  assert.equal(await counted(response.headers.get("x-request-id")!), FEW);
});

test("messages: impossible or zero counts of a channel are replaced by estimates for the client", async () => {
  for (const usage of [USAGES[0]![0], '{"prompt_tokens":0,"completion_tokens":0}']) {
    answerOpenAi(usage);
    const body = { model: "oai/m", max_tokens: 9, messages };
    const { usage: reportedUsage } = await gateway.json("POST", "/v1/messages", body);
    assert.ok(reportedUsage.input_tokens > 0 && reportedUsage.output_tokens > 0);
  }
});

test("messages of a channel of the same format: every count becomes a valid one, whole and streamed", async () => {
  const usage = {
    input_tokens: -5,
    output_tokens: "3",
    cache_read_input_tokens: "x",
    cache_creation_input_tokens: 2 ** 60,
  };
  const message = { id: "msg_1", type: "message", role: "assistant", model: "m", usage };
  const events = [
    { type: "message_start", message: { ...message, content: [] } },
    { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
    { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: TEXT } },
    { type: "content_block_stop", index: 0 },
    { type: "message_delta", delta: { stop_reason: "end_turn" }, usage },
    { type: "message_stop" },
  ];
  up.answer = ({ body }, res) => {
    const content = [{ type: "text", text: TEXT }];
    if (!body.stream) json(res, { ...message, content, stop_reason: "end_turn" });
    else stream(res, ...formatEvents(events));
  };
  const clean = {
    input_tokens: 0,
    output_tokens: 3,
    cache_read_input_tokens: 0,
    cache_creation_input_tokens: 0,
  };
  const body = { model: "ant/m", max_tokens: 9, messages };
  const whole = await gateway.json("POST", "/v1/messages", body);
  assert.equal(whole.usage, clean);
  const response = await gateway.request("POST", "/v1/messages", { ...body, stream: true });
  const usages = namedEventsOf(await response.text()).map(
    (event) => event.message?.usage ?? event.usage,
  );
  assert.equal(usages.filter(Boolean), [clean, clean]);
});

test("responses of a channel of the same format: every count becomes a valid one, whole and streamed", async () => {
  const usage = {
    input_tokens: -5,
    input_tokens_details: { cached_tokens: -1 },
    output_tokens: "3",
    output_tokens_details: { reasoning_tokens: 0.4 },
    total_tokens: 3,
  };
  const content = [{ type: "output_text", text: TEXT, annotations: [] }];
  const output = [{ type: "message", id: "m1", role: "assistant", status: "completed", content }];
  const whole = {
    id: "resp_1",
    object: "response",
    status: "completed",
    model: "m",
    output,
    usage,
  };
  const events = [
    { type: "response.created", sequence_number: 0, response: { ...whole, output: [] } },
    { type: "response.completed", sequence_number: 1, response: whole },
  ];
  up.answer = ({ body }, res) => {
    if (!body.stream) json(res, whole);
    else stream(res, ...formatEvents(events));
  };
  const clean = {
    input_tokens: 0,
    input_tokens_details: { cached_tokens: 0 },
    output_tokens: 3,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: 3,
  };
  const body = { model: "own/m", input: "hi" };
  assert.equal((await gateway.json("POST", "/v1/responses", body)).usage, clean);
  const response = await gateway.request("POST", "/v1/responses", { ...body, stream: true });
  const last = namedEventsOf(await response.text()).findLast(
    ({ response }) => response !== undefined,
  );
  assert.equal(last.response.usage, clean);
});

test.run();

/** No member that the gateway adds may make a request fail, in whatever way a server refuses the member. */
import type { ServerResponse } from "node:http";
import * as assert from "uvu/assert";
import { type InProcessGateway, startGateway } from "../../support/gateway.ts";
import { suite } from "../../support/suite.ts";
import {
  chunk,
  completion,
  json,
  startUpstream,
  stream,
  type Upstream,
} from "../../support/upstreams/upstream.ts";

const test = suite("additions");
let up: Upstream;
let gateway: InProcessGateway;

type Refusal = (res: ServerResponse) => unknown;
const plain = (res: ServerResponse) =>
  stream(
    res,
    chunk({ role: "assistant", content: "" }),
    chunk({ content: "hi" }),
    chunk({}, "stop"),
    "data: [DONE]\n\n",
  );
const sse = (res: ServerResponse, body = "") =>
  res.writeHead(200, { "content-type": "text/event-stream" }).end(body);

const REFUSALS: Record<string, Refusal> = {
  "a message": (res) => json(res, { error: { message: "unknown field: stream_options" } }, 400),
  "a param": (res) =>
    json(res, { error: { message: "Unsupported parameter", param: "stream_options" } }, 400),
  details: (res) =>
    json(res, { detail: [{ loc: ["body", "stream_options"], msg: "extra fields" }] }, 422),
  "a plain 400": (res) => json(res, { error: { message: "Bad Request" } }, 400),
  "a text": (res) => res.writeHead(400, { "content-type": "text/plain" }).end("bad request"),
  "a 500": (res) => json(res, { error: { message: "TypeError" } }, 500),
  "an error in the stream": (res) => sse(res, 'data: {"error":{"message":"no"}}\n\n'),
  "an error of status 200": (res) => json(res, { error: { message: "no" } }),
  "an empty stream": (res) => sse(res),
  "a stream of its end alone": (res) => sse(res, "data: [DONE]\n\n"),
  "an empty body": (res) => res.writeHead(200).end(),
  "a closed connection": (res) => res.destroy(),
};

test.before(async () => {
  up = await startUpstream((_, res) => json(res, completion("ok")));
  const channels = Object.fromEntries(
    [...Object.keys(REFUSALS), "flaky", "client", "limited"].map((name) => [
      name.replaceAll(" ", "-"),
      { provider: "openai", baseUrl: up.url, apiKey: "k", models: ["*"], maxRetries: 0 },
    ]),
  );
  const claude = { provider: "anthropic", baseUrl: up.url.replace("/v1", ""), apiKey: "k" };
  const google = { provider: "gemini", baseUrl: up.url.replace("/v1", ""), apiKey: "k" };
  gateway = await startGateway({
    config: {
      channels: {
        ...channels,
        google: { ...google, models: ["*"], maxRetries: 0 },
        claude: { ...claude, models: ["*"], maxRetries: 0 },
      },
    },
  });
});
test.after(async () => {
  await gateway?.stop();
  await up?.close();
});
test.before.each(() => {
  up.seen.length = 0;
});

const messages = [{ role: "user", content: "go" }];
const ask = (channel: string, more: object = {}, path = "/v1/chat/completions") =>
  gateway.request("POST", path, {
    model: `${channel.replaceAll(" ", "-")}/m`,
    stream: true,
    messages,
    ...more,
  });
const options = () => up.seen.map(({ body }) => body.stream_options?.include_usage);

for (const [what, refuse] of Object.entries(REFUSALS)) {
  test(`stream_options refused by ${what}: sent once more without, and remembered`, async () => {
    up.answer = ({ body }, res) => (body.stream_options === undefined ? plain(res) : refuse(res));
    const first = await ask(what);
    assert.is(first.status, 200);
    assert.match(await first.text(), '"hi"');
    assert.equal(options(), [true, undefined]);
    assert.is((await ask(what)).status, 200);
    assert.equal(options(), [true, undefined, undefined]);
  });
}

test("from /v1/messages and /v1/responses as well", async () => {
  for (const [channel, path, more] of [
    ["flaky", "/v1/messages", { max_tokens: 9 }],
    ["limited", "/v1/responses", { input: "go" }],
  ] as const) {
    up.seen.length = 0;
    up.answer = ({ body }, res) =>
      body.stream_options === undefined ? plain(res) : REFUSALS["a plain 400"]!(res);
    const response = await ask(channel, more, path);
    assert.is(response.status, 200, path);
    assert.match(await response.text(), "hi");
    assert.equal(options(), [true, undefined]);
  }
});

test("an option that the client sets itself is not removed", async () => {
  up.answer = (_, res) => REFUSALS["a param"]!(res);
  const response = await ask("client", { stream_options: { include_usage: true } });
  assert.equal([response.status, up.seen.length], [400, 1]);
});

test("a failure with another cause is passed on, and the additions are kept", async () => {
  const channels = { provider: "openai", baseUrl: up.url, models: ["*"], maxRetries: 0 };
  const other = await startGateway({ config: { channels: { one: channels } } });
  try {
    const once = () =>
      other.request("POST", "/v1/chat/completions", { model: "one/m", stream: true, messages });
    up.answer = (_, res) => json(res, { error: { message: "another mistake" } }, 400);
    assert.is((await once()).status, 400);
    assert.equal(options(), [true, undefined]);
    for (const status of [401, 404, 429, 503]) {
      up.seen.length = 0;
      up.answer = (_, res) => json(res, { error: { message: "no" } }, status);
      await once();
      assert.is(up.seen.length, 1, String(status));
    }
  } finally {
    await other.stop();
  }
});

test("gemini: thoughts that the client did not request are an addition", async () => {
  up.answer = ({ body }, res) =>
    body.generationConfig?.thinkingConfig?.includeThoughts
      ? json(
          res,
          { error: { code: 400, message: "Thinking is not enabled", status: "INVALID_ARGUMENT" } },
          400,
        )
      : json(res, { candidates: [{ content: { parts: [{ text: "ok" }] }, finishReason: "STOP" }] });
  const response = await ask("google", {
    stream: false,
    reasoning_effort: "low",
    model: "google/gemini-3-flash",
  });
  assert.is(response.status, 200);
  assert.is(up.seen.length, 2);
});

test("anthropic: a summary of the thinking that the client did not request is an addition", async () => {
  const refusal = { type: "error", error: { type: "invalid_request_error", message: "display" } };
  const message = {
    type: "message",
    content: [{ type: "text", text: "ok" }],
    stop_reason: "end_turn",
  };
  up.answer = ({ body }, res) =>
    body.thinking.display === undefined ? json(res, message) : json(res, refusal, 400);
  const more = { stream: false, reasoning_effort: "low", model: "claude/claude-opus-5" };
  assert.is((await ask("claude", more)).status, 200);
  assert.equal(
    up.seen.map(({ body }) => body.thinking.display),
    ["summarized", undefined],
  );
});

test("embeddings: the gateway requests floats, and encodes them if the client wants base64", async () => {
  up.answer = ({ body }, res) =>
    body.encoding_format === "base64"
      ? json(res, { error: { message: "'encoding_format' only support with [float]" } }, 400)
      : json(res, { data: [{ object: "embedding", index: 0, embedding: [0.5, -1] }] });
  const embed = async (more: object) =>
    (await gateway.json("POST", "/v1/embeddings", { model: "client/e", input: "x", ...more }))
      .data[0].embedding;
  const packed = Buffer.from(Float32Array.from([0.5, -1]).buffer).toString("base64");
  assert.is(await embed({ encoding_format: "base64" }), packed);
  assert.equal(await embed({ encoding_format: "float" }), [0.5, -1]);
  assert.equal(await embed({}), [0.5, -1]);
  assert.equal(
    up.seen.map(({ body }) => body.encoding_format),
    [undefined, "float", undefined],
  );
});

test("embeddings: half of a surrogate pair in an input is replaced", async () => {
  up.answer = (_, res) => json(res, { data: [{ object: "embedding", index: 0, embedding: [1] }] });
  const response = await gateway.request("POST", "/v1/embeddings", {
    model: "client/e",
    input: ["ok", "cut \ud83d"],
  });
  assert.equal(up.seen[0]!.body.input, ["ok", "cut \ufffd"]);
  assert.is(response.headers.get("x-portico-changed"), "well-formed-unicode input[1]");
});

test.run();

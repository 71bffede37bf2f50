/** Effects of an alias on requests: settings, a system text, the order of targets, and fallbacks. */
import { suite } from "../../support/suite.ts";
import * as assert from "uvu/assert";
import { type InProcessGateway, startGateway } from "../../support/gateway.ts";
import { until } from "../../support/until.ts";
import {
  completion,
  hello,
  json,
  startUpstream,
  stream,
  type Upstream,
} from "../../support/upstreams/upstream.ts";

const test = suite("alias");
let up: Upstream;
let gateway: InProcessGateway;
const messages = [{ role: "user", content: "hi" }];

test.before(async () => {
  up = await startUpstream((request, res) =>
    request.body.stream ? stream(res, ...hello) : json(res, completion("ok")),
  );
  const channel = { provider: "openai", baseUrl: up.url, maxRetries: 0 };
  gateway = await startGateway({
    config: {
      channels: {
        one: { ...channel, models: ["a"] },
        two: { ...channel, models: ["b"] },
        three: { ...channel, models: ["c"], requestsPerMinute: 1 },
        four: { ...channel, models: ["d"], tokensPerMinute: 2 },
      },
      models: {
        nowhere: "nobody/x",
        shaped: {
          targets: ["one/a"],
          system: "Be brief.",
          params: {
            default: { temperature: 0.5, top_p: 0.9 },
            force: { seed: 7, model: "x", stream: true },
            max: { max_tokens: 100, temperature: 1 },
          },
        },
        nested: "shaped",
        forced: { targets: ["one/a"], params: { force: { max_tokens: 33 } } },
        forcedNew: { targets: ["one/a"], params: { force: { max_completion_tokens: 33 } } },
        usual: { targets: ["one/a"], params: { default: { max_tokens: 33 } } },
        mixed: { targets: ["shaped", "two/b"] },
        long: { targets: ["one/a", "two/b"], fallbackOn: ["context_length", "content_filter"] },
        plain: { targets: ["one/a", "two/b"] },
        fast: { targets: ["one/a", "two/b"], strategy: "latency" },
      },
    },
  });
});
test.before.each(() => {
  up.seen.length = 0;
  up.answer = (request, res) =>
    request.body.stream ? stream(res, ...hello) : json(res, completion("ok"));
});
test.after(async () => {
  await gateway?.stop();
  await up?.close();
});

const ask = (body: object) =>
  gateway.request("POST", "/v1/chat/completions", { messages, ...body });
const lastBody = () => up.seen.at(-1)!.body;

test("defaults, forced settings, ceilings and a system text", async () => {
  for (const model of ["shaped", "nested"]) {
    await (await ask({ model })).text();
    const { temperature, top_p, seed, max_tokens, stream } = lastBody();
    assert.equal(
      [temperature, top_p, seed, max_tokens, stream, lastBody().model],
      [0.5, 0.9, 7, 100, undefined, "a"],
    );
    assert.equal(lastBody().messages, [{ role: "system", content: "Be brief." }, ...messages]);
  }
  await (
    await ask({
      model: "shaped",
      temperature: 2,
      top_p: 0.1,
      seed: 1,
      max_completion_tokens: 500,
      stream: true,
    })
  ).text();
  const { temperature, top_p, seed, max_tokens, max_completion_tokens, stream } = lastBody();
  assert.equal(
    [temperature, top_p, seed, max_tokens, max_completion_tokens, stream],
    [1, 0.1, 7, undefined, 100, true],
  );
  await (await ask({ model: "shaped", max_tokens: 5 })).text();
  assert.is(lastBody().max_tokens, 5);
});

test("max_tokens and max_completion_tokens are one setting", async () => {
  const limits = async (route: string, body: object) => {
    assert.is((await gateway.request("POST", `/v1/${route}`, body)).status, 200);
    return [lastBody().max_tokens, lastBody().max_completion_tokens];
  };
  for (const clientLimits of [
    {},
    { max_tokens: 5 },
    { max_completion_tokens: 500 },
    { max_completion_tokens: null },
  ]) {
    assert.equal(await limits("chat/completions", { model: "forced", messages, ...clientLimits }), [
      33,
      undefined,
    ]);
    assert.equal(
      await limits("chat/completions", { model: "forcedNew", messages, ...clientLimits }),
      [undefined, 33],
    );
  }
  assert.equal(
    await limits("responses", { model: "forced", input: "hi", max_output_tokens: 500 }),
    [33, undefined],
  );
  assert.equal(await limits("messages", { model: "forcedNew", messages, max_tokens: 500 }), [
    undefined,
    33,
  ]);
  const usual = (members: object) =>
    limits("chat/completions", { model: "usual", messages, ...members });
  assert.equal(await usual({}), [33, undefined]);
  assert.equal(await usual({ max_completion_tokens: 5 }), [undefined, 5]);
  assert.equal(await usual({ max_completion_tokens: null }), [33, null]);
});

test("settings of one target do not reach the next", async () => {
  up.answer = (request, res) =>
    request.body.model === "a" ? json(res, { error: {} }, 500) : json(res, completion("ok"));
  assert.is((await ask({ model: "mixed" })).status, 200);
  assert.equal(
    [up.seen[0]!.body.seed, lastBody().seed, lastBody().messages.length],
    [7, undefined, 1],
  );
});

test("an alias falls back for a context that is too long and for a content filter, if configured", async () => {
  const causes = [
    {
      status: 400,
      body: { error: { message: "Too many tokens", code: "context_length_exceeded" } },
    },
    { status: 400, body: { error: { message: "filtered", code: "content_filter" } } },
    {
      status: 200,
      body: {
        ...completion(""),
        choices: [
          {
            index: 0,
            message: { role: "assistant", content: "" },
            finish_reason: "content_filter",
          },
        ],
      },
    },
  ];
  for (const { status, body } of causes) {
    up.answer = (request, res) =>
      request.body.model === "a" ? json(res, body, status) : json(res, completion("ok"));
    const on = await ask({ model: "long" });
    assert.equal([on.status, on.headers.get("x-portico-channel")], [200, "two"]);
    assert.is((await ask({ model: "plain" })).status, status);
    up.answer = (_, res) => json(res, body, status);
    assert.is((await ask({ model: "long" })).status, status);
  }
  up.answer = (_, res) => json(res, { error: { message: "another mistake" } }, 400);
  up.seen.length = 0;
  assert.is((await ask({ model: "long" })).status, 400);
  assert.is(up.seen.length, 1);
});

test("an alias falls back for each provider's errors about too long or forbidden prompts, and not for a limit of the response", async () => {
  const goesOn = [
    "This model's maximum context length is 128000 tokens.",
    "Your input exceeds the context window of this model.",
    "prompt is too long: 213462 tokens > 200000 maximum",
    "input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000",
    "The input token count (1234567) exceeds the maximum number of tokens allowed (1048576).",
    "Unable to submit request because the input token count is 32768 but the model only supports up to 32767.",
    "Input is too long for requested model.",
    "Prompt contains 40000 tokens, too large for model with 32768 maximum context length",
    "This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
    "Please reduce the length of the messages or completion.",
    "the request exceeds the available context size, try increasing it",
    "The decoder prompt (length 40000) is longer than the maximum model length of 32768.",
    "`inputs` must have less than 4095 tokens. Given: 5000",
    "Output blocked by content filtering policy",
    "Content Exists Risk",
    "Invalid prompt: your prompt was flagged as potentially violating our usage policy.",
  ];
  const stays = [
    "max_tokens: 300000 > 8192, which is the maximum allowed number of output tokens for this model",
    "Invalid 'input': string too short",
  ];
  for (const message of [...goesOn, ...stays]) {
    up.answer = (request, res) =>
      request.body.model === "a"
        ? json(res, { error: { message } }, 400)
        : json(res, completion("ok"));
    assert.is((await ask({ model: "long" })).status, stays.includes(message) ? 400 : 200, message);
  }
});

test("latency: the faster channel is first once both latencies are known", async () => {
  up.answer = (request, res) => {
    if (request.body.model === "a") setTimeout(() => json(res, completion("slow")), 60);
    else json(res, completion("quick"));
  };
  for (let i = 0; i < 3; i++) await (await ask({ model: "one/a" })).text();
  // A machine that is busy may make one of the quick ones slow as well.
  await until("the quick one to be the faster", async () => {
    for (let i = 0; i < 5; i++) await (await ask({ model: "two/b" })).text();
    return (await ask({ model: "fast" })).headers.get("x-portico-channel") === "two";
  });
});

test("a channel over its own limit is skipped; if all are, 429 names the time for a retry", async () => {
  for (const two of ["three/c", "four/d"]) {
    const channels = [];
    for (let i = 0; i < 3; i++) {
      const response = await ask({ models: [two, "two/b"] });
      channels.push(response.headers.get("x-portico-channel"));
      await response.text();
    }
    assert.equal(channels, [two.slice(0, -2), "two", "two"]);
    const alone = await ask({ model: two });
    assert.is(alone.status, 429);
    assert.ok(Number(alone.headers.get("retry-after")) > 30);
  }
});

test("an unknown model in the list of a request is skipped", async () => {
  up.answer = (_, res) => json(res, completion("ok"));
  for (const body of [
    { models: ["nobody/x", "two/b"] },
    { model: "nobody/x", models: ["unknown", "two/b"] },
  ]) {
    const response = await ask(body);
    assert.equal([response.status, response.headers.get("x-portico-channel")], [200, "two"]);
  }
  const none = await ask({ models: ["nobody/x", "unknown"] });
  assert.equal([none.status, ((await none.json()) as any).error.code], [404, "model_not_found"]);
  const { message } = ((await (await ask({ model: "nowhere" })).json()) as any).error;
  assert.match(message, "none of the targets");
  assert.not.match(message, "mean `nowhere`");
});

test.run();

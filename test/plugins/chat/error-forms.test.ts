/** Errors with a meaning keep it on the way from any provider's format to the caller's. */
import * as assert from "uvu/assert";
import { type InProcessGateway, startGateway } from "../../support/gateway.ts";
import { suite } from "../../support/suite.ts";
import {
  chunk,
  completion,
  data,
  json,
  startUpstream,
  stream,
  type Upstream,
} from "../../support/upstreams/upstream.ts";

const test = suite("errors across formats");
let up: Upstream;
let gateway: InProcessGateway;

const SECRET = "sk-very-secret-key-1";
const PROVIDERS = [
  "openai",
  "openrouter",
  "anthropic",
  "gemini",
  "bedrock",
  "mistral",
  "ollama",
  "azure",
];

test.before(async () => {
  up = await startUpstream((_, res) => json(res, completion("ok")));
  const root = up.url.replace("/v1", "");
  const channels = PROVIDERS.map((provider) => {
    const baseUrl = ["openai", "openrouter"].includes(provider) ? up.url : root;
    return [provider, { provider, baseUrl, apiKey: SECRET, models: ["*"], maxRetries: 0 }];
  });
  gateway = await startGateway({ config: { channels: Object.fromEntries(channels) } });
});
test.after(async () => {
  await gateway?.stop();
  await up?.close();
});

const messages = [{ role: "user", content: "hi ".repeat(100) }];

async function ask(path: string, provider: string, more: object = {}): Promise<[number, any]> {
  const body = { model: `${provider}/m`, max_tokens: 9, messages, ...more };
  const response = await gateway.request("POST", path, body);
  return [response.status, ((await response.json()) as any).error];
}
const refuse = (status: number, body: unknown) => {
  up.answer = (_, res) => json(res, body, status);
};

const openai = (message: string, code: string | null = null, more: object = {}) => ({
  error: { message, type: "invalid_request_error", param: null, code, ...more },
});
const google = (message: string) => ({ error: { code: 400, message, status: "INVALID_ARGUMENT" } });
const anthropic = (message: string) => ({
  type: "error",
  error: { type: "invalid_request_error", message },
});

/** Provider, status, body, and the figures that the words name. */
const TOO_LONG: [string, number, unknown, [number?, number?]][] = [
  [
    "openai",
    400,
    openai(
      "This model's maximum context length is 128000 tokens. However, your messages resulted in 150000 tokens. Please reduce the length of the messages.",
      "context_length_exceeded",
    ),
    [150000, 128000],
  ],
  [
    "openai",
    400,
    openai(
      "Your input exceeds the context window of this model. Please adjust your input and try again.",
    ),
    [],
  ],
  [
    "azure",
    400,
    openai(
      "Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in 300000 tokens.",
      "context_length_exceeded",
    ),
    [300000, 272000],
  ],
  [
    "anthropic",
    400,
    anthropic("prompt is too long: 208310 tokens > 200000 maximum"),
    [208310, 200000],
  ],
  [
    "anthropic",
    400,
    anthropic(
      "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000, decrease input length or `max_tokens` and try again",
    ),
    [210000, 200000],
  ],
  [
    "gemini",
    400,
    google(
      "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
    ),
    [1200000, 1048576],
  ],
  [
    "gemini",
    400,
    google("The input token count exceeds the maximum number of tokens allowed 1048576."),
    [undefined, 1048576],
  ],
  ["bedrock", 400, { message: "Input is too long for requested model." }, []],
  [
    "bedrock",
    400,
    { message: "Too many input tokens. Max input tokens: 8192, request input token count: 9000" },
    [9000, 8192],
  ],
  [
    "mistral",
    400,
    {
      object: "error",
      message:
        "Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length",
      type: "invalid_request_error",
      code: "3051",
    },
    [40000, 32768],
  ],
  ["ollama", 400, { error: "the input length exceeds the context length" }, []],
  ["ollama", 500, { error: "prompt too long; exceeded max context length by 123 tokens" }, []],
  [
    "openai",
    400,
    {
      object: "error",
      message:
        "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens (4000 in the messages, 1000 in the completion).",
      type: "BadRequestError",
      code: 400,
    },
    [5000, 4096],
  ],
  [
    "openai",
    400,
    openai("the request exceeds the available context size, try increasing it", null, {
      type: "exceed_context_size_error",
      n_prompt_tokens: 5000,
      n_ctx: 4096,
    }),
    [5000, 4096],
  ],
  [
    "openai",
    500,
    openai("the request exceeds the available context size (4096 tokens)"),
    [undefined, 4096],
  ],
  [
    "openrouter",
    400,
    {
      error: {
        code: 400,
        message:
          "This endpoint's maximum context length is 163840 tokens. However, you requested about 203000 tokens (200000 of text input, 3000 in the output). Please reduce the length of either one.",
      },
    },
    [203000, 163840],
  ],
  [
    "openai",
    400,
    openai("This model's maximum prompt length is 131072 but the request contains 537,812 tokens."),
    [537812, 131072],
  ],
];

for (const [provider, status, body, [tokens, limit]] of TOO_LONG) {
  test(`${provider}: a prompt that is too long (${JSON.stringify(body).slice(0, 70)})`, async () => {
    refuse(status, body);
    for (const stream of [false, true]) {
      for (const path of ["/v1/chat/completions", "/v1/responses"]) {
        const [responseStatus, error] = await ask(path, provider, { stream, input: "hi" });
        assert.equal(
          [responseStatus, error.code, error.type],
          [400, "context_length_exceeded", "invalid_request_error"],
        );
      }
      const [responseStatus, error] = await ask("/v1/messages", provider, { stream });
      assert.equal([responseStatus, error.type], [400, "invalid_request_error"]);
      const figures = /^prompt is too long: (\d+) tokens > (\d+) maximum$/.exec(error.message);
      assert.ok(figures, error.message);
      if (tokens !== undefined) assert.is(Number(figures[1]), tokens);
      if (limit !== undefined) assert.is(Number(figures[2]), limit);
      assert.ok(Number(figures[1]) > Number(figures[2]), error.message);
    }
  });
}

test("an error about a prompt that is too long has the caller's format in a stream as well", async () => {
  const body = openai(
    "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens.",
    "context_length_exceeded",
  );
  up.answer = (_, res) => stream(res, chunk({ role: "assistant", content: "Hi" }), data(body));
  const streamOf = async (path: string, more: object = {}) => {
    const request = { model: "openai/m", max_tokens: 9, messages, stream: true, ...more };
    return (await gateway.request("POST", path, request)).text();
  };
  assert.match(await streamOf("/v1/messages"), '"prompt is too long: 5000 tokens > 4096 maximum"');
  for (const path of ["/v1/chat/completions", "/v1/responses"])
    assert.match(await streamOf(path, { input: "hi" }), '"code":"context_length_exceeded"', path);
});

test("similar messages are not mistaken for an error about a prompt that is too long", async () => {
  for (const [status, body] of [
    [
      400,
      openai(
        "'max_tokens' is too large: 9000. This model supports at most 4096 completion tokens.",
      ),
    ],
    [
      429,
      openai(
        "Request too large for gpt-4o on tokens per minute (TPM): Limit 30000, Requested 40000.",
        "rate_limit_exceeded",
      ),
    ],
    [400, openai("Unknown parameter: 'context_length'")],
  ] as const) {
    refuse(status, body);
    const [responseStatus, error] = await ask("/v1/chat/completions", "openai");
    assert.is(responseStatus, status);
    assert.is.not(error.code, "context_length_exceeded", error.message);
  }
});

test("rate limit errors keep their code and Retry-After", async () => {
  up.answer = (_, res) =>
    json(res, openai("Quota", "insufficient_quota"), 429, { "retry-after": "7" });
  const response = await gateway.request("POST", "/v1/chat/completions", {
    model: "openai/m",
    messages,
  });
  assert.equal(
    [
      response.status,
      response.headers.get("retry-after"),
      ((await response.json()) as any).error.code,
    ],
    [429, "7", "insufficient_quota"],
  );
  const [status, error] = await ask("/v1/messages", "openai");
  assert.equal([status, error.type], [429, "rate_limit_error"]);
});

test("an error event in a stream keeps the meaning of its code for limits and overload, as the first event or later", async () => {
  const cases: [object, string, number, string][] = [
    [{ message: "slow", code: "rate_limit_exceeded" }, "rate_limit_exceeded", 429, "rate_limit"],
    [{ message: "slow", code: 429 }, "rate_limit_exceeded", 429, "rate_limit"],
    [{ message: "none left", code: "insufficient_quota" }, "insufficient_quota", 429, "rate_limit"],
    [{ message: "slow", type: "rate_limit_error" }, "rate_limit_exceeded", 429, "rate_limit"],
    [{ message: "busy", code: "server_is_overloaded" }, "upstream_error", 503, "overloaded"],
    [{ message: "busy", type: "overloaded_error" }, "upstream_error", 503, "overloaded"],
    [{ message: "broken", code: "server_error" }, "upstream_error", 502, "api"],
  ];
  for (const [error, code, status, type] of cases) {
    up.answer = (_, res) => stream(res, data({ error }));
    const [responseStatus, first] = await ask("/v1/chat/completions", "openai", { stream: true });
    assert.equal([responseStatus, first.code], [status, code], JSON.stringify(error));

    up.answer = (_, res) => stream(res, chunk({ content: "a" }), data({ error }));
    const body = { model: "openai/m", max_tokens: 9, messages, stream: true };
    const chat = await gateway.request("POST", "/v1/chat/completions", body);
    assert.match(await chat.text(), `"code":"${code}"`);
    const anthropic = await gateway.request("POST", "/v1/messages", body);
    assert.match(await anthropic.text(), `"type":"${type}_error"`);
    const request = { model: "openai/m", input: "hi", stream: true };
    const responses = await (await gateway.request("POST", "/v1/responses", request)).text();
    const failed = JSON.parse(responses.trim().split("data: ").at(-1)!);
    const expected = status === 429 ? code : "server_error";
    assert.is(failed.response.error.code, expected);
  }
});

test("other members of the error object pass, masked, on routes of the same format only", async () => {
  const metadata = { provider_name: "x", raw: `{"key":"${SECRET}"}`, list: [SECRET] };
  refuse(400, openai("no", null, { metadata }));
  const [, routed] = await ask("/v1/chat/completions", "openrouter");
  assert.is(routed.metadata.provider_name, "x");
  assert.not.match(JSON.stringify(routed), SECRET);
  assert.is((await ask("/v1/messages", "openrouter"))[1].metadata, undefined);

  const innererror = { code: "ResponsibleAIPolicyViolation", content_filter_result: { hate: {} } };
  refuse(400, openai("no", "content_filter", { innererror }));
  assert.equal((await ask("/v1/chat/completions", "azure"))[1].innererror, innererror);

  const details = { error_code: "thread_not_found" };
  refuse(400, { type: "error", error: { type: "invalid_request_error", message: "no", details } });
  assert.equal((await ask("/v1/messages", "anthropic"))[1].details, details);
  assert.is((await ask("/v1/chat/completions", "anthropic"))[1].details, undefined);
});

test("members of an error about the gateway's own key are not passed on", async () => {
  refuse(401, openai("no", null, { metadata: { account: "a" } }));
  const [status, error] = await ask("/v1/chat/completions", "openai");
  assert.equal([status, error.code, error.metadata], [502, "upstream_auth", undefined]);
});

test.run();

/** Refusals before a request to a model, on each route: status, code, headers, and the client's error format. */
import { createHash } from "node:crypto";
import zlib from "node:zlib";
import * as assert from "uvu/assert";
import { type InProcessGateway, startGateway } from "../../support/gateway.ts";
import { suite } from "../../support/suite.ts";
import {
  completion,
  json,
  startUpstream,
  type Upstream,
} from "../../support/upstreams/upstream.ts";

const test = suite("refusals");
let up: Upstream;
let gateway: InProcessGateway;

interface WayIn {
  path: string;
  form: "openai" | "anthropic";
  /** The members that the error names if the body is not an object. */
  members: RegExp;
  body(model: string, maxTokens?: number): object;
}

const messages = [{ role: "user", content: "hi" }];
const WAYS: Record<string, WayIn> = {
  chat: {
    path: "/v1/chat/completions",
    form: "openai",
    members: /`model` and `messages`/,
    body: (model, max_tokens = 50) => ({ model, messages, max_tokens }),
  },
  messages: {
    path: "/v1/messages",
    form: "anthropic",
    members: /`model`, `max_tokens` and `messages`/,
    body: (model, max_tokens = 50) => ({ model, messages, max_tokens }),
  },
  responses: {
    path: "/v1/responses",
    form: "openai",
    members: /`model` and `input`/,
    body: (model, max_output_tokens = 50) => ({ model, input: "hi", max_output_tokens }),
  },
};

const TOKENS = 420;
const hashOf = (token: string) => `sha256:${createHash("sha256").update(token).digest("hex")}`;

test.before(async () => {
  const usage = { prompt_tokens: 400, completion_tokens: 20, total_tokens: TOKENS };
  up = await startUpstream((_, res) => json(res, completion("ok", { usage })));
  const channel = { provider: "openai", baseUrl: up.url, maxRetries: 0, apiKey: "k" };
  const names = Object.keys(WAYS);
  const limited = names.map((name) => [
    `few-${name}`,
    { ...channel, models: [`few-${name}`], tokensPerMinute: TOKENS },
  ]);
  const keys = names.map((name) => [name, { hash: hashOf(`pk_${name}`), tokensPerMinute: TOKENS }]);
  gateway = await startGateway({
    config: {
      channels: { ...Object.fromEntries(limited), main: { ...channel, models: ["m"] } },
      gateway: { keys: Object.fromEntries(keys) },
    },
  });
});
test.after(async () => {
  await gateway?.stop();
  await up?.close();
});

interface Refusal {
  status: number;
  message: string;
  headers: Headers;
}

/** The error of a response, which must be in the form of the way in. */
async function refusalOf(
  { form }: WayIn,
  response: Response,
  expected: { status: number; type: string; code: string },
): Promise<Refusal> {
  const { status, headers } = response;
  const { error, ...others } = (await response.json()) as any;
  assert.match(headers.get("content-type")!, /^application\/json/);
  const { message, ...members } = error;
  const id = headers.get("x-request-id");
  if (form === "anthropic") {
    assert.equal(members, { type: expected.type });
    assert.equal(others, { type: "error", request_id: id });
  } else {
    const type = expected.type.replace("not_found_error", "invalid_request_error");
    assert.equal(members, { type, code: expected.code, param: null });
    assert.equal(others, {});
  }
  assert.is(status, expected.status, message);
  assert.match(message, /\.$/, "a full sentence");
  return { status, message, headers };
}

const LIMITED = { status: 429, type: "rate_limit_error", code: "rate_limit_exceeded" };
const INVALID = { status: 400, type: "invalid_request_error", code: "invalid_request_error" };

for (const [name, way] of Object.entries(WAYS)) {
  const post = (body: object, token?: string) =>
    gateway.request("POST", way.path, body, token === undefined ? {} : { token });
  const send = (body: Buffer | string, headers: Record<string, string> = {}) =>
    fetch(gateway.url + way.path, {
      method: "POST",
      headers: {
        authorization: `Bearer ${gateway.token}`,
        "content-type": "application/json",
        ...headers,
      },
      body,
    });

  /** SDKs ignore a `Retry-After` of more than 60 s. */
  async function checkLimited(response: Response, words: RegExp): Promise<void> {
    const { message, headers } = await refusalOf(way, response, LIMITED);
    assert.match(message, words);
    assert.match(headers.get("retry-after")!, /^(?:[1-9]|[1-5]\d|60)$/);
    assert.is(headers.get("x-should-retry"), null);
  }

  test(`${name}: tokensPerMinute of a channel and of a key`, async () => {
    const before = up.seen.length;
    const cases = [
      [`few-${name}`, undefined],
      ["m", `pk_${name}`],
    ] as const;
    for (const [model, token] of cases) {
      for (const stream of [false, true])
        await checkLimited(
          await post({ ...way.body(model, 1000), stream }, token),
          /\b10\d\d tokens.*420.*max_tokens/,
        );
      const accepted = await post(way.body(model), token);
      assert.is(accepted.status, 200, await accepted.text());
      for (const stream of [false, true])
        await checkLimited(
          await post({ ...way.body(model), stream }, token),
          /limit.*Try again in \d+ s\./,
        );
    }
    assert.is(up.seen.length, before + cases.length);
  });

  test(`${name}: compressed bodies`, async () => {
    const bytes = Buffer.from(JSON.stringify(way.body("m")));
    const { zstdCompressSync } = zlib as { zstdCompressSync?: (bytes: Buffer) => Buffer };
    const compressed: Record<string, Buffer> = {
      gzip: zlib.gzipSync(bytes),
      deflate: zlib.deflateSync(bytes),
      br: zlib.brotliCompressSync(bytes),
      ...(zstdCompressSync && { zstd: zstdCompressSync(bytes) }),
    };
    for (const [encoding, body] of Object.entries(compressed)) {
      const response = await send(body, { "content-encoding": encoding });
      assert.is(response.status, 200, await response.text());
      const broken = await send(Buffer.from("broken"), { "content-encoding": encoding });
      const { message } = await refusalOf(way, broken, INVALID);
      assert.match(message, encoding);
    }
    const unknown = ["compress", ...(zstdCompressSync ? [] : ["zstd"])];
    for (const encoding of unknown) {
      const response = await send(bytes, { "content-encoding": encoding });
      const { message, headers } = await refusalOf(way, response, {
        ...{ status: 415, type: "invalid_request_error", code: "unsupported_media_type" },
      });
      const supported = Object.keys(compressed).join(", ");
      assert.match(message, `"${encoding}" is not supported`);
      assert.match(message, supported);
      assert.is(headers.get("accept-encoding"), supported);
    }
  });

  test(`${name}: invalid bodies and other methods are refused`, async () => {
    const noJson = { ...INVALID, code: "invalid_json" };
    await refusalOf(way, await send("{"), noJson);
    await refusalOf(way, await send(""), noJson);
    for (const body of ["[]", "null", '"hi"', "1"]) {
      const { message } = await refusalOf(way, await send(body), INVALID);
      assert.match(message, /^The body must be a JSON object/);
      assert.match(message, way.members);
    }
    const text = await send("{}", { "content-type": "text/plain" });
    const { type } = INVALID;
    await refusalOf(way, text, { status: 415, type, code: "unsupported_media_type" });
    for (const method of ["GET", "PUT"]) {
      const response = await gateway.request(method, way.path);
      const notAllowed = { status: 405, type, code: "method_not_allowed" };
      const { headers } = await refusalOf(way, response, notAllowed);
      assert.is(headers.get("allow"), "POST");
    }
    const nothing = await gateway.request("GET", `${way.path}/a/b/c`);
    await refusalOf(way, nothing, { status: 404, type: "not_found_error", code: "not_found" });
    const stranger = await send("{}", { authorization: "Bearer wrong" });
    await refusalOf(way, stranger, {
      ...{ status: 401, type: "authentication_error", code: "invalid_api_key" },
    });
  });
}

test.run();

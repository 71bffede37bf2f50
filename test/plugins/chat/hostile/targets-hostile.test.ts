/** Requests to targets and their failures: no setting is dropped silently, and a failure affects one model only. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { suite } from "../../../support/suite.ts";
import * as assert from "uvu/assert";
import { type InProcessGateway, startGateway } from "../../../support/gateway.ts";
import {
  type Dialect,
  dialects,
  type FakeProvider,
  startProvider,
} from "../../../support/upstreams/index.ts";
import {
  completion,
  hello,
  json,
  startUpstream,
  stream,
  type Seen,
  type Upstream,
} from "../../../support/upstreams/upstream.ts";

const test = suite("targets hostile");
const messages = [{ role: "user", content: "hi" }];
const fakes = new Map<Dialect, FakeProvider>();
const failures = [429, 500, 503, 529] as const;
let up: Upstream;
let gateway: InProcessGateway;

test.before(async () => {
  up = await startUpstream(respond);
  const channels: Record<string, object> = {};
  for (const dialect of dialects) {
    const fake = await startProvider(dialect);
    fakes.set(dialect, fake);
    channels[dialect.name] = {
      ...dialect.channel(fake.root),
      models: [dialect.model],
      maxRetries: 0,
    };
  }
  const openai = {
    provider: "openai",
    baseUrl: up.url,
    apiKey: ["key-of-one", "key-of-two"],
    maxRetries: 0,
  };
  for (const status of failures)
    for (const form of ["whole", "stream", "embeddings"])
      channels[`${form}-${status}`] = {
        ...openai,
        models: [`bad-${form}-${status}`, `good-${form}-${status}`],
      };
  channels["spare"] = { ...openai, models: ["good-*"], priority: -1 };
  gateway = await startGateway({ config: { channels } });
});
test.after(async () => {
  await gateway?.stop();
  await up?.close();
  for (const fake of fakes.values()) await fake.close();
});

/** `bad-whole-429` fails with 429, and nothing else does. */
const respond: Upstream["answer"] = ({ body }: Seen, res) => {
  const [, status] = /^bad-\w+-(\d+)$/.exec(body.model) ?? [];
  if (status !== undefined)
    return json(res, { error: { message: "not now" } }, Number(status), { "retry-after": "60" });
  if (body.input !== undefined)
    return json(res, { data: [{ object: "embedding", index: 0, embedding: [1] }], model: "m" });
  return body.stream ? stream(res, ...hello) : json(res, completion("ok"));
};

async function ask(body: object, path = "/v1/chat/completions") {
  const response = await gateway.request("POST", path, { messages, ...body });
  return { status: response.status, headers: response.headers, text: await response.text() };
}

for (const status of failures) {
  test(`a ${status} for one model does not affect the other models and keys of its channel`, async () => {
    for (const form of ["whole", "stream", "embeddings"] as const) {
      const [path, more] =
        form === "embeddings"
          ? ["/v1/embeddings", { input: "x", messages: undefined }]
          : ["/v1/chat/completions", { stream: form === "stream" }];
      for (let i = 0; i < 7; i++) {
        const refused = await ask({ model: `bad-${form}-${status}`, ...more }, path);
        assert.ok(refused.status >= 429, refused.text);
      }
      const before = up.seen.length;
      for (let i = 0; i < 2; i++) {
        const good = await ask({ model: `good-${form}-${status}`, ...more }, path);
        assert.equal(
          [good.status, good.headers.get("x-portico-channel")],
          [200, `${form}-${status}`],
          good.text,
        );
      }
      const keys = up.seen.slice(before).map(({ headers }) => headers.authorization);
      assert.is(new Set(keys).size, 2, "both keys are in use");
    }
  });
}

for (const dialect of dialects) {
  test(`${dialect.name} receives each setting of the caller, or a header names the setting as dropped`, async () => {
    const fake = fakes.get(dialect)!;
    const model = `${dialect.name}/${dialect.model}`;
    for (const temperature of [0, 0.3, 1, 1.01, 1.5, 2]) {
      for (const more of [{}, { stream: true }]) {
        fake.next = { answer: { text: ["x"] } };
        const { status, headers, text } = await ask({ model, temperature, ...more });
        assert.is(status, 200, text);
        const dropped = headers.get("x-portico-dropped")?.split(/, ?/) ?? [];
        const sent = fake.views.at(-1)!.temperature;
        if (dropped.includes("temperature")) assert.is(sent, undefined);
        else assert.is(sent, temperature);
      }
    }
    const requestCount = fake.seen.length;
    for (const more of [{}, { stream: true }]) {
      const { status, text } = await ask({ model, n: 2, ...more });
      if (status === 400) assert.is(JSON.parse(text).error.param, "n");
      // an upstream that knows how is asked for two
      else assert.match(JSON.stringify(fake.seen.at(-1)!.body), /"(n|candidateCount)":2/);
    }
    if (["anthropic", "bedrock", "ollama"].includes(dialect.name))
      assert.is(fake.seen.length, requestCount);
  });
}

test("the response headers name dropped members separately and within a client's limits, whatever the names", async () => {
  const anthropic = dialects.find(({ name }) => name === "anthropic")!;
  const model = `anthropic/${anthropic.model}`;
  const dropped = async (more: object, path?: string) => {
    const { status, headers, text } = await ask({ model, ...more }, path);
    assert.is(status, 200, text);
    return headers.get("x-portico-dropped")!;
  };
  fakes.get(anthropic)!.next = { answer: { text: ["x"] } };
  const odd = { seed: 1, "\u00fc": 1, "a,b": 1, "a\r\nb": 1 };
  assert.is(await dropped(odd), "seed, %C3%BC, a%2Cb, a%0D%0Ab");
  const other = { input: "x", messages: undefined };
  assert.is(await dropped({ ...odd, ...other }, "/v1/responses"), "seed, %C3%BC, a%2Cb, a%0D%0Ab");
  const many = Array.from({ length: 500 }, (_, i) => [`\u65e5\u672c${i}`, i]);
  assert.ok((await dropped(Object.fromEntries(many))).length < 4100);
  const long = await ask({ model: `spare/good-${"x".repeat(240)}` });
  assert.is(long.status, 200, long.text);
  assert.match(long.headers.get("x-portico-model")!, /^good-x{240}$/);
  // Longer names are refused.
  assert.is((await ask({ model: `spare/good-${"x".repeat(30_000)}` })).status, 400);
});

test("the test of a channel reports a refused key, with and without a model", async () => {
  const refusal = {
    error: { message: "Incorrect API key", type: "authentication_error", code: "invalid_api_key" },
  };
  const refusing = createServer((_, res) => json(res, refusal, 401));
  await new Promise<void>((resolve) => refusing.listen(0, "127.0.0.1", resolve));
  const root = `http://127.0.0.1:${(refusing.address() as AddressInfo).port}`;
  const channels = Object.fromEntries(
    ["openai", "anthropic", "mistral", "ollama"].map((provider) => {
      const baseUrl = provider === "openai" ? `${root}/v1` : root;
      return [
        provider,
        { provider, baseUrl, apiKey: [`wrong-${provider}-1`, `wrong-${provider}-2`] },
      ];
    }),
  );
  const other = await startGateway({ config: { channels } });
  try {
    for (const name of Object.keys(channels)) {
      for (const body of [undefined, { model: "m" }]) {
        const tested = await other.json("POST", `/channels/${name}/test`, body);
        assert.is(tested.ok, false);
        assert.match(tested.modelsError, "refused the gateway's key: Incorrect API key", name);
        assert.match(tested.error, "refused the gateway's key: Incorrect API key", name);
        assert.not.match(JSON.stringify(tested), /wrong-/);
      }
    }
  } finally {
    await other.stop();
    refusing.close();
  }
});

test.run();

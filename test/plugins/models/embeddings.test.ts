import OpenAI from "openai";
import { suite } from "../../support/suite.ts";
import * as assert from "uvu/assert";
import { checkEmbeddings } from "../../../plugins/models/serving/embeddings.ts";
import { type InProcessGateway, startGateway } from "../../support/gateway.ts";
import { until } from "../../support/until.ts";
import { json, startUpstream, type Upstream } from "../../support/upstreams/upstream.ts";

const test = suite("embeddings");
let up: Upstream;
let spare: Upstream;
let gateway: InProcessGateway;
let client: OpenAI;

const vectors = [
  [0.5, -1, 0.25],
  [1, 2, 3],
];
const embeddingList = {
  object: "list",
  data: vectors.map((embedding, index) => ({ object: "embedding", index, embedding })),
  model: "embed-x",
  usage: { prompt_tokens: 7, total_tokens: 7 },
};

test.before(async () => {
  up = await startUpstream((_, res) => json(res, embeddingList), { models: ["embed-x"] });
  spare = await startUpstream((_, res) => json(res, { ...embeddingList, model: "spare" }), {
    models: [],
  });
  gateway = await startGateway({
    config: {
      channels: {
        main: { provider: "openai", baseUrl: up.url, apiKey: "k", maxRetries: 0 },
        spare: { provider: "openai", baseUrl: spare.url },
        // The upstream's list has OpenAI's form, which these two formats do not read.
        local: { provider: "ollama", baseUrl: up.url.replace("/v1", ""), models: ["local-*"] },
        google: { provider: "gemini", baseUrl: up.url.replace("/v1", ""), models: ["gemini-*"] },
        mist: { provider: "mistral", baseUrl: up.url.replace("/v1", "") },
        blue: { provider: "azure", baseUrl: up.url.replace("/v1", "") },
        claude: { provider: "anthropic", baseUrl: up.url.replace("/v1", "") },
      },
      models: { vector: { targets: ["claude/none", "main/embed-x", "spare/embed-y"] } },
    },
  });
  client = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: gateway.token, maxRetries: 0 });
});
test.after(async () => {
  await gateway?.stop();
  await up?.close();
  await spare?.close();
});
test.before.each(() => {
  up.seen.length = 0;
  spare.seen.length = 0;
  up.answer = (_, res) => json(res, embeddingList);
});

test("the openai package receives vectors as floats and in its default encoding (base64)", async () => {
  for (const format of [undefined, "float"] as const) {
    const list = await client.embeddings.create({
      model: "main/embed-x",
      input: ["a", "b"],
      ...(format && { encoding_format: format }),
    });
    assert.equal(
      list.data.map((embedding) => [...embedding.embedding]),
      vectors,
    );
    assert.equal(list.usage, { prompt_tokens: 7, total_tokens: 7 });
  }
  const [first] = up.seen;
  assert.is(first!.path, "/v1/embeddings");
  assert.is(first!.headers.authorization, "Bearer k");
  assert.equal(first!.body, { model: "embed-x", input: ["a", "b"] });
});

test("vectors that an upstream sends as base64 without a request become floats", async () => {
  const packed = Buffer.from(Float32Array.from([0.5, -1]).buffer).toString("base64");
  up.answer = (_, res) =>
    json(res, { ...embeddingList, data: [{ object: "embedding", index: 0, embedding: packed }] });
  const response = await gateway.json("POST", "/v1/embeddings", {
    model: "main/embed-x",
    input: "a",
  });
  assert.equal(response.data[0].embedding, [0.5, -1]);
});

test("channels that fail or have no embeddings are skipped, and headers name the source of the response", async () => {
  up.answer = (_, res) => json(res, { error: { message: "down" } }, 500);
  const response = await gateway.request("POST", "/v1/embeddings", { model: "vector", input: "a" });
  assert.is(response.status, 200);
  assert.is(response.headers.get("x-portico-channel"), "spare");
  assert.is(response.headers.get("x-portico-model"), "embed-y");
  assert.is(response.headers.get("x-portico-attempts"), "2");
  assert.is(((await response.json()) as { model: string }).model, "spare");
  assert.is(spare.seen[0]!.body.model, "embed-y");
});

test("a response without vectors is an upstream error, for every provider", async () => {
  for (const body of [
    { detail: "x" },
    { data: {} },
    { data: [] },
    { data: [null] },
    { data: [{ embedding: null }] },
    [],
    "x",
  ]) {
    const up = await startUpstream((_, res) => json(res, body));
    const root = up.url.slice(0, -3);
    const channels = Object.fromEntries(
      ["openai", "azure", "gemini", "mistral", "ollama"].map((provider) => [
        provider,
        {
          provider,
          baseUrl: provider === "openai" ? up.url : root,
          apiKey: "key-of-it",
          models: ["m"],
          maxRetries: 0,
        },
      ]),
    );
    const other = await startGateway({ config: { channels } });
    for (const name of Object.keys(channels)) {
      const response = await other.request("POST", "/v1/embeddings", {
        model: `${name}/m`,
        input: "x",
      });
      assert.is(response.status, 502, `${name} ${JSON.stringify(body)}: ${await response.text()}`);
    }
    await other.stop();
    await up.close();
  }
});

test("errors: no embeddings on the channel, a refusal of the upstream, a chat response, an unknown model, no token", async () => {
  const error = async (body: object, token?: null) => {
    const response = await gateway.request(
      "POST",
      "/v1/embeddings",
      body,
      token === null ? { token } : {},
    );
    const errorBody = (await response.json()) as {
      error: { code: string; message: string; param: string | null };
    };
    return [response.status, errorBody.error] as const;
  };
  for (const model of ["echo", "claude/x"]) {
    const [status, problem] = await error({ model, input: "a" });
    assert.equal([status, problem.code, problem.param], [400, "unsupported_endpoint", "model"]);
    assert.match(problem.message, /These channels support this route: .*main/);
  }
  up.answer = (_, res) => json(res, { error: { message: "too long", code: "context" } }, 400);
  assert.equal((await error({ model: "main/embed-x", input: "a" }))[1].code, "context");
  up.answer = (_, res) => json(res, { choices: [] });
  assert.is((await error({ model: "main/embed-x", input: "a" }))[0], 502);
  for (const model of ["mian/embed-x", "nobody"]) {
    const [status, problem] = await error({ model, input: "a" });
    assert.equal([status, problem.code], [404, "model_not_found"]);
    assert.equal(Object.keys(problem), ["message", "type", "param", "code"]);
  }
  assert.is((await error({ model: "main/embed-x", input: "a" }, null))[0], 401);
});

test("errors about input and options name the path of the problem", () => {
  const rows: [unknown, string | undefined][] = [
    [[], undefined],
    [{ input: "a" }, "model"],
    [{ model: "m" }, "input"],
    [{ model: "m", input: "" }, "input"],
    [{ model: "m", input: [] }, "input"],
    [{ model: "m", input: 3 }, "input"],
    [{ model: "m", input: ["a", ""] }, "input[1]"],
    [{ model: "m", input: ["a", [1]] }, "input[1]"],
    [{ model: "m", input: [[1], []] }, "input[1]"],
    [{ model: "m", input: Array(2049).fill("a") }, "input"],
    [{ model: "m", input: "a", encoding_format: "int8" }, "encoding_format"],
    [{ model: "m", input: "a", dimensions: 0 }, "dimensions"],
    [{ model: "m", input: "a", user: 1 }, "user"],
  ];
  for (const [value, param] of rows) {
    try {
      checkEmbeddings(value);
      assert.unreachable(JSON.stringify(value));
    } catch (error) {
      assert.equal(
        [(error as { code: string }).code, (error as { param?: string }).param],
        ["invalid_request_error", param],
        JSON.stringify(value),
      );
    }
  }
  for (const input of ["a", ["a", "b"], [1, 2], [[1], [2, 3]]])
    checkEmbeddings({ model: "m", input });
});

test("ollama, gemini, mistral and azure receive requests in their own formats", async () => {
  const rows: [string, object, string][] = [
    ["local/nomic", { embeddings: vectors, prompt_eval_count: 4 }, "/api/embed"],
    [
      "google/emb",
      { embeddings: vectors.map((values) => ({ values })) },
      "/v1beta/models/emb:batchEmbedContents",
    ],
    ["mist/emb", embeddingList, "/v1/embeddings"],
    ["blue/emb", embeddingList, "/openai/v1/embeddings"],
  ];
  for (const [model, body, path] of rows) {
    up.seen.length = 0;
    up.answer = (_, res) => json(res, body);
    const list = await client.embeddings.create({ model, input: ["a", "b"] });
    assert.equal(
      list.data.map((embedding) => [...embedding.embedding]),
      vectors,
      model,
    );
    assert.is(up.seen[0]!.path, path);
    assert.not.ok("messages" in up.seen[0]!.body, model);
    const more = { user: "u", odd: 1, dimensions: null, encoding_format: "float" };
    const response = await gateway.request("POST", "/v1/embeddings", {
      model,
      input: ["a", "b"],
      ...more,
    });
    const dropped = response.headers.get("x-portico-dropped");
    assert.is(dropped, model === "blue/emb" ? null : "user, odd", model);
  }
});

test("members that a server omits from its response are added", async () => {
  up.answer = (_, res) => json(res, { data: vectors.map((embedding) => ({ embedding })) });
  const response = await gateway.json("POST", "/v1/embeddings", {
    model: "main/embed-x",
    input: ["a", "b"],
  });
  assert.equal(response, { ...embeddingList, usage: { prompt_tokens: 0, total_tokens: 0 } });
});

test("the end of a request is reported as chat:response, with the usage", async () => {
  const events: any[] = [];
  const undo = gateway.gateway.bus.on("chat:response", (event) => void events.push(event.context), {
    owner: "test",
  });
  await gateway.json("POST", "/v1/embeddings", { model: "main/embed-x", input: "a" });
  await until("the event", () => events.length > 0);
  await undo();
  assert.equal(events[0].usage, { prompt_tokens: 7, completion_tokens: 0, total_tokens: 7 });
  assert.equal([events[0].channel, events[0].model, events[0].status], ["main", "embed-x", 200]);
});

test("a client that disconnects aborts the upstream request", async () => {
  const leaving = new AbortController();
  let cut: Promise<void> | undefined;
  const requestArrival = new Promise<void>((resolve) => {
    up.answer = (upstreamRequest) => {
      cut = upstreamRequest.cut;
      resolve();
    };
  });
  const request = gateway
    .request(
      "POST",
      "/v1/embeddings",
      { model: "main/embed-x", input: "a" },
      { signal: leaving.signal },
    )
    .catch(() => {});
  await requestArrival;
  leaving.abort();
  await Promise.all([cut, request]);
});

test.run();

/** The cache of an alias: which requests it serves, and which never. */
import { suite } from "../../support/suite.ts";
import * as assert from "uvu/assert";
import { Job } from "../../../plugins/models/job.ts";
import { ResponseCache } from "../../../plugins/models/routing/response-cache.ts";
import { type InProcessGateway, startGateway } from "../../support/gateway.ts";
import {
  completion,
  hello,
  json,
  startUpstream,
  stream,
  type Upstream,
} from "../../support/upstreams/upstream.ts";

const test = suite("alias cache");
let up: Upstream;
let gateway: InProcessGateway;

test.before(async () => {
  up = await startUpstream((request, res) => {
    if (request.path.endsWith("/moderations"))
      return json(res, { results: [{ flagged: request.body.input === "b" }] });
    if (request.path.endsWith("/embeddings"))
      return json(res, { data: [{ index: 0, embedding: [up.seen.length] }] });
    return request.body.stream ? stream(res, ...hello) : json(res, completion("ok"));
  });
  gateway = await startGateway({
    config: {
      channels: { one: { provider: "openai", baseUrl: up.url, maxRetries: 0 } },
      models: {
        kept: { targets: ["one/a"], cache: { ttlMs: 60_000, maxEntries: 2 } },
        always: { targets: ["one/a"], cache: { ttlMs: 60_000, maxEntries: 2, always: true } },
        short: { targets: ["one/a"], cache: { ttlMs: 1, maxEntries: 2, always: true } },
      },
    },
  });
});
test.after(async () => {
  await gateway?.stop();
  await up?.close();
});

async function ask(content: string, more: object = {}, headers: Record<string, string> = {}) {
  const body = { model: "kept", temperature: 0, messages: [{ role: "user", content }], ...more };
  const response = await gateway.request("POST", "/v1/chat/completions", body, { headers });
  const readHeader = (name: string) => response.headers.get(`x-portico-${name}`);
  const text = await response.text();
  return {
    status: response.status,
    text,
    cache: readHeader("cache"),
    channel: readHeader("channel"),
    attempts: readHeader("attempts"),
  };
}

test("the same request is served from the cache, whole and as a stream", async () => {
  for (const more of [{}, { stream: true }]) {
    const before = up.seen.length;
    const [first, again] = [await ask("same", more), await ask("same", more)];
    assert.equal([first.cache, again.cache], ["miss", "hit"]);
    assert.is(again.text, first.text);
    assert.is(up.seen.length, before + 1);
  }
});

test("different requests, a temperature, no-store and an expired entry bypass the cache", async () => {
  assert.is((await ask("x")).cache, "miss");
  assert.is((await ask("x", { seed: 1 })).cache, "miss");
  assert.is((await ask("x", { temperature: 0.1 })).cache, null);
  assert.is((await ask("x", {}, { "cache-control": "max-age=0, no-store" })).cache, null);
  assert.is((await ask("x", { temperature: 1, model: "always" })).cache, "miss");
  assert.is((await ask("x", { temperature: 1, model: "always" })).cache, "hit");
  await ask("x", { model: "short" });
  const until = performance.now() + 2;
  while (performance.now() < until);
  assert.is((await ask("x", { model: "short" })).cache, "miss");
});

test("the number of entries is limited, and the least recently used entry is removed", async () => {
  for (const content of ["1", "2", "1", "3"]) await ask(content);
  assert.equal([(await ask("1")).cache, (await ask("2")).cache], ["hit", "miss"]);
});

test("client keys have entries of their own, unless the cache is shared", () => {
  const request = { model: "kept", temperature: 0, messages: [] };
  const keys = (shared: boolean) => {
    const cache = new ResponseCache({ ttlMs: 1000, maxEntries: 1, shared });
    const of = (key: string) =>
      cache.keyOf(
        new Job({
          request,
          stream: false,
          requestId: "",
          client: { kind: "key", key },
          sessionKey: "",
        }),
      );
    return [of("one"), of("two")];
  };
  assert.is.not(keys(false)[0], keys(false)[1]);
  assert.is(keys(true)[0], keys(true)[1]);
});

test("the cache serves every chat format, and no other route", async () => {
  const messages = [{ role: "user", content: "formats" }];
  const asks: [string, object][] = [
    ["/v1/messages", { model: "always", max_tokens: 9, messages }],
    ["/v1/messages", { model: "always", max_tokens: 9, messages, stream: true }],
    ["/v1/responses", { model: "always", input: "formats", store: false }],
    ["/v1/responses", { model: "always", input: "formats", store: false, stream: true }],
  ];
  const askRoute = async (path: string, body: object) => {
    const response = await gateway.request("POST", path, body);
    assert.is(response.status, 200, await response.clone().text());
    const text = (await response.text()).replace(
      /(msg|resp|rs)_\w+|"(created|completed)_at":[\d.]+/g,
      "",
    );
    return { text, cache: response.headers.get("x-portico-cache") };
  };
  for (const [path, body] of asks) {
    const [first, again] = [await askRoute(path, body), await askRoute(path, body)];
    assert.equal([first.cache, again.cache], ["miss", "hit"], path);
    assert.is(again.text, first.text);
  }
  for (const [path, input] of [
    ["/v1/moderations", "a"],
    ["/v1/moderations", "b"],
    ["/v1/embeddings", "a"],
    ["/v1/embeddings", "a"],
  ] as const) {
    const before = up.seen.length;
    assert.is((await askRoute(path, { model: "always", input })).cache, null);
    assert.is(up.seen.length, before + 1);
  }
});

test("a hit costs nothing, and is reported with its source", async () => {
  const rows = async () => (await gateway.json("GET", "/usage")).total;
  const { text } = await ask("costs");
  const before = await rows();
  const again = await ask("costs");
  const after = await rows();
  assert.is(again.text, text);
  assert.equal(
    [
      after.requests - before.requests,
      after.totalTokens - before.totalTokens,
      after.costUsd - before.costUsd,
    ],
    [1, 0, 0],
  );
  assert.equal([again.channel, again.attempts], ["one", "0"]);
});

test("handlers receive every response, including those from the cache", async () => {
  const own = await startGateway({
    config: {
      channels: { one: { provider: "openai", baseUrl: up.url } },
      models: { kept: { targets: ["one/a"], cache: { ttlMs: 60_000, maxEntries: 2 } } },
    },
    files: {
      "plugins/counting/plugin.ts": `
        import { definePlugin } from "portico";
        let seen = 0;
        export default definePlugin({ name: "counting", setup(ctx) {
          ctx.on("message:sending", (event) => { event.context.content += " " + ++seen; });
        } });`,
    },
  });
  try {
    const contents: string[] = [];
    for (let i = 0; i < 3; i++) {
      const body = { model: "kept", temperature: 0, messages: [{ role: "user", content: "x" }] };
      contents.push(
        (await own.json("POST", "/v1/chat/completions", body)).choices[0].message.content,
      );
    }
    assert.equal(contents, ["ok 1", "ok 2", "ok 3"]);
  } finally {
    await own.stop();
  }
});

test("errors and streams that break off are not cached", async () => {
  const originalAnswerer = up.answer;
  up.answer = (request, res) => {
    if (!request.body.stream) return json(res, { error: { message: "no" } }, 400);
    res.writeHead(200, { "content-type": "text/event-stream" });
    res.write(hello[0]!);
    res.write(hello[1]!, () => res.destroy());
  };
  await ask("bad");
  await ask("bad", { stream: true });
  up.answer = originalAnswerer;
  assert.is((await ask("bad")).cache, "miss");
  assert.is((await ask("bad", { stream: true })).cache, "miss");
});

test.run();

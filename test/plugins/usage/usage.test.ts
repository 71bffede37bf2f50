/** What is counted of requests, seen from GET /usage and from the upstream. */
import type { ServerResponse } from "node:http";
import { join } from "node:path";
import { suite } from "../../support/suite.ts";
import * as assert from "uvu/assert";
import { openStore } from "../../../plugins/store/open.ts";
import { type InProcessGateway, makeHome, startGateway } from "../../support/gateway.ts";
import { until } from "../../support/until.ts";
import {
  chunk,
  completion,
  DONE,
  json,
  startUpstream,
  type Upstream,
} from "../../support/upstreams/upstream.ts";

const test = suite("usage");
const USAGE = {
  prompt_tokens: 1000,
  completion_tokens: 100,
  total_tokens: 1100,
  prompt_tokens_details: { cached_tokens: 500 },
};
/** gpt-4o-mini's list price: 500 at 0.15, 500 at 0.075, 100 at 0.6 dollars a million. */
const COST = 0.0001725;
const messages = [{ role: "user", content: 'Say "usage": {"prompt_tokens": 7}' }];

let up: Upstream;
let gateway: InProcessGateway;

test.before(async () => {
  up = await startUpstream(({ body, path }, res) => {
    const { model } = body;
    if (path.endsWith("/embeddings")) return answerEmbedding(res, model);
    if (model === "fails") return json(res, { error: { message: "no" } }, 400);
    if (model === "strict" && body.stream_options !== undefined)
      return json(res, { error: { message: "unknown field: stream_options" } }, 422);
    const usage = model === "silent" ? undefined : USAGE;
    const text = "x".repeat(model === "large" ? 1_200_000 : 3);
    if (!body.stream) return json(res, completion(text, { model, usage }));
    streamAnswer(res, body, usage);
  });
  gateway = await startGateway({ config: configFor(up) });
});
test.after(async () => {
  await gateway?.stop();
  await up?.close();
});

function answerEmbedding(res: ServerResponse, model: string): void {
  const data = [{ object: "embedding", index: 0, embedding: [0.5] }];
  const usage = { prompt_tokens: 10, total_tokens: 10 };
  json(res, { object: "list", model, data, usage });
}

function streamAnswer(res: ServerResponse, body: any, usage: object | undefined): void {
  const { model } = body;
  res.writeHead(200, { "content-type": "text/event-stream" });
  res.write(chunk({ role: "assistant", content: "Hi" }, null, { model }));
  if (model === "hangs") return;
  res.write(chunk({}, "stop", { model }));
  if (body.stream_options?.include_usage) res.write(chunk({}, null, { model, choices: [], usage }));
  res.end(DONE);
}

function configFor({ url }: Upstream): Record<string, unknown> {
  return {
    channels: {
      main: { provider: "openai", baseUrl: url },
      own: { provider: "openai", baseUrl: url },
      quiet: { provider: "openai", baseUrl: url, streamUsage: false },
      strict: { provider: "openai", baseUrl: url },
    },
    usage: { prices: { "own/*": { input: 10, output: 100, cachedInput: 1 } } },
    agents: { defaults: { model: "main/gpt-4o-mini", heartbeat: { every: "0" } } },
  };
}

const ask = (model: string, more: object = {}) =>
  gateway.request("POST", "/v1/chat/completions", { model, messages, ...more });
const row = async (channel: string, model: string, from = gateway) =>
  (await from.json("GET", `/usage?by=channel,model&channel=${channel}&model=${model}`)).rows[0];

test("a whole response counts with its provider's tokens and their price", async () => {
  await (await ask("main/gpt-4o-mini")).json();
  const { averageMs, p50Ms, p95Ms, firstByteP50Ms, firstByteP95Ms, ...amounts } = await row(
    "main",
    "gpt-4o-mini",
  );
  assert.ok(averageMs > 0);
  assert.ok(0 < firstByteP50Ms && firstByteP50Ms <= firstByteP95Ms);
  assert.ok(firstByteP50Ms <= p50Ms && p50Ms <= p95Ms);
  assert.equal(amounts, {
    channel: "main",
    model: "gpt-4o-mini",
    requests: 1,
    errors: 0,
    promptTokens: 1000,
    completionTokens: 100,
    totalTokens: 1100,
    cachedTokens: 500,
    costUsd: COST,
    unmetered: 0,
    unpriced: 0,
    estimated: 0,
  });
});

test("usage is summed by alias and by principal", async () => {
  const other = await startGateway({
    config: { ...configFor(up), models: { smart: "main/gpt-4o-mini" } },
  });
  try {
    const { key } = await other.json("POST", "/keys", { name: "ci" });
    const body = { model: "smart", messages };
    await (await other.request("POST", "/v1/chat/completions", body)).json();
    await (await other.request("POST", "/v1/chat/completions", body, { token: key })).json();
    await other.json("POST", "/v1/chat/completions", { ...body, model: "main/gpt-4o" });
    const rowsBy = async (query: string, name: string) => {
      const { rows } = await other.json("GET", `/usage?${query}`);
      return rows
        .map((row: Record<string, unknown>) => [row[name], row["requests"]])
        .sort() as unknown;
    };
    assert.equal(await rowsBy("by=alias", "alias"), [
      ["main/gpt-4o", 1],
      ["smart", 2],
    ]);
    assert.equal(await rowsBy("by=principal&alias=smart", "principal"), [
      ["key:ci", 1],
      ["owner", 1],
    ]);
    assert.equal(await rowsBy("by=model&principal=key:ci", "model"), [["gpt-4o-mini", 1]]);
    const refused = await other.request("GET", "/usage/requests?alias=smart");
    assert.is(refused.status, 400, "single requests are kept without their alias");
  } finally {
    await other.stop();
  }
});

test("a stream's usage is requested, counted, and hidden from a client that did not request it", async () => {
  const text = await (await ask("main/gpt-4o", { stream: true })).text();
  assert.equal(
    up.seen.at(-1)!.raw,
    JSON.stringify({
      model: "gpt-4o",
      messages,
      stream: true,
      stream_options: { include_usage: true },
    }),
  );
  assert.not.match(text, /"usage"/);
  assert.match(text, /"finish_reason":"stop"/);
  assert.ok(text.endsWith("data: [DONE]\n\n"));
  const { requests, promptTokens, completionTokens, unmetered } = await row("main", "gpt-4o");
  assert.equal([requests, promptTokens, completionTokens, unmetered], [1, 1000, 100, 0]);
});

test("a stream's usage reaches a client that requests it, and other stream options stay", async () => {
  const wanted = await (
    await ask("main/o3", { stream: true, stream_options: { include_usage: true } })
  ).text();
  assert.match(wanted, /"choices":\[\],"usage":\{"prompt_tokens":1000/);
  const other = await (
    await ask("main/o3", { stream: true, stream_options: { include_obfuscation: false } })
  ).text();
  assert.not.match(other, /"usage"/);
  assert.equal(up.seen.at(-1)!.body.stream_options, {
    include_obfuscation: false,
    include_usage: true,
  });
  assert.is((await row("main", "o3")).promptTokens, 2000);
});

test("an upstream that refuses the usage option receives the request without it, and from then on at once", async () => {
  const before = up.seen.length;
  const first = await ask("strict/strict", { stream: true });
  assert.equal([first.status, first.headers.get("x-portico-attempts")], [200, "1"]);
  await first.text();
  await (await ask("strict/strict", { stream: true })).text();
  assert.equal(
    up.seen.slice(before).map(({ body }) => body.stream_options),
    [{ include_usage: true }, undefined, undefined],
  );
  const { requests, unmetered, promptTokens } = await row("strict", "strict");
  assert.equal([requests, unmetered], [2, 2]);
  assert.ok(promptTokens > 0, "they are estimated");
});

test("streamUsage: false leaves the caller's bytes alone", async () => {
  await (await ask("quiet/gpt-4o", { stream: true })).text();
  assert.is(up.seen.at(-1)!.body.stream_options, undefined);
  assert.is((await row("quiet", "gpt-4o")).unmetered, 1);
});

test("the usage of a response without any is estimated", async () => {
  await (await ask("main/silent")).json();
  const silent = await row("main", "silent");
  assert.equal([silent.requests, silent.unmetered, silent.estimated], [1, 1, 1]);
  assert.ok(silent.promptTokens >= 8 && silent.promptTokens <= 20, String(silent.promptTokens));
  assert.is(silent.completionTokens, 1, "three letters");
  assert.equal([silent.costUsd, silent.unpriced], [null, 1], "its price is not known");
});

test("a model without a known price says so; prices of one's own win", async () => {
  await (await ask("main/nobody-knows")).json();
  const unknown = await row("main", "nobody-knows");
  assert.equal([unknown.totalTokens, unknown.costUsd, unknown.unpriced], [1100, null, 1]);
  await (await ask("own/gpt-4o-mini")).json();
  const own = await row("own", "gpt-4o-mini");
  assert.equal([own.costUsd, own.unpriced], [(500 * 10 + 500 * 1 + 100 * 100) / 1e6, 0]);
});

test("a large response that passes unparsed is counted by its end", async () => {
  assert.is(
    ((await (await ask("main/large")).json()) as any).choices[0].message.content.length,
    1_200_000,
  );
  assert.is((await row("main", "large")).promptTokens, 1000);
});

test("a client that leaves a stream is not an error, and is charged for the received part", async () => {
  const leaving = new AbortController();
  const body = { model: "main/hangs", messages, stream: true };
  const response = await gateway.request("POST", "/v1/chat/completions", body, {
    signal: leaving.signal,
  });
  await response.body!.getReader().read();
  leaving.abort();
  const { errors, unmetered, totalTokens } = await until("the request that was left", () =>
    row("main", "hangs"),
  );
  assert.equal([errors, unmetered, totalTokens > 0], [0, 0, true]);
});

test("errors count as requests without tokens", async () => {
  assert.is((await ask("main/fails")).status, 400);
  const { requests, errors, unmetered, totalTokens } = await row("main", "fails");
  assert.equal([requests, errors, unmetered, totalTokens], [1, 1, 0, 0]);
});

test("embeddings, responses, messages and the agent's own calls are counted", async () => {
  const embedded = await gateway.request("POST", "/v1/embeddings", {
    model: "main/text-embedding-3-small",
    input: "x",
  });
  assert.is(embedded.status, 200);
  assert.is((await row("main", "text-embedding-3-small")).promptTokens, 10);
  await gateway.json("POST", "/v1/responses", { model: "main/gpt-4.1", input: "x" });
  await gateway.json("POST", "/v1/messages", {
    model: "main/gpt-4.1",
    max_tokens: 9,
    messages: [{ role: "user", content: "x" }],
  });
  assert.is((await row("main", "gpt-4.1")).promptTokens, 2000);
  const before = (await row("main", "gpt-4o-mini")).requests;
  const turn = (await (await ask("agent")).json()) as any;
  assert.is(turn.usage.prompt_tokens, 1000);
  assert.is((await row("main", "gpt-4o-mini")).requests, before + 1);
  const outer = await row("agent", "agent");
  assert.equal(
    [outer.requests, outer.totalTokens, outer.unmetered],
    [1, 0, 0],
    "the turn is not counted twice",
  );
});

test("sums are grouped and filtered, and limited to a range of time", async () => {
  const today = new Date().toISOString().slice(0, 10);
  const { rows, total, by } = await gateway.json("GET", "/usage?by=day,key&since=1h");
  assert.equal(by, ["day", "key"]);
  assert.is(
    rows.reduce((sum: number, row: { requests: number }) => sum + row.requests, 0),
    total.requests,
  );
  assert.is(rows[0].key, null);
  const whole = await gateway.json("GET", `/usage?from=${rows[0].day}&to=${today}`);
  assert.equal([whole.total.requests, whole.rows], [total.requests, []]);
  assert.is((await gateway.json("GET", "/usage?from=2020-01-01&to=2020-12-31")).total.requests, 0);
});

test("a day as an end is meant whole, and not a minute longer", async () => {
  const at = Date.UTC(2026, 0, 2);
  const { append } = gateway.gateway.use("store").usage;
  await append([{ model: "ends", at: at - 1 }]);
  await append([{ model: "ends", at }]);
  assert.is(
    (await gateway.json("GET", "/usage?model=ends&from=2026-01-01&to=2026-01-01")).total.requests,
    1,
  );
  assert.is(
    (await gateway.json("GET", "/usage?model=ends&from=2026-01-02&to=2026-01-02")).total.requests,
    1,
  );
});

for (const [query, param] of [
  ["by=colour", "by"],
  ["by=day,hour", "by"],
  ["from=yesterday", "from"],
  ["since=7x", "since"],
  ["since=7d&from=2026-01-01", "since"],
  ["from=2026-02-01&to=2026-01-01", "from"],
  ["to=99999999999999999999", "to"],
]) {
  test(`refuses ?${query}`, async () => {
    const response = await gateway.request("GET", `/usage?${query}`);
    const { error } = (await response.json()) as any;
    assert.equal([response.status, error.code, error.param], [400, "invalid_request_error", param]);
  });
}

test("only the owner may read the usage", async () => {
  assert.is((await gateway.request("GET", "/usage", undefined, { token: null })).status, 401);
});

test("counts survive the gateway, including those not yet written when it stopped", async () => {
  const home = makeHome();
  const config = { ...configFor(up), usage: { flushMs: 3_600_000 } };
  const first = await startGateway({ home, config });
  await first.json("POST", "/v1/chat/completions", { model: "main/gpt-4o-mini", messages });
  await first.stop();
  const second = await startGateway({ home });
  try {
    const { requests, costUsd } = await row("main", "gpt-4o-mini", second);
    assert.equal([requests, costUsd], [1, COST]);
  } finally {
    await second.stop();
  }
});

test("counts are written in time without a request", async () => {
  const home = makeHome();
  const gateway = await startGateway({
    home,
    config: { ...configFor(up), usage: { flushMs: 20 } },
  });
  try {
    await gateway.json("POST", "/v1/chat/completions", { model: "main/gpt-4o-mini", messages });
    const store = openStore({
      url: `file:${join(home, "state", "portico.db")}`,
      log: gateway.gateway.log.log,
    });
    try {
      await until(
        "the request in the store",
        async () => (await store.usage.sum())[0]?.requests === 1,
      );
    } finally {
      await store.close();
    }
  } finally {
    await gateway.stop();
  }
});

test.run();

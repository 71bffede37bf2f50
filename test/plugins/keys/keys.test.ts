/** Client keys as their clients see them, through the openai package and plain requests. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import OpenAI from "openai";
import { suite } from "../../support/suite.ts";
import * as assert from "uvu/assert";
import { hashOf } from "../../../plugins/keys/grant.ts";
import { type InProcessGateway, makeHome, startGateway } from "../../support/gateway.ts";
import { withinOneDay } from "../../support/until.ts";
import {
  completion,
  json,
  startUpstream,
  type Upstream,
} from "../../support/upstreams/upstream.ts";

const test = suite("client keys");
const messages: OpenAI.ChatCompletionMessageParam[] = [{ role: "user", content: "Hi" }];
let up: Upstream;
let gateway: InProcessGateway;

const keys = {
  expired: { hash: hashOf("pk_expired"), expires: "2026-01-31" },
  off: { hash: hashOf("pk_off"), enabled: false },
  today: { hash: hashOf("pk_today"), expires: "" },
  free: { hash: hashOf("pk_free") },
  narrow: { hash: hashOf("pk_narrow"), models: ["main/gpt-*", "echo", "nick"] },
  bare: { hash: hashOf("pk_bare"), models: ["gpt-*"] },
  near: { hash: hashOf("pk_near"), models: ["m*", "ma*n", "main*"] },
  wide: { hash: hashOf("pk_wide"), models: ["m*/gpt-*"] },
  star: { hash: hashOf("pk_star"), models: ["*"] },
  agents: { hash: hashOf("pk_agents"), models: ["agent", "helper"] },
  rpm: { hash: hashOf("pk_rpm"), requestsPerMinute: 2 },
  many: { hash: hashOf("pk_many"), requestsPerMinute: 5 },
  tpm: { hash: hashOf("pk_tpm"), tokensPerMinute: 1200 },
  poor: { hash: hashOf("pk_poor"), budget: { usd: 1, per: "day" } },
  agency: { hash: hashOf("pk_agency"), models: ["agent"], budget: { usd: 1, per: "month" } },
};

test.before(async () => {
  keys.today.expires = await withinOneDay();
  const usage = { prompt_tokens: 900, completion_tokens: 100, total_tokens: 1000 };
  up = await startUpstream(
    ({ path, body }, res) =>
      path.endsWith("/embeddings")
        ? json(res, {
            object: "list",
            model: body.model,
            data: [{ index: 0, embedding: [1] }],
            usage,
          })
        : json(res, completion("Hello", { usage })),
    { models: ["gpt-x", "other"] },
  );
  gateway = await startGateway({
    config: {
      channels: { main: { provider: "openai", baseUrl: up.url } },
      models: { nick: "main/other", helper: "agent" },
      gateway: { keys },
      usage: { prices: { "*": { input: 1000, output: 1000 } } },
      agents: { defaults: { model: "main/gpt-x", heartbeat: { every: "0" } } },
    },
  });
});
test.after(async () => {
  await gateway?.stop();
  await up?.close();
});

function client(name: string, maxRetries = 0): OpenAI {
  return new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: `pk_${name}`, maxRetries });
}
const chat = (name: string, model = "echo") =>
  client(name).chat.completions.create({ model, messages });

async function refusal(work: PromiseLike<unknown>): Promise<InstanceType<typeof OpenAI.APIError>> {
  try {
    await work;
  } catch (error) {
    if (error instanceof OpenAI.APIError) return error;
    throw error;
  }
  throw new Error("it was not refused");
}

test("a key gives access to the chat routes, and to nothing of the owner's", async () => {
  assert.is((await chat("free")).choices[0]?.message.content, "Hi");
  const { data } = await client("free").embeddings.create({ model: "main/gpt-x", input: "x" });
  assert.is(data.length, 1);
  const response = await client("free").responses.create({ model: "main/gpt-x", input: "x" });
  assert.is(response.output_text, "Hello");
  const header = { headers: { "x-api-key": "pk_free" }, token: null };
  const body = { model: "main/gpt-x", max_tokens: 9, messages };
  assert.is((await gateway.request("POST", "/v1/messages", body, header)).status, 200);
  for (const path of ["/keys", "/usage", "/channels", "/sessions", "/kernel/status"]) {
    assert.is(
      (await gateway.request("GET", path, undefined, { token: "pk_free" })).status,
      403,
      path,
    );
  }
});

test("an unknown, an expired and a switched-off key are 401", async () => {
  for (const name of ["nobody", "expired", "off"]) {
    const error = await refusal(chat(name));
    assert.ok(error instanceof OpenAI.AuthenticationError, name);
    assert.is(error.code, "invalid_api_key");
  }
  assert.match((await refusal(chat("expired"))).message, /expired/);
  assert.ok(await chat("today"), "a key works on its last day");
});

test("a key gives access to the models that it names", async () => {
  for (const model of ["main/gpt-x", "echo", "nick"]) assert.ok(await chat("narrow", model), model);
  for (const model of ["main/other", "gpt-x", "nobody", "agent", "agent/main"]) {
    const error = await refusal(chat("narrow", model));
    assert.ok(error instanceof OpenAI.PermissionDeniedError, model);
    assert.equal([error.code, error.param], ["model_not_found", "model"]);
  }
  const before = up.seen.length;
  await refusal(client("narrow").embeddings.create({ model: "main/other", input: "x" }));
  await refusal(client("narrow").responses.create({ model: "main/other", input: "x" }));
  assert.is(up.seen.length, before, "nothing was sent");
  for (const model of ["gpt-x", "main/gpt-x"]) assert.ok(await chat("bare", model), model);
  await refusal(chat("bare", "main/other"));
});

test("a pattern that resembles a channel's name does not give access to the channel", async () => {
  for (const model of ["main/gpt-x", "main/other"])
    assert.is((await refusal(chat("near", model))).status, 403, model);
  assert.ok(await chat("wide", "main/gpt-x"), "with a slash it names channels");
  await refusal(chat("wide", "main/other"));
});

test("a key must name the agent, whichever of its names a request uses", async () => {
  for (const name of ["free", "star"]) {
    for (const model of ["agent", "agent/main", "helper"]) await refusal(chat(name, model));
    assert.ok(await chat(name, "main/other"));
  }
  assert.ok(await chat("agents", "agent"));
  assert.ok(await chat("agents", "helper"));
});

test("GET /v1/models shows what the key may use", async () => {
  const ids = async (name: string) =>
    (await client(name).models.list()).data.map(({ id }) => id).sort();
  assert.equal(await ids("narrow"), ["echo", "main/gpt-x", "nick"]);
  assert.equal(await ids("bare"), ["main/gpt-x"]);
  assert.equal(await ids("free"), ["echo", "main/gpt-x", "main/other", "nick"]);
  assert.ok(
    (await refusal(client("narrow").models.retrieve("main/other"))) instanceof OpenAI.NotFoundError,
  );
  const all = await gateway.json("GET", "/v1/models");
  assert.ok(
    all.data.some(({ id }: { id: string }) => id === "helper"),
    "the owner sees all",
  );
});

test("a key over its requests per minute receives 429 with headers that name the time of the next request", async () => {
  const { response } = await client("rpm")
    .chat.completions.create({ model: "echo", messages })
    .withResponse();
  assert.equal(
    ["limit", "remaining"].map((part) => response.headers.get(`x-ratelimit-${part}-requests`)),
    ["2", "1"],
  );
  assert.match(response.headers.get("x-ratelimit-reset-requests") ?? "", /^(1m0s|1m1s|\d+s)$/);
  await chat("rpm");
  const error = await refusal(chat("rpm"));
  assert.ok(error instanceof OpenAI.RateLimitError);
  assert.equal([error.code, error.type], ["rate_limit_exceeded", "rate_limit_error"]);
  const wait = Number(error.headers?.get("retry-after"));
  assert.ok(wait >= 1 && wait <= 61, `${wait}`);
  assert.is(error.headers?.get("x-ratelimit-remaining-requests"), "0");
});

test("no more than the requests per minute of a key pass, even if many arrive at once", async () => {
  const responses = await Promise.all(
    Array.from({ length: 20 }, () =>
      gateway.request(
        "POST",
        "/v1/chat/completions",
        { model: "echo", messages },
        { token: "pk_many" },
      ),
    ),
  );
  assert.is(responses.filter(({ status }) => status === 200).length, 5);
  assert.is(responses.filter(({ status }) => status === 429).length, 15);
});

test("a key that has used its tokens per minute must wait", async () => {
  const first = await client("tpm")
    .chat.completions.create({ model: "main/gpt-x", messages, max_tokens: 100 })
    .withResponse();
  assert.is(first.response.headers.get("x-ratelimit-remaining-tokens"), "1200");
  const second = await client("tpm")
    .chat.completions.create({ model: "main/gpt-x", messages, max_tokens: 100 })
    .withResponse();
  assert.is(second.response.headers.get("x-ratelimit-remaining-tokens"), "200");
  const error = await refusal(chat("tpm", "main/gpt-x"));
  assert.ok(error instanceof OpenAI.RateLimitError);
  assert.match(error.message, /1200 tokens per minute/);
  assert.ok(Number(error.headers?.get("retry-after")) >= 1);
});

test("a spent budget gives insufficient_quota with the time when the period ends", async () => {
  await chat("poor", "main/gpt-x");
  const before = up.seen.length;
  const error = await refusal(
    client("poor").chat.completions.create({ model: "main/gpt-x", messages }),
  );
  assert.ok(error instanceof OpenAI.RateLimitError);
  assert.is(error.code, "insufficient_quota");
  assert.is(error.headers?.get("x-should-retry"), null);
  assert.ok(Number(error.headers?.get("retry-after")) >= 1);
  assert.is(up.seen.length, before);
  const { keys: listed } = await gateway.json("GET", "/keys");
  assert.is(listed.find(({ name }: { name: string }) => name === "poor").spentUsd, 1);
});

test("a turn of the agent is charged to the key that started it", async () => {
  await chat("agency", "agent");
  assert.is((await refusal(chat("agency", "agent"))).code, "insufficient_quota");
});

test("the owner has no limits", async () => {
  for (let i = 0; i < 8; i++)
    assert.is(
      (await gateway.request("POST", "/v1/chat/completions", { model: "echo", messages })).status,
      200,
    );
});

test("usage is reported by key", async () => {
  const { rows } = await gateway.json("GET", "/usage?by=key&key=poor");
  assert.equal(
    [rows[0].key, rows[0].requests, rows[0].totalTokens, rows[0].costUsd],
    ["poor", 1, 1000, 1],
  );
});

test("keys are created over HTTP, work at once, and are stored only as hashes", async () => {
  const response = await gateway.request("POST", "/keys", {
    name: "made",
    models: ["echo"],
    requestsPerMinute: 10,
    budget: { usd: 5, per: "month" },
  });
  const { key, name, state } = (await response.json()) as any;
  assert.equal([response.status, name, state], [201, "made", "active"]);
  assert.match(key, /^pk_[A-Za-z0-9_-]{43}$/);
  const own = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: key });
  assert.ok(await own.chat.completions.create({ model: "echo", messages }));
  const file = readFileSync(join(gateway.home, "portico.json"), "utf8");
  assert.ok(file.includes(hashOf(key)) && !file.includes(key));
  assert.not.ok((await (await gateway.request("GET", "/keys")).text()).includes("sha256:"));
  assert.not.ok(JSON.stringify(gateway.lines).includes(key));
  assert.is((await gateway.request("POST", "/keys", { name: "made" })).status, 409);
  assert.is((await gateway.request("DELETE", "/keys/made")).status, 200);
  assert.ok(
    (await refusal(own.chat.completions.create({ model: "echo", messages }))) instanceof
      OpenAI.AuthenticationError,
  );
  assert.is((await gateway.request("DELETE", "/keys/made")).status, 404);
});

for (const [body, param] of [
  [{}, "name"],
  [{ name: "a b" }, "name"],
  [{ name: "x", requestsPerMinute: 0 }, "requestsPerMinute"],
  [{ name: "x", tokensPerMinute: 1e21 }, "tokensPerMinute"],
  [{ name: "x", expiresAt: "2026-13-45" }, "expiresAt"],
  [{ name: "x", expiresAt: "soon" }, "expiresAt"],
  [{ name: "x", allowedIps: ["10.0.0.0/33"] }, "allowedIps[0]"],
  [{ name: "x", allowedIps: ["127.0.0.1", "example.com"] }, "allowedIps[1]"],
  [{ name: "x", allowedIps: [] }, "allowedIps"],
  [{ name: "x", budget: { usd: 5, per: "week" } }, "budget.per"],
  [{ name: "x", expires: "soon" }, "expires"],
  [{ name: "x", expires: "2026-13-45" }, "expires"],
  [{ name: "x", rpm: 5 }, "rpm"],
] as const) {
  test(`creating ${JSON.stringify(body)} is refused`, async () => {
    const response = await gateway.request("POST", "/keys", body);
    const { error } = (await response.json()) as any;
    assert.is(response.status, 400);
    assert.ok(error.param === param || error.message.includes(param), JSON.stringify(error));
  });
}

test("only one of several simultaneous requests creates a key with the same name", async () => {
  const makers = [1, 2, 3].map(() => gateway.request("POST", "/keys", { name: "race" }));
  const statuses = (await Promise.all(makers)).map(({ status }) => status);
  assert.equal(statuses.sort(), [201, 409, 409]);
});

test("a budget and the requests of the current minute survive a restart", async () => {
  const home = makeHome();
  const config = {
    channels: { main: { provider: "openai", baseUrl: up.url } },
    gateway: { keys: { poor: keys.poor, rpm: keys.rpm } },
    usage: { prices: { "*": { input: 1000, output: 1000 } } },
  };
  const send = (target: InProcessGateway, token: string) =>
    target.request("POST", "/v1/chat/completions", { model: "main/gpt-x", messages }, { token });
  const first = await startGateway({ home, config });
  for (const token of ["pk_poor", "pk_rpm", "pk_rpm"])
    assert.is((await send(first, token)).status, 200);
  await first.stop();
  const second = await startGateway({ home });
  try {
    for (const token of ["pk_poor", "pk_rpm"])
      assert.is((await send(second, token)).status, 429, token);
  } finally {
    await second.stop();
  }
});

test("no request passes if the budget cannot be checked", async () => {
  const limited = await startGateway({
    config: { gateway: { keys }, plugins: { entries: { usage: { enabled: false } } } },
  });
  try {
    const send = (token: string) =>
      limited.request("POST", "/v1/chat/completions", { model: "echo", messages }, { token });
    assert.is((await send("pk_poor")).status, 503);
    assert.is((await send("pk_free")).status, 200);
  } finally {
    await limited.stop();
  }
});

test("a budget without effect is reported with the models that have no price", async () => {
  const upstream = await startUpstream((_, res) => json(res, completion("Hi")), {
    models: ["gpt-4o-mini", "homemade"],
  });
  const budget = { usd: 1, per: "day" };
  const key = (name: string, models?: string[]) => ({ hash: hashOf(name), budget, models });
  const other = await startGateway({
    config: {
      channels: { main: { provider: "openai", baseUrl: upstream.url } },
      models: {
        mine: { targets: ["main/gpt-4o-mini", "main/homemade"] },
        good: "main/gpt-4o-mini",
      },
      gateway: {
        keys: {
          alias: key("alias", ["mine"]),
          bare: key("bare", ["homemade"]),
          acting: key("acting", ["agent", "good"]),
          blind: key("blind", ["main/homemade"]),
          half: key("half"),
          named: key("named", ["main/unlisted"]),
          fine: key("fine", ["main/gpt-4o-mini", "echo"]),
          free: { hash: hashOf("free") },
        },
      },
    },
  });
  try {
    const { keys: listed } = await other.json("GET", "/keys");
    const warnings = Object.fromEntries(
      listed.map((entry: any) => [entry.name, entry.warnings?.join()]),
    );
    assert.match(
      warnings.blind,
      /^the key's budget has no effect, because the price of main\/homemade is not known/,
    );
    assert.match(warnings.half, /^the key's budget does not count all .* main\/homemade /);
    assert.match(warnings.named, /main\/unlisted/);
    assert.match(warnings.alias, /^the key's budget does not count all .* mine /);
    assert.match(String(warnings.bare), /has no effect, because the price of .*homemade/);
    assert.is(warnings.acting, undefined);
    assert.equal([warnings.fine, warnings.free], [undefined, undefined]);
    const made = await other.json("POST", "/keys", {
      name: "new",
      budget,
      models: ["main/homemade"],
    });
    assert.match(made.warnings[0], /has no effect/);
    const over = await other.json("POST", "/keys", { name: "over", expires: "2020-01-01" });
    assert.match(over.warnings[0], /has already expired \(2020-01-01\)/);
  } finally {
    await other.stop();
    await upstream.close();
  }
});

test("a key can be revoked by its name, whatever characters the name contains", async () => {
  await gateway.gateway.config.set(["gateway", "keys", "50%"], { hash: hashOf("pk_half") });
  const revoked = await gateway.json("DELETE", `/keys/${encodeURIComponent("50%")}`);
  assert.is(revoked.name, "50%");
  assert.not(
    (await gateway.json("GET", "/keys")).keys.some(({ name }: { name: string }) => name === "50%"),
  );
});

test.run();

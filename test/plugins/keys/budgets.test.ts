/** Budgets and token limits hold for any number of simultaneous requests, on every route. */
import type { ServerResponse } from "node:http";
import * as assert from "uvu/assert";
import { hashOf } from "../../../plugins/keys/grant.ts";
import { type InProcessGateway, startGateway } from "../../support/gateway.ts";
import { suite } from "../../support/suite.ts";
import {
  chunk,
  completion,
  DONE,
  json,
  startUpstream,
  type Upstream,
} from "../../support/upstreams/upstream.ts";
import { until, withinOneDay } from "../../support/until.ts";

const test = suite("budgets of keys");
/** $0.001 a token; a request of `max_tokens: 100` may come to a little more than $0.1. */
const PRICES = { "*": { input: 1000, output: 1000 } };
const USAGE = { prompt_tokens: 4, completion_tokens: 100, total_tokens: 104 };
const FOUR = 0.43;
const NAMES = [
  ["whole", "streamed", "messages", "responses", "completions", "tokens", "unlimited"],
  ["failing", "refused", "leaving", "left-stream", "embeddings", "images", "speech", "huge"],
  ["beside", "tiny", "agent"],
].flat();

let up: Upstream;
let gateway: InProcessGateway;
/** The upstream responds once it resolves. */
let gate: Promise<void>;
let open: () => void;

/** The responses of paths other than chat. */
const responders: Record<string, (res: ServerResponse, model: string) => void> = {
  "/embeddings": (res, model) =>
    json(res, {
      object: "list",
      model,
      data: [{ object: "embedding", index: 0, embedding: [1] }],
      usage: { prompt_tokens: 100, total_tokens: 100 },
    }),
  "/images/generations": (res) =>
    json(res, {
      created: 1,
      data: [{ url: "http://x/a.png" }],
      usage: { input_tokens: 4, output_tokens: 100 },
    }),
  "/audio/speech": (res) => {
    res.writeHead(200, { "content-type": "audio/mpeg" }).end(Buffer.alloc(400));
  },
  "/v1/completions": (res, model) =>
    json(res, {
      id: "c",
      object: "text_completion",
      created: 1,
      model,
      choices: [{ index: 0, text: "Hi", finish_reason: "length", logprobs: null }],
      usage: USAGE,
    }),
};

function streamAnswer(res: ServerResponse, model: string): void {
  res.writeHead(200, { "content-type": "text/event-stream" });
  res.write(chunk({ role: "assistant", content: "Hello, this is a text" }));
  if (model === "hangs") return;
  res.write(chunk({}, "stop"));
  res.end(chunk({}, null, { choices: [], usage: USAGE }) + DONE);
}

test.before(async () => {
  await withinOneDay();
  up = await startUpstream(async ({ body, path }, res) => {
    const model = String(body.model);
    await gate;
    if (model === "fails") return json(res, { error: { message: "no" } }, 500);
    if (model === "broken") return json(res, { error: { message: "no" } }, 400);
    const other = Object.entries(responders).find(([end]) => path.endsWith(end));
    if (other !== undefined) return other[1](res, model);
    if (body.stream !== true) return json(res, completion("Hello", { usage: USAGE }));
    streamAnswer(res, model);
  });
  const channel = { provider: "openai", baseUrl: up.url, maxRetries: 0 };
  const budget = { usd: FOUR, per: "month" };
  const keys = Object.fromEntries(
    NAMES.map((name) => [name, { hash: hashOf(`pk_${name}`), budget }]),
  );
  gateway = await startGateway({
    config: {
      channels: {
        main: channel,
        poor: { ...channel, budget },
        other: { ...channel, budget: { usd: 0.11, per: "month" } },
        few: { ...channel, tokensPerMinute: 430 },
      },
      gateway: {
        keys: {
          ...keys,
          tokens: { hash: hashOf("pk_tokens"), tokensPerMinute: 430 },
          unlimited: { hash: hashOf("pk_unlimited") },
          tiny: { hash: hashOf("pk_tiny"), budget: { usd: 0.01, per: "month" } },
          once: { hash: hashOf("pk_once"), budget: { usd: 0.11, per: "month" } },
          agent: { hash: hashOf("pk_agent"), budget: { usd: 50, per: "month" }, models: ["agent"] },
          pauper: { hash: hashOf("pk_pauper"), budget, models: ["agent"] },
        },
      },
      models: { either: { targets: ["other/fails", "main/m"] } },
      usage: { prices: PRICES },
      agents: { defaults: { model: "main/m", maxTokens: 100, heartbeat: { every: "0" } } },
    },
  });
});
test.before.each(() => {
  gate = new Promise((resolve) => {
    open = resolve;
  });
});
test.after(async () => {
  open();
  await gateway?.stop();
  await up?.close();
});

const messages = [{ role: "user", content: "Hi" }];
const chat = (model = "main/m", more = {}) => ({ model, messages, max_tokens: 100, ...more });

async function ask(key: string, path = "/v1/chat/completions", body: object = chat()) {
  const response = await gateway.request("POST", path, body, { token: `pk_${key}` });
  const text = await response.text();
  return { status: response.status, text, headers: response.headers };
}

/** Sends all at once, lets the upstream answer when none comes any more, and counts the statuses. */
async function crowd(
  size: number,
  send: (i: number) => Promise<{ status: number; text: string }>,
  admitted = 4,
) {
  const before = up.seen.length;
  let refused = 0;
  const work = Array.from({ length: size }, async (_, i) => {
    const response = await send(i);
    if (response.status === 429) refused++;
    return response;
  });
  await until("all are admitted or refused", () => refused + up.seen.length - before >= size);
  assert.is(up.seen.length - before, admitted);
  open();
  const responses = await Promise.all(work);
  assert.is(
    responses.filter(({ status }) => status === 200).length,
    admitted,
    responses.map(({ text }) => text).find((text) => text.includes("error")),
  );
  return responses;
}

async function spentOf(name: string): Promise<number> {
  const { keys } = await gateway.json("GET", "/keys");
  return keys.find((key: { name: string }) => key.name === name).spentUsd;
}

test("of 200 requests at once a budget for four admits four", async () => {
  const responses = await crowd(200, () => ask("whole"));
  const { text, headers } = responses.find(({ status }) => status === 429) as Awaited<
    ReturnType<typeof ask>
  >;
  assert.ok(Number(headers.get("retry-after")) >= 1);
  assert.match(JSON.parse(text).error.message, /max_tokens/);
  assert.is(await spentOf("whole"), 0.416);
  const spent = await ask("whole");
  assert.equal([spent.status, JSON.parse(spent.text).error.code], [429, "insufficient_quota"]);
});

test("the budget holds for streams and for the routes of other formats", async () => {
  await crowd(20, () => ask("streamed", undefined, chat("main/m", { stream: true })));
  open = () => {};
  await Promise.all([
    crowdOf("messages", "/v1/messages", chat()),
    crowdOf("completions", "/v1/completions", { model: "main/m", prompt: "Hi", max_tokens: 100 }),
    crowdOf("responses", "/v1/responses", {
      model: "main/m",
      input: "Hi",
      max_output_tokens: 100,
      store: false,
    }),
  ]);
});

async function crowdOf(key: string, path: string, body: object, most = 4): Promise<void> {
  const responses = await Promise.all(Array.from({ length: 20 }, () => ask(key, path, body)));
  const served = responses.filter(({ status }) => status === 200).length;
  assert.ok(served >= 1 && served <= most, `${path}: ${served} of ${responses[0]?.text}`);
  assert.ok(
    responses.every(({ status }) => status === 200 || status === 429),
    path,
  );
}

test("the budget holds for embeddings, images and speech", async () => {
  open();
  const input = "x ".repeat(200);
  await crowdOf("embeddings", "/v1/embeddings", { model: "main/e", input });
  await crowdOf("images", "/v1/images/generations", { model: "main/i", prompt: "A cat" });
  await crowdOf("speech", "/v1/audio/speech", { model: "main/s", input: "Hi", voice: "alloy" });
});

test("the same holds for tokens per minute and for the limits of channels", async () => {
  await crowd(50, () => ask("tokens"));
  gate = new Promise((resolve) => {
    open = resolve;
  });
  const poor = await crowd(50, () => ask("unlimited", undefined, chat("poor/m")));
  const refused = poor.find(({ status }) => status === 429)!;
  assert.match(refused.text, /may use 0\.1\d* US dollars/);
  gate = new Promise((resolve) => {
    open = resolve;
  });
  await crowd(50, () => ask("unlimited", undefined, chat("few/m")));
});

test("a key and a channel with budgets: the smaller one counts", async () => {
  const fifth = await ask("beside", undefined, chat("poor/m"));
  assert.is(fifth.status, 429, "the channel's is used up by others");
  await crowd(20, () => ask("beside"));
});

test("failed requests release their reservation", async () => {
  open();
  for (let i = 0; i < 8; i++)
    assert.is((await ask("failing", undefined, chat("main/broken"))).status, 400);
  for (let i = 0; i < 8; i++)
    assert.is((await ask("failing", undefined, chat("main/m", { max_tokens: 4000 }))).status, 429);
  assert.is((await ask("failing")).status, 200);
  assert.is(await spentOf("failing"), 0.104);
});

test("a request that falls back to another target keeps a reservation for that target only", async () => {
  open();
  assert.is((await ask("once", undefined, chat("either"))).status, 200);
  assert.is(await spentOf("once"), 0.104);
  const other = await ask("unlimited", undefined, chat("other/m"));
  assert.is(other.status, 200, "the channel that failed has its reservation back");
});

test("an abandoned request costs its prompt, and an abandoned stream the tokens that were sent", async () => {
  const controller = new AbortController();
  const before = up.seen.length;
  const send = (key: string, body: object) =>
    fetch(`${gateway.url}/v1/chat/completions`, {
      method: "POST",
      signal: controller.signal,
      headers: { authorization: `Bearer pk_${key}`, "content-type": "application/json" },
      body: JSON.stringify(body),
    });
  const long = [{ role: "user", content: "word ".repeat(40) }];
  const left = send("leaving", { ...chat(), messages: long }).catch(() => "left");
  await until("it is sent upstream", () => up.seen.length > before);
  controller.abort();
  assert.is(await left, "left");
  await until("its prompt is charged", async () => (await spentOf("leaving")) > 0.04);
  assert.ok((await spentOf("leaving")) < 0.08, "and no completion");
  open();
  assert.is((await ask("leaving")).status, 200, "the reservation is given back");
  const stream = new AbortController();
  const response = await fetch(`${gateway.url}/v1/chat/completions`, {
    method: "POST",
    signal: stream.signal,
    headers: { authorization: "Bearer pk_left-stream", "content-type": "application/json" },
    body: JSON.stringify(chat("main/hangs", { stream: true })),
  });
  await response.body!.getReader().read();
  stream.abort();
  await until("what came is charged", async () => (await spentOf("left-stream")) >= 0.008);
});

test("a request that may cost more than the whole budget is refused with the reason", async () => {
  open();
  const { status, text } = await ask("huge", undefined, chat("main/m", { max_tokens: 1000 }));
  assert.is(status, 429);
  assert.match(JSON.parse(text).error.message, /may cost \$1\.0/);
});

test("a request whose estimate exceeds the whole budget is admitted only alone", async () => {
  await crowd(20, () => ask("tiny", undefined, { model: "main/m", messages }), 1);
  assert.is((await ask("tiny", undefined, { model: "main/m", messages })).status, 429);
});

test("requests of the agent count against the budget of the key that started the turn", async () => {
  open();
  const turn = { model: "agent", messages };
  assert.is((await ask("agent", undefined, turn)).status, 200);
  assert.is(await spentOf("agent"), 0.104, "once");
  assert.is((await ask("pauper", undefined, turn)).status, 429, "its prompt alone does not fit");
});

test.run();

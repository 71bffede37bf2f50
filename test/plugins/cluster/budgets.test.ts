/** Budgets and tokens per minute over two workers on one file, and over two gateways on one PostgreSQL, of which one is killed. */
import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import * as assert from "uvu/assert";
import { hashOf } from "../../../plugins/keys/grant.ts";
import {
  type InProcessGateway,
  type SpawnedGateway,
  spawnGateway,
  startGateway,
} from "../../support/gateway.ts";
import { startPostgres, type TestPostgres } from "../../support/machine/postgres.ts";
import { suite } from "../../support/suite.ts";
import {
  chunk,
  completion,
  DONE,
  json,
  startUpstream,
  stream,
  type Upstream,
} from "../../support/upstreams/upstream.ts";
import { until, withinOneDay } from "../../support/until.ts";
import { chat, times } from "./scene.ts";

const test = suite("budgets over processes");
let up: Upstream;
/** The upstream responds once it resolves. */
let gate: Promise<void> | undefined;
let open = () => {};
let postgres: TestPostgres;
let workers: SpawnedGateway;
let near: InProcessGateway;
let far: SpawnedGateway;

type At = (i: number) => { url: string; token: string };

// $0.1 a request, of $0.5; 100 tokens, of 500
const usage = { prompt_tokens: 50, completion_tokens: 50, total_tokens: 100 };
const PAID = 5;
const KEYS = ["whole", "streamed", "translated", "crowd", "killed"];
const config = () => {
  const to = { provider: "openai", baseUrl: up.url, maxRetries: 0 };
  const budget = { usd: 0.5, per: "month" };
  const keys = KEYS.map((name) => [name, { hash: hashOf(`pk_${name}`), budget }]);
  return {
    channels: {
      main: { ...to, models: ["m"] },
      poor: { ...to, models: ["poor"], budget },
      few: { ...to, models: ["few"], tokensPerMinute: 500 },
    },
    gateway: {
      keys: {
        ...Object.fromEntries(keys),
        parallel: { hash: hashOf("pk_parallel"), budget: { usd: 0.43, per: "month" } },
        tokens: { hash: hashOf("pk_tokens"), tokensPerMinute: 500 },
      },
    },
    usage: { prices: { "*": { input: 1000, output: 1000 } }, flushMs: 60_000 },
  };
};

test.before(async () => {
  await withinOneDay();
  up = await startUpstream(async ({ body }, res) => {
    await gate;
    if (body.stream === true)
      stream(res, chunk({ content: "Hello" }, "stop"), chunk({}, null, { usage }), DONE);
    else json(res, completion("Hello", { usage }));
  });
  const configuration = config();
  const starting = spawnGateway({
    config: { ...configuration, gateway: { ...configuration.gateway, workers: 2 } },
  });
  postgres = await startPostgres();
  const shared = { ...config(), store: { url: postgres.emptyUrl() } };
  near = await startGateway({ config: shared });
  far = await spawnGateway({ config: shared });
  workers = await starting;
});
test.after(async () => {
  await Promise.all([workers, near, far].map((gateway) => gateway?.stop()));
  await up?.close();
  await postgres?.stop();
});

const doors: { name: string; at: At }[] = [
  { name: "two workers", at: () => workers },
  { name: "two gateways", at: (i) => (i % 2 === 0 ? near : far) },
];
const whole = async (to: ReturnType<At>, model: string, token?: string) =>
  (await chat(to, model, "hi", token)).status === 200;
/** Leaves behind the last event, as clients do. */
const streamed = async (to: ReturnType<At>, path: string, token: string, last: string) => {
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
  const req = request(to.url + path, { method: "POST", headers, agent: false });
  req.end(
    JSON.stringify({
      model: "m",
      max_tokens: 5,
      stream: true,
      messages: [{ role: "user", content: "hi" }],
    }),
  );
  const [response] = (await once(req, "response")) as [IncomingMessage];
  let text = "";
  for await (const part of response) {
    text += part;
    if (text.includes(last)) return true;
  }
  assert.is(response.statusCode, 429, text);
  return false;
};
/** The number of requests that are served until one is refused. */
const served = async (ask: (i: number) => Promise<boolean>) => {
  for (let i = 0; i < 4 * PAID; i++) if (!(await ask(i))) return i;
  return Number.POSITIVE_INFINITY;
};

for (const { name, at } of doors) {
  test(`${name}: a client that sends requests without pause is served up to its budget, and no further`, async () => {
    const servedCounts = await Promise.all([
      served((i) => whole(at(i), "m", "pk_whole")),
      served((i) => streamed(at(i), "/v1/chat/completions", "pk_streamed", "[DONE]")),
      served((i) => streamed(at(i), "/v1/messages", "pk_translated", "message_stop")),
      served((i) => whole(at(i), "poor/poor")),
      served((i) => whole(at(i), "m", "pk_tokens")),
      served((i) => whole(at(i), "few/few")),
    ]);
    assert.equal(servedCounts, [PAID, PAID, PAID, PAID, PAID, PAID]);
  });

  test(`${name}: simultaneous requests exceed the budget by no more than those in flight`, async () => {
    const callers = 16;
    const servedCounts = await times(callers, (i) =>
      served((n) => whole(at(i + n), "m", "pk_crowd")),
    );
    const all = servedCounts.reduce((sum, count) => sum + count, 0);
    assert.ok(all >= PAID && all < PAID + callers, `${all} of ${PAID}`);
    assert.is(await whole(at(0), "m", "pk_crowd"), false);
  });
}

for (const { name, at } of doors) {
  test(`${name}: of 200 requests at once a budget for four admits four`, async () => {
    let refused = 0;
    const before = up.seen.length;
    gate = new Promise((resolve) => {
      open = resolve;
    });
    const body = JSON.stringify({
      model: "m",
      max_tokens: 100,
      messages: [{ role: "user", content: "hi" }],
    });
    const headers = { authorization: "Bearer pk_parallel", "content-type": "application/json" };
    const work = times(200, async (i) => {
      const url = `${at(i).url}/v1/chat/completions`;
      const { status } = await fetch(url, { method: "POST", headers, body });
      if (status !== 200) refused++;
      return status;
    });
    await until("all are admitted or refused", () => refused + up.seen.length - before >= 200);
    open();
    const statuses = await work;
    assert.is(statuses.filter((status) => status === 200).length, 4);
    assert.is(statuses.filter((status) => status === 429).length, 196);
    assert.is(up.seen.length - before, 4);
  });
}

test("the other gateway knows the usage of a gateway that was killed", async () => {
  for (let i = 0; i < 3; i++) assert.ok(await whole(far, "m", "pk_killed"));
  await far.kill("SIGKILL");
  assert.is(await served(() => whole(near, "m", "pk_killed")), PAID - 3);
});

test.run();

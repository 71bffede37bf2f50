/** Limits of channels and keys count over four workers (on one file), and over gateways that share a PostgreSQL. */
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
import { PATIENCE_MS, untilRight, withinOneDay } from "../../support/until.ts";
import {
  completion,
  json,
  startUpstream,
  type Upstream,
} from "../../support/upstreams/upstream.ts";
import { ask, chat, times, watch } from "./scene.ts";

const test = suite("limits over processes");
let up: Upstream;
let postgres: TestPostgres;
let four: SpawnedGateway;
let pair: InProcessGateway[];
let running = 0;
let most = 0;

const usage = { prompt_tokens: 50, completion_tokens: 50, total_tokens: 100 };
const config = () => {
  const to = { provider: "openai", baseUrl: up.url, maxRetries: 0 };
  return {
    channels: {
      rpm: { ...to, models: ["rpm"], requestsPerMinute: 7 },
      tpm: { ...to, models: ["tpm"], tokensPerMinute: 500 },
      places: { ...to, models: ["slow"], maxConcurrent: 2, queueTimeoutMs: PATIENCE_MS },
      frail: { ...to, models: ["broken"] },
    },
    gateway: {
      keys: {
        five: { hash: hashOf("pk_five"), requestsPerMinute: 5 },
        poor: { hash: hashOf("pk_poor"), budget: { usd: 1, per: "month" } },
      },
    },
    usage: { prices: { "*": { input: 1000, output: 1000 } } },
  };
};

test.before(async () => {
  await withinOneDay();
  up = await startUpstream(async ({ body }, res) => {
    if (body.model === "broken") return json(res, { error: { message: "no" } }, 500);
    if (body.model !== "slow") return json(res, completion("Hello", { usage }));
    most = Math.max(most, ++running);
    await new Promise((resolve) => setTimeout(resolve, 30));
    running--;
    json(res, completion("Hello", { usage }));
  });
  postgres = await startPostgres();
  const shared = { ...config(), store: { url: postgres.emptyUrl() } };
  const configuration = config();
  const start = spawnGateway({
    config: { ...configuration, gateway: { ...configuration.gateway, workers: 4 } },
  });
  pair = [await startGateway({ config: shared }), await startGateway({ config: shared })];
  four = await start;
});
test.after(async () => {
  await Promise.all([four?.stop(), ...(pair ?? []).map((gateway) => gateway.stop())]);
  await up?.close();
  await postgres?.stop();
});

/** In turn at both gateways of the pair, or at the workers. */
const doors = () => [
  { name: "four workers", at: () => four },
  { name: "two gateways", at: (i: number) => pair[i % 2] as InProcessGateway },
];
/** At both at the same time. */
const atAll = (work: (door: ReturnType<typeof doors>[number]) => Promise<void>) =>
  Promise.all(doors().map(work));
const statuses = (all: { status: number }[]) => all.map(({ status }) => status).sort();
const filled = (ok: number, refused: number) => [
  ...Array(ok).fill(200),
  ...Array(refused).fill(429),
];

test("requests per minute of a channel and of a key are exact", async () => {
  await atAll(async ({ name, at }) => {
    const all = await times(16, (i) => chat(at(i), "rpm"));
    assert.equal(statuses(all), filled(7, 9), name);
    assert.ok(
      all.every(({ status, headers }) => status === 200 || Number(headers["retry-after"]) > 30),
    );
    assert.equal(
      statuses(await times(12, (i) => chat(at(i), "echo", "hi", "pk_five"))),
      filled(5, 7),
      name,
    );
  });
});

test("tokens and budgets of a client that sends one request after another are exact", async () => {
  await atAll(async ({ name, at }) => {
    const spend = async (model: string, token?: string) => {
      let ok = 0;
      for (let i = 0; i < 14; i++) if ((await chat(at(i), model, "hi", token)).status === 200) ok++;
      return ok;
    };
    // 100 tokens each, of 500; $0.1 each, of $1
    assert.equal(await Promise.all([spend("tpm"), spend("places/slow", "pk_poor")]), [5, 10], name);
  });
});

test("all workers share the concurrency limit", async () => {
  most = 0;
  assert.equal(statuses(await times(12, () => chat(four, "slow"))), filled(12, 0));
  assert.is(most, 2);
});

test("a cooldown in one worker soon applies in all workers", async () => {
  const resting = async (i: number, at: (i: number) => { url: string; token: string }) => {
    const { channels } = (await ask(at(i), "GET", "/channels")).json;
    return channels.find(({ name }: { name: string }) => name === "frail").state;
  };
  await atAll(async ({ at }) => {
    for (let i = 0; i < 12; i++) await chat(at(0), "broken");
    await untilRight(
      async () => {
        // So that it has not ended again before all were asked.
        await chat(at(0), "broken");
        return times(8, (i) => resting(i, at));
      },
      (states) => states.every((state) => state === "resting"),
    );
  });
});

test("failed logins at one worker soon count at all workers", async () => {
  await atAll(async ({ name, at }) => {
    const guess = async (i: number) =>
      (await ask(at(i), "GET", "/keys", undefined, { token: "wrong" })).status;
    while ((await guess(0)) === 401);
    await untilRight(
      () => times(8, guess),
      (all) => all.every((status) => status === 429),
    );
    assert.is((await ask(at(1), "GET", "/keys")).status, 200, name);
  });
});

test("the feed shows the events of other gateways", async () => {
  const [gateway, other] = pair as [InProcessGateway, InProcessGateway];
  const feed = watch(gateway, "GET", "/events?name=message:received");
  await feed.opened;
  await untilRight(
    async () => {
      await chat(other, "echo", "from the other");
      return feed.text();
    },
    (text) => text.includes("from the other"),
  );
  feed.close();
});

test.run();

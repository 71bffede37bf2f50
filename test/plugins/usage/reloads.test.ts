/** A plugin that counts requests is replaced while requests run: each request counts once, in every place that counts. */
import type { ServerResponse } from "node:http";
import * as assert from "uvu/assert";
import { hashOf } from "../../../plugins/keys/grant.ts";
import { type InProcessGateway, startGateway } from "../../support/gateway.ts";
import { suite } from "../../support/suite.ts";
import { until, withinOneDay } from "../../support/until.ts";
import {
  chunk,
  completion,
  DONE,
  json,
  startUpstream,
  type Upstream,
} from "../../support/upstreams/upstream.ts";

const test = suite("reloads of what counts requests");
const USAGE = { prompt_tokens: 4, completion_tokens: 100, total_tokens: 104 };
/** At $0.001 a token. */
const COST = 0.104;
const TOKEN = "pk_counted";

let up: Upstream;
/** The upstream's responses to requests that wait. */
let waiting: (() => void)[] = [];

test.before(async () => {
  await withinOneDay();
  up = await startUpstream(({ body }, res) => {
    const respond = () => sendResponse(res, body.stream === true);
    if (body.model === "waits") waiting.push(respond);
    else respond();
  });
});
test.after(() => up?.close());

function sendResponse(res: ServerResponse, isStream: boolean): void {
  if (!isStream) {
    json(res, completion("Hello", { usage: USAGE }));
    return;
  }
  res.writeHead(200, { "content-type": "text/event-stream" });
  res.write(chunk({ role: "assistant", content: "Hello" }));
  res.write(chunk({}, "stop"));
  res.end(chunk({}, null, { choices: [], usage: USAGE }) + DONE);
}

/** The number of requests that the key's budget covers. */
const AFFORDABLE = 6;

function configFor(price: object) {
  const budget = { usd: (AFFORDABLE + 0.5) * COST, per: "month" };
  return {
    channels: { main: { provider: "openai", baseUrl: up.url, maxRetries: 0 } },
    gateway: { keys: { counted: { hash: hashOf(TOKEN), budget } } },
    usage: { prices: { "*": price }, flushMs: 600_000 },
    agents: { defaults: { heartbeat: { every: "0" } } },
  };
}

async function ask(gateway: InProcessGateway, model: string, stream: boolean): Promise<number> {
  const messages = [{ role: "user", content: "Hi" }];
  const body = { model: `main/${model}`, messages, max_tokens: 100, stream };
  const response = await gateway.request("POST", "/v1/chat/completions", body, { token: TOKEN });
  await response.text();
  return response.status;
}

const askBoth = (gateway: InProcessGateway, model: string): Promise<number[]> =>
  Promise.all([ask(gateway, model, false), ask(gateway, model, true)]);

/** Two requests end before, two run during the change and two come after it; then all places are compared. */
async function countAround(
  gateway: InProcessGateway,
  change: () => Promise<unknown>,
): Promise<Record<string, number>> {
  waiting = [];
  assert.equal(await askBoth(gateway, "quick"), [200, 200]);
  const running = askBoth(gateway, "waits");
  await until("both requests are at the upstream", () => waiting.length === 2);
  await change();
  const spentAfterChange = await spentOf(gateway);
  for (const respond of waiting) respond();
  assert.equal(await running, [200, 200]);
  assert.equal(await askBoth(gateway, "quick"), [200, 200]);
  return { spentAfterChange, ...(await countsOf(gateway)) };
}

async function countsOf(gateway: InProcessGateway): Promise<Record<string, number>> {
  const { rows } = await gateway.json("GET", "/usage?by=key");
  const single = await gateway.json("GET", "/usage/requests?limit=100");
  const log = await gateway.json("GET", "/requests?limit=100");
  const metrics = await (await gateway.request("GET", "/metrics")).text();
  return {
    usage: rows[0].requests,
    usageCost: rows[0].costUsd,
    single: single.requests.length,
    log: log.requests.length,
    metrics: sampleOf(metrics, 'portico_key_requests_total{key="counted",status="200"}'),
    channelMetrics: sampleOf(metrics, 'portico_chat_requests_total{channel="main",status="200"}'),
    spent: await spentOf(gateway),
  };
}

async function spentOf(gateway: InProcessGateway): Promise<number> {
  return (await gateway.json("GET", "/keys/counted")).spentUsd;
}

function sampleOf(metrics: string, series: string): number {
  const line = metrics.split("\n").find((text) => text.startsWith(`${series} `));
  return Number(line?.slice(series.length + 1));
}

const SIX = {
  spentAfterChange: 2 * COST,
  usage: 6,
  usageCost: 0.624,
  single: 6,
  log: 6,
  metrics: 6,
  channelMetrics: 6,
  spent: 0.624,
};

type Change = (gateway: InProcessGateway) => Promise<unknown>;

const reload =
  (plugin: string): Change =>
  (gateway) =>
    gateway.json("POST", `/kernel/plugins/${plugin}/reload`, {});

/** A changed price restarts the plugin `usage`, which takes no changes while it runs. */
const changePrices: Change = (gateway) =>
  gateway.gateway.config.change([
    { path: ["usage", "prices"], value: { "*": { input: 1000, output: 1000, cachedInput: 1 } } },
  ]);

const CHANGES: Record<string, Change> = {
  "a reload of usage": reload("usage"),
  "a reload of metrics": reload("metrics"),
  "a reload of request-log": reload("request-log"),
  "a reload of keys": reload("keys"),
  "a reload of models": reload("models"),
  "a reload of chat": reload("chat"),
  "changed prices": changePrices,
};

for (const [title, change] of Object.entries(CHANGES))
  test(`${title} while requests run`, async () => {
    const gateway = await startGateway({ config: configFor({ input: 1000, output: 1000 }) });
    try {
      assert.equal(await countAround(gateway, () => change(gateway)), SIX);
      assert.is(await ask(gateway, "quick", false), 429, "the budget has counted all six");
    } finally {
      await gateway.stop();
    }
  });

test.run();

/** Costs of channels: the cheapest comes first, and none exceeds its budget. */
import { suite } from "../../support/suite.ts";
import * as assert from "uvu/assert";
import { type InProcessGateway, startGateway } from "../../support/gateway.ts";
import { porticoHere } from "../../support/portico.ts";
import { withinOneDay } from "../../support/until.ts";
import {
  completion,
  json,
  startUpstream,
  type Upstream,
} from "../../support/upstreams/upstream.ts";

const test = suite("cost");
let up: Upstream;
let gateway: InProcessGateway;

test.before(async () => {
  await withinOneDay();
  const usage = { prompt_tokens: 1000, completion_tokens: 0, total_tokens: 1000 };
  up = await startUpstream((request, res) =>
    request.body.model === "broken"
      ? json(res, {}, 400)
      : json(res, { ...completion("ok"), usage }),
  );
  const channel = { provider: "openai", baseUrl: up.url, maxRetries: 0 };
  gateway = await startGateway({
    config: {
      channels: {
        one: channel,
        two: channel,
        poor: { ...channel, budget: { usd: 0.0015, per: "day" } },
        none: { ...channel, budget: { usd: 0, per: "month" } },
      },
      models: {
        cheap: { targets: ["one/unheard-of", "one/dear", "two/fair", "echo"], strategy: "cost" },
        still: { targets: ["one/dear", "two/fair", "two/same"], strategy: "cost" },
        unknown: { targets: ["two/unheard-of", "one/not-at-all"], strategy: "cost" },
        kept: { targets: ["poor/fair", "one/dear"] },
        spent: { targets: ["none/fair", "poor/fair"] },
      },
      usage: {
        prices: {
          dear: { input: 10, output: 40 },
          fair: { input: 1, output: 4 },
          same: { input: 4, output: 0.1 },
        },
      },
    },
  });
});
test.after(async () => {
  await gateway?.stop();
  await up?.close();
});

async function ask(model: string) {
  const body = { model, messages: [{ role: "user", content: "hi" }] };
  const response = await gateway.request("POST", "/v1/chat/completions", body);
  const readHeader = (name: string) => response.headers.get(name);
  const where = `${readHeader("x-portico-channel")}/${readHeader("x-portico-model")}`;
  return {
    status: response.status,
    where,
    wait: Number(readHeader("retry-after")),
    body: (await response.json()) as any,
  };
}

test("the cheapest target comes first, and those without a price last", async () => {
  assert.is((await ask("cheap")).where, "echo/echo");
  assert.is((await ask("still")).where, "two/fair");
  assert.is((await ask("unknown")).where, "two/unheard-of");
});

test("a channel over its budget is skipped, and the request is refused if no other channel is left", async () => {
  assert.is((await ask("kept")).where, "poor/fair");
  assert.is((await ask("kept")).where, "poor/fair", "$0.001 of $0.0015 is spent");
  assert.is((await ask("kept")).where, "one/dear");
  const refused = await ask("poor/fair");
  assert.equal([refused.status, refused.body.error.code], [429, "rate_limit_exceeded"]);
  assert.match(
    refused.body.error.message,
    /`poor` is over its budget of \$0.0015 per day\. The next day begins at/,
  );
  assert.ok(refused.wait > 0 && refused.wait <= 86_400, String(refused.wait));
  const all = await ask("spent");
  assert.is(all.status, 429);
  // `poor` is free again tomorrow, `none` next month. On the last day of a month both are free at the same instant, and
  // the message names the target that the model lists first.
  const tomorrow = new Date(Date.now() + 86_400_000);
  const firstFree = tomorrow.getUTCDate() === 1 ? "none" : "poor";
  assert.match(all.body.error.message, new RegExp(`\`${firstFree}\``));
});

test("the list shows the budget of a channel, and that the budget is exceeded", async () => {
  const { channels } = await gateway.json("GET", "/channels");
  const poor = channels.find((channel: any) => channel.name === "poor");
  assert.equal([poor.state, poor.overLimit], ["resting", "budget"]);
  assert.equal(poor.budget, { usd: 0.0015, per: "day", spentUsd: 0.002 });
  const none = channels.find((channel: any) => channel.name === "none");
  assert.equal([none.overLimit, none.budget.spentUsd], ["budget", 0]);
  const list = await porticoHere(gateway.home, ["channels", "list"]);
  assert.match(list.stdout, /poor .*over its budget until .*\$0\.002 of \$0\.0015 per day/);
  assert.match(
    (await porticoHere(gateway.home, ["status"])).stdout,
    /poor: the channel is over its budget of \$0\.0015 per day/,
  );
});

test("a channel with a budget receives no requests without the plugin that counts costs", async () => {
  await gateway.json("POST", "/kernel/plugins/usage/disable");
  try {
    assert.is((await ask("kept")).where, "one/dear");
    const refused = await ask("none/fair");
    assert.equal([refused.status, refused.body.error.code], [503, "service_unavailable"]);
    assert.is((await ask("still")).where, "one/dear", "no price is known: as they stand");
  } finally {
    await gateway.json("POST", "/kernel/plugins/usage/enable");
  }
});

test.run();

/** `GET /metrics` as a scraper reads it. */
import type { MetricFamily } from "portico/metrics";
import { test } from "../../support/suite.ts";
import * as assert from "uvu/assert";
import { hashOf } from "../../../plugins/keys/grant.ts";
import { render } from "../../../plugins/metrics/exposition.ts";
import { createHistogram, observe, toSamples } from "../../../plugins/metrics/histogram.ts";
import { type InProcessGateway, startGateway } from "../../support/gateway.ts";
import { hookFiles } from "../../support/hook-files.ts";
import { until } from "../../support/until.ts";

const KEY = "pk-ci-0123456789abcdef";

interface Parsed {
  types: Map<string, string>;
  /** `name{a="b"}` → value. */
  series: Map<string, number>;
}

/** Reads the format strictly: HELP and TYPE before the samples, families in one piece, no series twice. */
function parse(text: string): Parsed {
  assert.ok(text.endsWith("\n"), "the last line ends");
  const types = new Map<string, string>();
  const series = new Map<string, number>();
  let current = "";
  let helped = "";
  for (const line of text.slice(0, -1).split("\n")) {
    const help = /^# HELP (\S+) .+$/.exec(line);
    const type = /^# TYPE (\S+) (counter|gauge|histogram)$/.exec(line);
    if (help) helped = help[1]!;
    else if (type) {
      current = type[1]!;
      assert.is(helped, current, "HELP comes before TYPE");
      assert.not(types.has(current), `${current} comes in one piece`);
      types.set(current, type[2]!);
    } else {
      const sample =
        /^([a-zA-Z_:][\w:]*)(\{(?:[a-zA-Z_]\w*="(?:[^"\\]|\\[\\n"])*",?)*\})? (-?[\d.]+(?:e[+-]?\d+)?|[+-]Inf|NaN)$/.exec(
          line,
        );
      assert.ok(sample, `a line of the format: ${line}`);
      const base =
        types.get(current) === "histogram"
          ? sample[1]!.replace(/_(bucket|sum|count)$/, "")
          : sample[1]!;
      assert.is(base, current, `${line} stands below its own TYPE`);
      const key = sample[1]! + (sample[2] ?? "");
      assert.not(series.has(key), `${key} comes once`);
      series.set(key, Number(sample[3]!.replace("Inf", "Infinity")));
    }
  }
  return { types, series };
}

async function scrape(gateway: InProcessGateway): Promise<Parsed & { text: string }> {
  const response = await gateway.request("GET", "/metrics");
  assert.is(response.status, 200);
  assert.is(response.headers.get("content-type"), "text/plain; version=0.0.4; charset=utf-8");
  const text = await response.text();
  return { text, ...parse(text) };
}

test("metrics cover requests, chat, channels, hooks, plugins, store and process", async () => {
  const gateway = await startGateway({
    config: {
      channels: {
        away: {
          provider: "openai",
          baseUrl: "http://127.0.0.1:9/v1",
          models: ["m"],
          enabled: false,
        },
      },
    },
    files: { ...hookFiles("fails", "throw new Error('no')"), ...hookFiles("works", "") },
  });
  try {
    const before = await scrape(gateway);
    assert.is(
      before.series.get('portico_chat_requests_total{channel="echo",status="200"}'),
      undefined,
    );
    for (const stream of [false, true]) {
      const response = await gateway.request("POST", "/v1/chat/completions", {
        model: "echo",
        stream,
        messages: [{ role: "user", content: "hello there" }],
      });
      await response.text();
    }
    await (await gateway.request("GET", "/nowhere")).text();
    await (await gateway.request("GET", "/channels", undefined, { token: "wrong" })).text();
    const { series, types } = await until("both chats to be counted", async () => {
      const now = await scrape(gateway);
      return now.series.get('portico_chat_requests_total{channel="echo",status="200"}') === 2
        ? now
        : undefined;
    });
    const value = (name: string) => series.get(name);
    assert.is(types.get("portico_http_requests_total"), "counter");
    assert.is(
      value('portico_http_requests_total{method="POST",route="/v1/chat/completions",status="200"}'),
      2,
    );
    assert.is(value('portico_http_requests_total{method="",route="",status="404"}'), 1);
    assert.is(value('portico_http_requests_total{method="GET",route="/channels",status="401"}'), 1);
    assert.is(value("portico_http_requests_in_flight"), 1, "the scrape itself");
    assert.is(value('portico_chat_duration_seconds_count{channel="echo"}'), 2);
    assert.is(value('portico_chat_duration_seconds_bucket{channel="echo",le="+Inf"}'), 2);
    assert.is(value('portico_channel_state{channel="away",provider="openai",state="disabled"}'), 1);
    assert.is(value('portico_channel_state{channel="away",provider="openai",state="ok"}'), 0);
    assert.is(value('portico_channel_attempts_total{channel="echo",provider="echo"}'), 2);
    assert.ok(value('portico_channel_latency_seconds{channel="echo",provider="echo"}')! >= 0);
    assert.is(value('portico_hook_runs_total{hook="works",root="managed"}'), 2);
    assert.is(value('portico_hook_failures_total{hook="fails",root="managed"}'), 2);
    assert.is(value('portico_hook_state{hook="works",root="managed",state="active"}'), 1);
    assert.ok(value('portico_plugins{state="active"}')! > 5);
    assert.is(value('portico_plugins{state="failed"}'), 0);
    assert.is(value('portico_store_up{engine="sqlite"}'), 1);
    assert.is(value("portico_ready"), 1);
    assert.is(value(`portico_build_info{version="0.0.0-test",node="${process.version}"}`), 1);
    assert.ok(value("process_resident_memory_bytes")! > 1e6);
    assert.ok(value("nodejs_heap_size_used_bytes")! > 1e6);
    assert.ok(value("nodejs_eventloop_lag_p99_seconds")! >= 0);
    assert.ok(value("portico_uptime_seconds")! > 0);
  } finally {
    await gateway.stop();
  }
});

test("only the owner's token is accepted", async () => {
  const gateway = await startGateway();
  try {
    assert.is((await gateway.request("GET", "/metrics", undefined, { token: null })).status, 401);
    assert.is(
      (await gateway.request("GET", "/metrics", undefined, { token: "wrong" })).status,
      401,
    );
  } finally {
    await gateway.stop();
  }
});

test("families of other plugins are included, and a failing one is omitted", async () => {
  const plugin = `import { definePlugin } from "portico";
    export default definePlugin({ name: "more", setup(ctx) {
      ctx.add("metric", { name: "fine", collect: () => [{ name: "tea_cups_total", type: "counter", help: "Cups.", samples: [{ value: 3, labels: { kind: 'a"b\\\\c\\n' } }] }] });
      ctx.add("metric", { name: "sick", collect: () => { throw new Error("out of order"); } });
      ctx.add("metric", { name: "wrong", collect: () => [{ name: "not a name", type: "gauge", help: "?", samples: [{ value: 1 }] }] });
    } });`;
  const gateway = await startGateway({ files: { "plugins/more/plugin.ts": plugin } });
  try {
    const { series } = await scrape(gateway);
    assert.is(series.get('tea_cups_total{kind="a\\"b\\\\c\\n"}'), 3);
    assert.is(series.get('portico_metrics_source_up{source="fine"}'), 1);
    assert.is(series.get('portico_metrics_source_up{source="sick"}'), 0);
    assert.is(series.get('portico_metrics_source_up{source="wrong"}'), 0);
    assert.is(series.get("portico_ready"), 1);
  } finally {
    await gateway.stop();
  }
});

test("families of one name are merged, and each series is written once", () => {
  const family = (value: number, labels?: Record<string, string>): MetricFamily => ({
    name: "x_total",
    type: "counter",
    help: "A line\nand another.",
    samples: [{ value, ...(labels && { labels }) }],
  });
  const text = render([family(1, { a: "1" }), family(2, { a: "2" }), family(3, { a: "1" })]);
  assert.is(
    text,
    '# HELP x_total A line\\nand another.\n# TYPE x_total counter\nx_total{a="1"} 1\nx_total{a="2"} 2\n',
  );
  // Known series are present before their first event.
  assert.is(
    render([{ name: "y", type: "gauge", help: "none", samples: [] }]),
    "# HELP y none\n# TYPE y gauge\n",
  );
  assert.throws(() => render([{ ...family(1), name: "1x" }]), /not a valid (?:metric|label) name/);
});

test("metrics cover keys, their budgets and costs, and turns", async () => {
  const gateway = await startGateway({
    config: {
      agents: { defaults: { model: "priced" } },
      usage: { prices: { "*": { input: 1e6, output: 1e6 } } },
      channels: {
        local: { provider: "echo", models: ["priced"], budget: { usd: 1000, per: "day" } },
      },
      gateway: { keys: { ci: { hash: hashOf(KEY), budget: { usd: 5000, per: "month" } } } },
    },
  });
  try {
    const messages = [{ role: "user", content: "hello there" }];
    const body = { model: "local/priced", messages, max_tokens: 5 };
    const response = await gateway.request("POST", "/v1/chat/completions", body, { token: KEY });
    assert.is(response.status, 200, await response.text());
    await gateway.json("POST", "/agent", { message: "hello", wait: true });
    const { series } = await until("the turn to be counted", async () => {
      const now = await scrape(gateway);
      const turns = now.series.get('portico_turns_total{agent="main",result="completed"}');
      return turns === undefined ? undefined : now;
    });
    const value = (name: string) => series.get(name) ?? 0;
    assert.is(value('portico_keys{state="active"}'), 1);
    assert.is(value('portico_key_requests_total{key="ci",status="200"}'), 1);
    const cost = value('portico_key_cost_usd_total{key="ci"}');
    assert.ok(cost > 0);
    assert.ok(value('portico_chat_cost_usd_total{channel="local"}') >= cost);
    assert.is(value('portico_key_budget_usd{key="ci",per="month"}'), 5000);
    assert.is(value('portico_key_budget_spent_usd{key="ci",per="month"}'), cost);
    assert.is(value('portico_channel_budget_usd{channel="local",provider="echo"}'), 1000);
    assert.is(value("portico_cron_jobs_failing"), 0);
    assert.is(value("portico_polls_failing"), 0);
  } finally {
    await gateway.stop();
  }
});

test("a histogram's buckets add up", () => {
  const histogram = createHistogram();
  for (const seconds of [0.01, 0.02, 3, 1000]) observe(histogram, seconds);
  const samples = toSamples(histogram, { channel: "c" });
  const bucket = (le: string) => samples.find(({ labels }) => labels?.["le"] === le)?.value;
  assert.equal(
    [bucket("0.01"), bucket("0.025"), bucket("2.5"), bucket("5"), bucket("120"), bucket("+Inf")],
    [1, 2, 2, 3, 3, 4],
  );
  assert.is(samples.at(-1)?.value, 4);
});

test.run();

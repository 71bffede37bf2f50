/** Metrics of the kernel, the channels and the store, which are read at each scrape. */
import type { PluginContext } from "portico";
import type { MetricFamily, MetricSource } from "portico/metrics";
import { counter, gauge } from "./families.ts";

const CHANNEL_STATES = ["ok", "failing", "resting", "disabled"] as const;
const PLUGIN_STATES = [
  "active",
  "waiting",
  "failed",
  "stale",
  "disabled",
  "shadowed",
  "refused",
] as const;

type Sample = [number, Record<string, string>];
type Parts = Pick<PluginContext, "use" | "find" | "version">;

export function gatewaySources(ctx: Parts): MetricSource[] {
  return [
    { name: "gateway", collect: () => collectGateway(ctx) },
    { name: "channels", collect: () => collectChannels(ctx) },
    { name: "store", collect: () => collectStore(ctx) },
  ];
}

function collectGateway(ctx: Parts): MetricFamily[] {
  const state = ctx.use("gateway");
  const hooks = state.hooks();
  const states = state.plugins().map((plugin) => plugin.state);
  return [
    gauge("portico_build_info", "The version of the running gateway.", [
      1,
      { version: ctx.version, node: process.version },
    ]),
    gauge("portico_uptime_seconds", "Time since the gateway started.", [
      (Date.now() - state.startedAt) / 1000,
    ]),
    gauge("portico_ready", "1 if GET /ready responds with 200, otherwise 0.", [
      state.notReady().length === 0 ? 1 : 0,
    ]),
    counter(
      "portico_http_requests_total",
      "Finished requests, by method, route (a pattern; empty if none matched) and status (499: the client disconnected).",
      ...state
        .requests()
        .map(
          ({ method, route, status, count }): Sample => [
            count,
            { method, route, status: String(status) },
          ],
        ),
    ),
    gauge("portico_http_requests_in_flight", "Requests in progress.", [state.active()]),
    gauge(
      "portico_plugins",
      "Plugins by state.",
      ...PLUGIN_STATES.map(
        (name): Sample => [states.filter((state) => state === name).length, { state: name }],
      ),
    ),
    gauge(
      "portico_hook_state",
      "1 for the current state of a hook, 0 for the other states.",
      ...hooks.map(({ name, root, state }): Sample => [1, { hook: name, root, state }]),
    ),
    counter(
      "portico_hook_runs_total",
      "Calls of a hook.",
      ...hooks.map(({ name, root, runs }): Sample => [runs, { hook: name, root }]),
    ),
    counter(
      "portico_hook_failures_total",
      "Failed calls of a hook.",
      ...hooks.map(({ name, root, failures }): Sample => [failures, { hook: name, root }]),
    ),
  ];
}

function collectChannels(ctx: Parts): MetricFamily[] {
  const all = ctx.find("channels")?.list() ?? [];
  const samplesOf = (value: (channel: (typeof all)[number]) => number | undefined): Sample[] =>
    all.flatMap((channel) => {
      const n = value(channel);
      return n === undefined
        ? []
        : [[n, { channel: channel.name, provider: channel.provider }] satisfies Sample];
    });
  return [
    gauge(
      "portico_channel_state",
      "1 for the current state of a channel, 0 for the other states.",
      ...all.flatMap(({ name, provider, state }) =>
        CHANNEL_STATES.map(
          (knownState): Sample => [
            knownState === state ? 1 : 0,
            { channel: name, provider, state: knownState },
          ],
        ),
      ),
    ),
    gauge(
      "portico_channel_failures",
      "Consecutive failures of a channel.",
      ...samplesOf(({ failures }) => failures),
    ),
    gauge(
      "portico_channel_in_flight",
      "Requests in progress on a channel.",
      ...samplesOf(({ inFlight }) => inFlight),
    ),
    gauge(
      "portico_channel_queued",
      "Requests that are waiting because the channel's maxConcurrent is reached.",
      ...samplesOf(({ queued }) => queued),
    ),
    gauge(
      "portico_channel_latency_seconds",
      "Moving average of a channel's time to the first byte.",
      ...samplesOf(({ latencyMs }) => (latencyMs === undefined ? undefined : latencyMs / 1000)),
    ),
    gauge(
      "portico_channel_budget_usd",
      "The budget of a channel per day or month.",
      ...samplesOf(({ budget }) => budget?.usd),
    ),
    gauge(
      "portico_channel_budget_spent_usd",
      "How much of a channel's budget was spent in the current day or month.",
      ...samplesOf(({ budget }) => budget?.spentUsd),
    ),
    counter(
      "portico_channel_attempts_total",
      "Requests sent to a channel, including retries and failures.",
      ...samplesOf(({ requests }) => requests),
    ),
    counter(
      "portico_channel_errors_total",
      "Failed requests to a channel, including failed retries.",
      ...samplesOf(({ errors }) => errors),
    ),
  ];
}

async function collectStore(ctx: Parts): Promise<MetricFamily[]> {
  const engine = ctx.use("store");
  const health = await engine.health();
  const up = gauge("portico_store_up", "1 if the store works, otherwise 0.", [
    health.ok ? 1 : 0,
    { engine: health.engine },
  ]);
  const size =
    health.bytes === undefined
      ? []
      : [gauge("portico_store_bytes", "Size of the store.", [health.bytes])];
  if (!health.ok) return [up, ...size];
  const { kinds, oldestAt } = await engine.items.stats();
  return [
    up,
    ...size,
    gauge(
      "portico_queue_items",
      "Turns, events and other work in the store, by kind and state.",
      ...Object.entries(kinds).flatMap(([kind, states]) =>
        Object.entries(states).map(([state, n]): Sample => [n, { kind, state }]),
      ),
    ),
    gauge(
      "portico_queue_oldest_seconds",
      "Age of the oldest unfinished queue item; 0 if there is none.",
      [oldestAt === undefined ? 0 : Math.max(0, engine.now() - oldestAt) / 1000],
    ),
  ];
}

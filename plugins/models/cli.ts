/** `portico channels`. */
import { commandFor, defineCommand } from "portico/command-line";
import type { ChannelEntry, ChannelTest } from "./channel-routes.ts";
import { modelRoutes } from "./routes-schema.ts";
import { restingAlone } from "./routing/channel-state.ts";

/** Longer than a channel waits for the first byte of a response by default (300 s). */
const TEST_TIMEOUT_MS = 330_000;

const HEAD = [
  "NAME",
  "PROVIDER",
  "STATE",
  "PRIORITY",
  "IN FLIGHT",
  "REQUESTS",
  "ERRORS",
  "LATENCY",
  "BUDGET",
  "LAST ERROR",
];

const list = commandFor<{ channels: ChannelEntry[] }>("GET /channels", modelRoutes.channels, {
  name: "list",
  summary: "List all channels with their state",
  view: ({ channels }, io) => io.table(HEAD, channels.map(cells)),
});

const test = commandFor<ChannelTest>("POST /channels/:name/test", modelRoutes.testChannel, {
  name: "test",
  summary: "Test a channel: list its models and send one of them a short request",
  args: [{ name: "name", description: "The name of the channel" }],
  options: {
    model: {
      value: "NAME",
      description:
        "The model to test, as the upstream names it (default: the first model that the upstream lists)",
    },
  },
  progress: ({ args }) => `testing ${args["name"]} …`,
  timeoutMs: TEST_TIMEOUT_MS,
  view: testLines,
  failure: ({ ok, error }) => (ok ? undefined : (error ?? "The channel failed the test.")),
});

export default defineCommand({
  name: "channels",
  summary: "List the configured channels (upstreams) with their state, and test them",
  description:
    "A channel is one upstream in `channels` of the configuration. A model that fails three times in a row is not used for a while; `portico channels list` shows for how long.",
  examples: [
    "portico channels list",
    "portico channels test main",
    "portico channels test main --model gpt-4o-mini",
  ],
  commands: [list, test],
});

function cells(channel: ChannelEntry): (string | number)[] {
  return [
    channel.name,
    channel.provider,
    stateOf(channel),
    channel.priority,
    channel.inFlight,
    channel.requests,
    channel.errors,
    channel.latencyMs === undefined ? "" : `${channel.latencyMs} ms`,
    budgetOf(channel),
    channel.problem ?? channel.lastError ?? "",
  ];
}

function testLines({ ok, models, modelsError, model, ms, answer }: ChannelTest): string[] {
  return [
    ...(models === undefined ? [] : [`models: ${models} listed`]),
    ...(modelsError === undefined ? [] : [`models: ${modelsError}`]),
    ...(ok ? [`${model} responded in ${ms} ms: ${answer}`] : []),
  ];
}

function budgetOf({ budget }: ChannelEntry): string {
  if (budget === undefined) return "";
  const spentText = budget.spentUsd === undefined ? "?" : `$${Number(budget.spentUsd.toFixed(4))}`;
  return `${spentText} of $${budget.usd} per ${budget.per}`;
}

function stateOf(channel: ChannelEntry): string {
  if (channel.state !== "resting" || channel.restingUntil === undefined) return channel.state;
  if (channel.overLimit === "budget") return `over its budget until ${channel.restingUntil}`;
  const seconds = Math.max(0, Math.ceil((Date.parse(channel.restingUntil) - Date.now()) / 1000));
  if (channel.overLimit !== undefined) return `over its ${channel.overLimit} for ${seconds} s`;
  const models = restingAlone(channel);
  return `${models && `${models}: `}resting for ${seconds} s`;
}

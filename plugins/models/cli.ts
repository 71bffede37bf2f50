import { defineCommand } from "portico/command-line";
import type { ChannelEntry, ChannelTest } from "./channel-routes.ts";
import { restingAlone } from "./routing/channel-state.ts";

export default defineCommand({
  name: "channels",
  summary: "Model backends: list them with their state, test one",
  description:
    "A channel is one backend in `channels` of the configuration. A model of it that fails three times in a row rests; the list says for how long.",
  examples: [
    "portico channels list",
    "portico channels test main",
    "portico channels test main --model gpt-4o-mini",
  ],
  commands: [
    {
      name: "list",
      summary: "All channels with their state",
      async run(io) {
        const { channels } = await io.gateway.request<{ channels: ChannelEntry[] }>(
          "GET",
          "/channels",
        );
        io.show({ channels }, () =>
          io.table(
            [
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
            ],
            channels.map((channel) => [
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
            ]),
          ),
        );
      },
    },
    {
      name: "test",
      summary: "Ask a channel for its models and one word",
      args: [{ name: "name", description: "the channel" }],
      options: {
        model: {
          type: "string",
          value: "NAME",
          description: "the upstream's name of the model to ask; default: the first listed",
        },
      },
      async run(io) {
        const name = io.args["name"] ?? "";
        const model = io.options["model"];
        io.progress(`Asking ${name} …`);
        const result = await io.gateway.request<ChannelTest>(
          "POST",
          `/channels/${encodeURIComponent(name)}/test`,
          { model },
          { timeoutMs: 330_000 },
        );
        io.show(result, (test) => [
          ...(test.models === undefined ? [] : [`models: ${test.models} listed`]),
          ...(test.modelsError === undefined ? [] : [`models: ${test.modelsError}`]),
          ...(test.ok ? [`${test.model}: answered in ${test.ms} ms: ${test.answer}`] : []),
        ]);
        if (!result.ok) throw new Error(result.error ?? "The channel does not work.");
      },
    },
  ],
});

function budgetOf({ budget }: ChannelEntry): string {
  if (budget === undefined) return "";
  const spent = budget.spentUsd === undefined ? "?" : `$${Number(budget.spentUsd.toFixed(4))}`;
  return `${spent} of $${budget.usd} per ${budget.per}`;
}

function stateOf(channel: ChannelEntry): string {
  if (channel.state !== "resting" || channel.restingUntil === undefined) return channel.state;
  if (channel.overLimit === "budget") return `over its budget until ${channel.restingUntil}`;
  const seconds = Math.max(0, Math.ceil((Date.parse(channel.restingUntil) - Date.now()) / 1000));
  if (channel.overLimit !== undefined) return `over its ${channel.overLimit} for ${seconds} s`;
  const models = restingAlone(channel);
  return `${models && `${models}: `}resting for ${seconds} s`;
}

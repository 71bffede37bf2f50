/** Metrics of turns, jobs, polls, deliveries and cooldowns, counted by their events. */
import type { PluginContext } from "portico";
import type {} from "portico/agent";
import type {} from "portico/models";
import type { MetricFamily, MetricSource } from "portico/metrics";
import { counter } from "./families.ts";
import { createHistogram, type Histogram, observe, toSamples } from "./histogram.ts";

type Labels = Record<string, string>;

/**
 * The values of a family, by the JSON of their labels. There are few, because no label holds a name that clients choose.
 */
type Counts = Map<string, { labels: Labels; value: number }>;

/** The counts as plain data, which survives a reload of the plugin. */
export interface WorkTallies {
  /** The counts by the name of their family. */
  counts: Map<string, Counts>;
  /** The durations of turns by agent. */
  durations: Map<string, Histogram>;
}

export function emptyWorkTallies(): WorkTallies {
  return { counts: new Map(), durations: new Map() };
}

class Count {
  readonly #counts: Counts;
  readonly #name: string;
  readonly #help: string;

  constructor(counts: Counts, name: string, help: string) {
    this.#counts = counts;
    this.#name = name;
    this.#help = help;
  }

  add(labels: Labels = {}): void {
    const key = JSON.stringify(labels);
    const count = this.#counts.get(key) ?? { labels, value: 0 };
    count.value++;
    this.#counts.set(key, count);
  }

  family(): MetricFamily {
    const samples = [...this.#counts.values()];
    return counter(
      this.#name,
      this.#help,
      ...samples.map(({ labels, value }): [number, Labels] => [value, labels]),
    );
  }
}

export function createWorkCounts(
  ctx: Pick<PluginContext, "on">,
  { counts, durations }: WorkTallies,
): MetricSource {
  function createCount(name: string, help: string): Count {
    const values = counts.get(name) ?? new Map();
    counts.set(name, values);
    return new Count(values, name, help);
  }
  const turns = createCount(
    "portico_turns_total",
    "Agent turns by result: completed, failed, or retry (an attempt failed and another follows).",
  );
  const toolCalls = createCount("portico_tool_calls_total", "Tool calls in turns, by result.");
  const cronRuns = createCount("portico_cron_runs_total", "Started runs of cron jobs.");
  const cronFailures = createCount(
    "portico_cron_failures_total",
    "Failed runs of cron jobs, by status.",
  );
  const pollChanges = createCount("portico_poll_changes_total", "Changes that polls found.");
  const pollFailures = createCount("portico_poll_failures_total", "Failed checks of polls.");
  const deliveries = createCount(
    "portico_deliveries_failed_total",
    "Results that could not be delivered and will not be sent again, by type.",
  );
  const cooldowns = createCount(
    "portico_channel_cooldowns_total",
    "Cooldowns of a channel's models, which begin after repeated failures.",
  );
  ctx.on("agent:completed", ({ context: { agentId: agent, ms } }) => {
    turns.add({ agent, result: "completed" });
    const duration = durations.get(agent) ?? createHistogram();
    durations.set(agent, duration);
    observe(duration, ms / 1000);
  });
  ctx.on("agent:failed", ({ context: { agentId: agent, willRetry } }) =>
    turns.add({ agent, result: willRetry ? "retry" : "failed" }),
  );
  ctx.on("agent:tool", ({ context: { ok } }) => toolCalls.add({ result: ok ? "ok" : "failed" }));
  ctx.on("cron:fired", () => cronRuns.add());
  ctx.on("cron:failed", ({ context: { status } }) => cronFailures.add({ status }));
  ctx.on("poll:changed", () => pollChanges.add());
  ctx.on("poll:failed", () => pollFailures.add());
  ctx.on("delivery:failed", ({ context: { type } }) => deliveries.add({ type }));
  ctx.on("channel:resting", ({ context: { channel } }) => cooldowns.add({ channel }));

  return {
    name: "work",
    collect: () => [
      turns.family(),
      {
        name: "portico_turn_duration_seconds",
        type: "histogram",
        help: "Duration of the last attempt of a turn.",
        samples: [...durations].flatMap(([agent, duration]) => toSamples(duration, { agent })),
      },
      ...[toolCalls, cronRuns, cronFailures, pollChanges, pollFailures, deliveries, cooldowns].map(
        (count) => count.family(),
      ),
    ],
  };
}

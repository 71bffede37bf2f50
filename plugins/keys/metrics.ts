/** The metrics of keys and their budgets for `GET /metrics`. */
import type { PluginContext } from "portico";
import type { MetricFamily, MetricSample } from "portico/metrics";
import { stateOf } from "./grant.ts";
import type { KeysConfig } from "./schema.ts";
import { readSpending } from "./view.ts";

export async function keyMetrics(ctx: PluginContext, keys: KeysConfig): Promise<MetricFamily[]> {
  const now = ctx.use("store").now();
  const states = new Map<string, number>();
  const limits: MetricSample[] = [];
  const spent: MetricSample[] = [];
  for (const [key, config] of Object.entries(keys)) {
    const state = stateOf(config, now);
    states.set(state, (states.get(state) ?? 0) + 1);
    const { budget } = config;
    if (budget === undefined) continue;
    const labels = { key, per: budget.per };
    limits.push({ labels, value: budget.usd });
    const usd = await readSpending(ctx, key, budget);
    if (typeof usd === "number") spent.push({ labels, value: usd });
  }
  const samples = [...states].map(([state, value]) => ({ labels: { state }, value }));
  return [
    { name: "portico_keys", type: "gauge", help: "Client keys by state.", samples },
    {
      name: "portico_key_budget_usd",
      type: "gauge",
      help: "The budget of a client key per day or month.",
      samples: limits,
    },
    {
      name: "portico_key_budget_spent_usd",
      type: "gauge",
      help: "How much of a client key's budget was spent in the current day or month.",
      samples: spent,
    },
  ];
}

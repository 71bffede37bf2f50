/**
 * Checks what channels have cost in a day or a month. The plugin with the prices adds up the costs of all gateways that
 * share a store.
 */
import { type ChatPricing, periodOf } from "portico/models";
import type { Channel } from "./channel.ts";
import { errors } from "../errors.ts";

/** Longer than it takes to begin an attempt. */
const AHEAD_MS = 1000;

export interface Budgets {
  /** Updates the channel's cost. Rejects if it cannot be read: then the channel is skipped. */
  check(channel: Channel): Promise<void>;
}

export function createBudgets(pricing: () => ChatPricing | undefined): Budgets {
  return {
    async check(channel) {
      const { budget } = channel.config;
      if (budget === undefined) return;
      const prices = pricing();
      if (prices === undefined) throw errors.channelCostsUnavailable({ channel: channel.name });
      const { start, end } = periodOf(budget.per, prices.now());
      const spentUsd = await prices.spent(channel.name, start);
      // A local clock that is ahead must not let requests through: the period ends by the clock that dates the costs.
      channel.setSpending(spentUsd, Math.max(end, Date.now() + AHEAD_MS));
    },
  };
}

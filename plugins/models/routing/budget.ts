/** What channels may cost in a day or a month. The plugin with the prices adds up all gateways of a store. */
import { type ChatPricing, periodOf } from "portico/models";
import type { Channel } from "./channel.ts";
import { errors } from "../errors.ts";

/** An attempt begins well within this. */
const AHEAD_MS = 1000;

export interface Budgets {
  /** Updates the channel's costs. Rejects if they cannot be read: the channel is passed over then. */
  check(channel: Channel): Promise<void>;
}

export function createBudgets(pricing: () => ChatPricing | undefined): Budgets {
  return {
    async check(channel) {
      const { budget } = channel.config;
      if (budget === undefined) return;
      const known = pricing();
      if (known === undefined) throw errors.channelCostsUnavailable({ channel: channel.name });
      const { start, end } = periodOf(budget.per, known.now());
      const spent = await known.spent(channel.name, start);
      // A clock of our own that is ahead must not let anything through: the period ends by that which dates the costs.
      channel.spent(spent, Math.max(end, Date.now() + AHEAD_MS));
    },
  };
}

/** What channels may cost in a day or a month. The sums are those of anyone who knows the prices: all gateways' together. */
import { type ChatPricing, periodOf } from "portico/models";
import type { Channel } from "./channel.ts";
import { errors } from "../errors.ts";

/** An attempt begins well within this. */
const AHEAD_MS = 1000;

export interface Budgets {
  /** Tells the channel what it has cost by now. Rejects where that cannot be known: it is not asked then. */
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

/** How a channel does, for listings. */
export interface ChannelState {
  state: "ok" | "failing" | "resting" | "disabled";
  failures: number;
  /** ISO time, while it cools down. */
  restingUntil?: string | undefined;
  /** The limit of its own that it is over until then: `budget`, `requestsPerMinute`, `tokensPerMinute`. */
  overLimit?: string | undefined;
  /** Where it has a budget: what its current day or month has cost, as far as it is known. */
  budget?: { usd: number; per: "day" | "month"; spentUsd: number | undefined } | undefined;
  /** Those that cool down while others may do well; all of them where the keys do. */
  restingModels?: string[] | undefined;
  inFlight: number;
  queued: number;
  keys: number;
  restingKeys: number;
  requests: number;
  errors: number;
  lastError?: string;
  lastErrorAt?: string;
  /** Moving average to the first byte, milliseconds. */
  latencyMs?: number;
}

const NAMED = 3;

/** The models that cool down while the channel's others go on, in words; empty where all of them do. */
export function restingAlone({ restingModels = [], restingKeys, keys }: ChannelState): string {
  if (restingKeys >= Math.max(1, keys)) return "";
  const more = restingModels.length - NAMED;
  return `${restingModels.slice(0, NAMED).join(", ")}${more > 0 ? ` and ${more} more` : ""}`;
}

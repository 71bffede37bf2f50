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

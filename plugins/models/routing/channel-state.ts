/** The state of a channel, for listings. */
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
  /** Those whose last request failed, and that do not cool down yet. */
  failingModels?: string[] | undefined;
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
  return restingKeys >= Math.max(1, keys) ? "" : someOf(restingModels);
}

/** What is wrong with the channel, in words; undefined where nothing is. */
export function stateProblem(channel: ChannelState): string | undefined {
  const { state, overLimit, budget, restingUntil, lastError = "it failed" } = channel;
  if (state === "failing") {
    const models = channel.failingModels ?? [];
    const subject = models.length > 1 ? "the last requests" : "the last request";
    return `${subject} for ${someOf(models)} failed: ${lastError}`;
  }
  if (state !== "resting") return undefined;
  const until = restingUntil ? ` until ${restingUntil}` : "";
  if (overLimit === "budget")
    return `it is over its budget of $${budget?.usd} per ${budget?.per}, and gets no requests${until}`;
  // A limit per minute does what it is there for.
  if (overLimit !== undefined) return undefined;
  const models = restingAlone(channel);
  const isSeveral = models !== "" && (channel.restingModels ?? []).length > 1;
  return `${models || "it"} ${isSeveral ? "cool" : "cools"} down${until}: ${lastError}`;
}

function someOf(models: readonly string[]): string {
  const more = models.length - NAMED;
  return `${models.slice(0, NAMED).join(", ")}${more > 0 ? ` and ${more} more` : ""}`;
}

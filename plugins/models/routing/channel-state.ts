/** The state of a channel, for listings. */
export interface ChannelState {
  state: "ok" | "failing" | "resting" | "disabled";
  failures: number;
  /** ISO time at which the cooldown ends or the limit allows requests again. */
  restingUntil?: string | undefined;
  /** The configured limit that blocks the channel until then: `budget`, `requestsPerMinute` or `tokensPerMinute`. */
  overLimit?: string | undefined;
  /** The budget, if there is one, with the cost of its current day or month as far as it is known. */
  budget?: { usd: number; per: "day" | "month"; spentUsd: number | undefined } | undefined;
  /** The models in cooldown, also those of which only the keys are. */
  restingModels?: string[] | undefined;
  /** The models whose last request failed and that are not in cooldown yet. */
  failingModels?: string[] | undefined;
  inFlight: number;
  queued: number;
  keys: number;
  restingKeys: number;
  requests: number;
  errors: number;
  lastError?: string;
  lastErrorAt?: string;
  /** Moving average of the time to the first byte, in milliseconds. */
  latencyMs?: number;
}

const MAX_NAMES = 3;

/** Names the models that cool down while others of the channel work; empty if all keys cool down. */
export function restingAlone({ restingModels = [], restingKeys, keys }: ChannelState): string {
  return restingKeys >= Math.max(1, keys) ? "" : abbreviateList(restingModels);
}

/** Describes the problem of the channel; undefined if it has none. */
export function stateProblem(channel: ChannelState): string | undefined {
  const { state, overLimit, budget, restingUntil, lastError = "it failed" } = channel;
  if (state === "failing") {
    const models = channel.failingModels ?? [];
    const subject = models.length > 1 ? "the last requests" : "the last request";
    return `${subject} for ${abbreviateList(models)} failed: ${lastError}`;
  }
  if (state !== "resting") return undefined;
  const until = restingUntil ? ` until ${restingUntil}` : "";
  if (overLimit === "budget")
    return `the channel is over its budget of $${budget?.usd} per ${budget?.per} and receives no requests${until}`;
  // A reached limit per minute is no problem.
  if (overLimit !== undefined) return undefined;
  const models = restingAlone(channel);
  const isSeveral = models !== "" && (channel.restingModels ?? []).length > 1;
  return `${models || "the channel"} ${isSeveral ? "are" : "is"} in cooldown${until}: ${lastError}`;
}

function abbreviateList(models: readonly string[]): string {
  const more = models.length - MAX_NAMES;
  return `${models.slice(0, MAX_NAMES).join(", ")}${more > 0 ? ` and ${more} more` : ""}`;
}

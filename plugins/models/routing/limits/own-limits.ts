/** The configured limits of a channel: requests and tokens per minute, and a budget. */
import type { ChannelConfig } from "../../schema.ts";
import { type OverLimit, RateLimit } from "./rate-limit.ts";
import type { SharedLimits } from "./shared-limits.ts";

type Limits = Pick<ChannelConfig, "requestsPerMinute" | "tokensPerMinute" | "budget">;

/** All times are in milliseconds of the channel's clock. */
export class OwnLimits {
  readonly #requests: RateLimit | undefined;
  readonly #tokens: RateLimit | undefined;
  readonly #budget: Limits["budget"];
  /** Set if other processes may count the same limit. */
  readonly #shared: SharedLimits | undefined;
  /** Cost of the current budget period, and when that period ends. */
  #spending: { usd: number; until: number } | undefined;

  /** Returns undefined if the channel has no limits. */
  static of(limits: Limits, shared?: SharedLimits): OwnLimits | undefined {
    const { requestsPerMinute, tokensPerMinute, budget } = limits;
    const isUnlimited =
      requestsPerMinute === undefined && tokensPerMinute === undefined && budget === undefined;
    return isUnlimited ? undefined : new OwnLimits(limits, shared);
  }

  private constructor(
    { requestsPerMinute, tokensPerMinute, budget }: Limits,
    shared?: SharedLimits,
  ) {
    this.#requests = requestsPerMinute === undefined ? undefined : new RateLimit(requestsPerMinute);
    this.#tokens = tokensPerMinute === undefined ? undefined : new RateLimit(tokensPerMinute);
    this.#budget = budget;
    this.#shared = requestsPerMinute === undefined ? undefined : shared;
  }

  /** Counts an attempt in the shared store. Resolves to the limit that leaves no room for it, if one does. */
  admit(): Promise<OverLimit | undefined> | undefined {
    return this.#shared?.admit();
  }

  countRequest(now: number): void {
    this.#requests?.add(now, 1);
  }

  /**
   * Counts tokens in this process only, so that a channel over its limit is skipped without a request to the store. The
   * reservations in the store count the tokens of all processes.
   */
  countTokens(now: number, tokens: number): void {
    if (tokens > 0) this.#tokens?.add(now, tokens);
  }

  setSpending(usd: number, until: number): void {
    this.#spending = { usd, until };
  }

  /** Returns the limit that blocks the channel for the longest time; undefined if none does. */
  longestLimit(now: number): OverLimit | undefined {
    const budget = this.#budget;
    const spending = this.#spending;
    const limits: OverLimit[] = [
      ...(this.#shared?.refused ?? []),
      { name: "requestsPerMinute", until: this.#requests?.until(now) ?? 0 },
      { name: "tokensPerMinute", until: this.#tokens?.until(now) ?? 0 },
      {
        name: "budget",
        until:
          budget !== undefined && spending !== undefined && spending.usd >= budget.usd
            ? spending.until
            : 0,
      },
    ];
    const [longest] = limits.filter(({ until }) => until > now).sort((a, b) => b.until - a.until);
    return longest;
  }

  /** Describes the budget and its known cost, for listings. */
  describe(): (NonNullable<Limits["budget"]> & { spentUsd: number | undefined }) | undefined {
    return this.#budget && { ...this.#budget, spentUsd: this.#spending?.usd };
  }
}

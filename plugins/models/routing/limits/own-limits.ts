/** The limits of a channel's own configuration: requests and tokens in a minute, and its costs. */
import type { ChannelConfig } from "../../schema.ts";
import { type OverLimit, RateLimit } from "./rate-limit.ts";
import type { SharedLimits } from "./shared-limits.ts";

type Limits = Pick<ChannelConfig, "requestsPerMinute" | "tokensPerMinute" | "budget">;

/** Times are milliseconds of the channel's clock. */
export class OwnLimits {
  readonly #requests: RateLimit | undefined;
  readonly #tokens: RateLimit | undefined;
  readonly #budget: Limits["budget"];
  /** Where others may count with us. */
  readonly #shared: SharedLimits | undefined;
  /** What the budget's period has cost, and when that ends. */
  #spent: { usd: number; until: number } | undefined;

  /** Undefined where there are none. */
  static of(limits: Limits, shared?: SharedLimits): OwnLimits | undefined {
    const { requestsPerMinute, tokensPerMinute, budget } = limits;
    const none =
      requestsPerMinute === undefined && tokensPerMinute === undefined && budget === undefined;
    return none ? undefined : new OwnLimits(limits, shared);
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

  /** Asked before each attempt: the limit that those who count with us leave no room in. */
  admit(): Promise<OverLimit | undefined> | undefined {
    return this.#shared?.admit();
  }

  asked(now: number): void {
    this.#requests?.add(now, 1);
  }

  /** Counted here alone, to pass over a channel without a question: what all use is counted with their reservations. */
  used(now: number, tokens: number): void {
    if (tokens > 0) this.#tokens?.add(now, tokens);
  }

  spent(usd: number, until: number): void {
    this.#spent = { usd, until };
  }

  /** The one that it is over for the longest; undefined where it is over none. */
  over(now: number): OverLimit | undefined {
    const budget = this.#budget;
    const spent = this.#spent;
    const limits: OverLimit[] = [
      ...(this.#shared?.refused ?? []),
      { name: "requestsPerMinute", until: this.#requests?.until(now) ?? 0 },
      { name: "tokensPerMinute", until: this.#tokens?.until(now) ?? 0 },
      {
        name: "budget",
        until:
          budget !== undefined && spent !== undefined && spent.usd >= budget.usd ? spent.until : 0,
      },
    ];
    const [longest] = limits.filter(({ until }) => until > now).sort((a, b) => b.until - a.until);
    return longest;
  }

  /** The budget with what is known to be spent of it, for listings. */
  describe(): (NonNullable<Limits["budget"]> & { spentUsd: number | undefined }) | undefined {
    return this.#budget && { ...this.#budget, spentUsd: this.#spent?.usd };
  }
}

/** A channel's requests per minute over all processes and gateways, counted in the store that they share. */
import type { Logger } from "portico";
import type { Store } from "portico/store";
import type { ChannelConfig } from "../../schema.ts";
import type { OverLimit } from "./rate-limit.ts";

const WINDOW_MS = 60_000;

/** The store, where it is shared. */
export type SharedCounts = () => Pick<Store, "take"> | undefined;

export interface SharedLimitsOptions {
  /** Of the channel. */
  name: string;
  limits: Pick<ChannelConfig, "requestsPerMinute">;
  now: () => number;
  counts: SharedCounts;
  log?: Logger | undefined;
}

export class SharedLimits {
  readonly #options: SharedLimitsOptions;
  #refused: OverLimit | undefined;
  #isFailing = false;

  constructor(options: SharedLimitsOptions) {
    this.#options = options;
  }

  /** What the store has refused, for as long as it said. */
  get refused(): OverLimit[] {
    return this.#refused ? [this.#refused] : [];
  }

  /** Asked before each attempt: the limit that all who count together leave no room in. */
  admit(): Promise<OverLimit | undefined> | undefined {
    const counts = this.#options.counts();
    const { requestsPerMinute } = this.#options.limits;
    if (counts === undefined || requestsPerMinute === undefined) return undefined;
    return this.#ask(counts, requestsPerMinute);
  }

  async #ask({ take }: Pick<Store, "take">, max: number): Promise<OverLimit | undefined> {
    try {
      const taken = await take(`channel:${this.#options.name}:requests`, 1, max, WINDOW_MS);
      this.#isFailing = false;
      if (taken.allowed) return undefined;
      const until = this.#options.now() + Math.max(1, taken.retryAfterMs);
      this.#refused = { name: "requestsPerMinute", until };
      return this.#refused;
    } catch (error) {
      this.#failed(error);
      return undefined;
    }
  }

  /** A channel is not lost with the store: until that is back, each counts for itself. */
  #failed(error: unknown): void {
    const { log, name } = this.#options;
    if (!this.#isFailing)
      log?.warn(
        { err: error, channel: name },
        "the limits of a channel are counted in this process only, because the store is not available",
      );
    this.#isFailing = true;
  }
}

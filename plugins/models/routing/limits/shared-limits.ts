/** Counts a channel's requests per minute over all processes and gateways in the store that they share. */
import type { Logger } from "portico";
import type { Store } from "portico/store";
import type { ChannelConfig } from "../../schema.ts";
import type { OverLimit } from "./rate-limit.ts";

const WINDOW_MS = 60_000;

/** Returns the store if several processes share it. */
export type SharedCounts = () => Pick<Store, "take"> | undefined;

export interface SharedLimitsOptions {
  /** Name of the channel. */
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

  /** The limit that the store refused last. Its `until` says how long it applies. */
  get refused(): OverLimit[] {
    return this.#refused ? [this.#refused] : [];
  }

  /** Counts an attempt. Resolves to the limit that leaves no room for it, if one does. */
  admit(): Promise<OverLimit | undefined> | undefined {
    const counts = this.#options.counts();
    const { requestsPerMinute } = this.#options.limits;
    if (counts === undefined || requestsPerMinute === undefined) return undefined;
    return this.#countInStore(counts, requestsPerMinute);
  }

  async #countInStore({ take }: Pick<Store, "take">, max: number): Promise<OverLimit | undefined> {
    try {
      const result = await take(`channel:${this.#options.name}:requests`, 1, max, WINDOW_MS);
      this.#isFailing = false;
      if (result.allowed) return undefined;
      const until = this.#options.now() + Math.max(1, result.retryAfterMs);
      this.#refused = { name: "requestsPerMinute", until };
      return this.#refused;
    } catch (error) {
      this.#reportFailure(error);
      return undefined;
    }
  }

  /**
   * Logs the first failure of the store. The channel stays usable: until the store is back, each process counts for
   * itself.
   */
  #reportFailure(error: unknown): void {
    const { log, name } = this.#options;
    if (!this.#isFailing)
      log?.warn(
        { err: error, channel: name },
        "the limits of a channel are counted in this process only, because the store is not available",
      );
    this.#isFailing = true;
  }
}

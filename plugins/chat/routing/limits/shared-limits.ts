/** A channel's limits per minute where others count with us: in the store that all share. */
import type { Logger } from "portico";
import type { Store, Take } from "portico/store";
import type { ChannelConfig } from "../../schema.ts";
import type { OverLimit } from "./rate-limit.ts";

const WINDOW_MS = 60_000;
/** Tokens are known when they are used: they count however many there are. */
const UNLIMITED = Number.MAX_SAFE_INTEGER;

/** The store, where it is shared. */
export type SharedCounts = () => Pick<Store, "take"> | undefined;

export interface SharedLimitsOptions {
  /** Of the channel. */
  name: string;
  limits: Pick<ChannelConfig, "requestsPerMinute" | "tokensPerMinute">;
  now: () => number;
  counts: SharedCounts;
  log?: Logger | undefined;
}

export class SharedLimits {
  readonly #options: SharedLimitsOptions;
  #refused: OverLimit | undefined;
  #charging: Promise<unknown> = Promise.resolve();
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
    return counts && this.#ask(counts);
  }

  /** Resolves when all who count together know of it. */
  used(tokens: number): Promise<void> | undefined {
    const counts = this.#options.counts();
    if (counts === undefined || tokens <= 0 || this.#options.limits.tokensPerMinute === undefined)
      return undefined;
    const charge = counts
      .take(this.#key("tokens"), tokens, UNLIMITED, WINDOW_MS)
      .then(() => {}, this.#failed);
    this.#charging = Promise.all([this.#charging, charge]);
    return charge;
  }

  async #ask({ take }: Pick<Store, "take">): Promise<OverLimit | undefined> {
    const { requestsPerMinute: requests, tokensPerMinute: tokens } = this.#options.limits;
    try {
      if (tokens !== undefined) {
        await this.#charging;
        const { remaining } = await take(this.#key("tokens"), 0, tokens, WINDOW_MS);
        // one that is refused takes nothing, and is told for how long
        if (remaining === 0)
          return this.#refuse(
            "tokensPerMinute",
            await take(this.#key("tokens"), 1, tokens, WINDOW_MS),
          );
      }
      if (requests !== undefined) {
        const taken = await take(this.#key("requests"), 1, requests, WINDOW_MS);
        if (!taken.allowed) return this.#refuse("requestsPerMinute", taken);
      }
      this.#isFailing = false;
    } catch (error) {
      this.#failed(error);
    }
    return undefined;
  }

  #refuse(name: OverLimit["name"], { retryAfterMs }: Take): OverLimit {
    this.#refused = { name, until: this.#options.now() + Math.max(1, retryAfterMs) };
    return this.#refused;
  }

  /** A channel is not lost with the store: until that is back, each counts for itself. */
  readonly #failed = (error: unknown): void => {
    const { log, name } = this.#options;
    if (!this.#isFailing)
      log?.warn({ err: error, channel: name }, "a channel's limits count in this process alone");
    this.#isFailing = true;
  };

  #key(what: string): string {
    return `channel:${this.#options.name}:${what}`;
  }
}

/** The types that the usage plugin shares with other plugins. */

declare module "portico" {
  interface Services {
    usage: UsageService;
  }
}

export interface UsageService {
  /**
   * Returns the cost of a client key since a time (in milliseconds, at a full minute) in US dollars, unwritten counts
   * included.
   */
  spent(key: string, since: number): Promise<number>;
  /** Returns whether the price of a channel's model is known: no budget limits a model without one. */
  hasPrice(target: { channel: string; provider: string; model: string }): Promise<boolean>;
  /** Writes all counts that wait. Never rejects: counts that cannot be written stay for the next flush. */
  flush(): Promise<void>;
}

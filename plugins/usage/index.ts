/** What the usage plugin shares with others. Types only. */

declare module "portico" {
  interface Services {
    usage: UsageService;
  }
}

export interface UsageService {
  /** What a client key has cost since a time (milliseconds, on a full minute), in US dollars; what is not yet in the store included. */
  spent(key: string, since: number): Promise<number>;
  /** Whether the price of a channel's model is known: what has none escapes every budget. */
  hasPrice(to: { channel: string; provider: string; model: string }): Promise<boolean>;
  /** Writes what waits. Never rejects: what could not be written waits on. */
  flush(): Promise<void>;
}

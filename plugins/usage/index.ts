/** What the usage plugin shares with others. Types only. */

declare module "portico" {
  interface Services {
    usage: UsageService;
  }
}

export interface UsageService {
  /** What a client key has cost since a time (milliseconds, on a full minute), in US dollars; what is not yet in the store included. */
  spent(key: string, since: number): Promise<number>;
  /** Writes what waits. Never rejects: what could not be written waits on. */
  flush(): Promise<void>;
}

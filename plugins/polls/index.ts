/** `portico/polls`: the types of the events of polls. */

declare module "portico" {
  interface Events {
    "poll:changed": PollChanged;
    "poll:failed": PollFailed;
  }
}

export interface PollChanged {
  pollId: string;
  name: string;
  /** The source's URL or path. */
  url: string;
  runId: string;
  changedAt: string;
  /** The number of new items; 1 for a source that is one text. */
  count: number;
  /** The first new items, oldest first, at most 50. */
  items: unknown[];
  /** For sources that are one text: the removed (`-`) and added (`+`) lines. */
  diff?: string;
}

/** Emitted for every failed check. */
export interface PollFailed {
  pollId: string;
  name: string;
  /** The source's URL or path. */
  url: string;
  runId: string;
  failedAt: string;
  error: string;
  /** The number of consecutive failures, including this one. */
  consecutiveErrors: number;
  /** The time of the next check, in ISO 8601; null if there is none. */
  nextCheckAt: string | null;
}

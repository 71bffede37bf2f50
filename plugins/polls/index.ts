/** `portico/polls`: the events of polls. Types only. */

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
  /** New items; 1 for a source that is one text. */
  count: number;
  /** The first of them, oldest first, at most 50. */
  items: unknown[];
  /** For sources that are one text: lines that went (`-`) and came (`+`). */
  diff?: string;
}

/** Every failed check has one. */
export interface PollFailed {
  pollId: string;
  name: string;
  /** The source's URL or path. */
  url: string;
  runId: string;
  failedAt: string;
  error: string;
  /** In a row, this one included. */
  consecutiveErrors: number;
  /** When it is tried again; `null` for never. */
  nextCheckAt: string | null;
}

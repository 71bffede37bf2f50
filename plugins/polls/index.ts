/** What polls share: their event. Types only. */

declare module "portico" {
  interface Events {
    "poll:changed": PollChanged;
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

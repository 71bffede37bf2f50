/** Usage of models: sums per minute, and blocks of single requests. Times are milliseconds since 1970. */

export interface UsageRecord {
  at?: number;
  channel?: string;
  model?: string;
  /** The client key; absent for the owner. */
  key?: string;
  /** The model as the client named it. */
  alias?: string;
  /** The principal on whose behalf the request was made: `owner`, `key:ci`, `webhook:shop`. */
  principal?: string;
  promptTokens?: number;
  completionTokens?: number;
  cachedTokens?: number;
  /** The cost in the currency of the configured prices. */
  cost?: number;
  /** Default 1. */
  requests?: number;
  errors?: number;
  /** Responses whose upstream reported no usage. */
  unmetered?: number;
  /** Responses whose price is not known, so that no sum contains their cost. */
  unpriced?: number;
  /** Responses whose tokens are estimated. */
  estimated?: number;
  /** The duration of all requests together, in whole milliseconds. */
  durationMs?: number;
  /** The durations of the requests: a count for each bucket of `TIME_BOUNDS_MS`, and one for longer durations. */
  durations?: readonly number[];
  /** The same counts of the time to the first byte of the response, for the requests that have one. */
  firstBytes?: readonly number[];
  /** If set, the record adds to the sums of this tag, and not to those of all requests. */
  tag?: string;
}

export interface UsageFilter {
  since?: number;
  until?: number;
  channel?: string;
  model?: string;
  key?: string;
  tag?: string;
  alias?: string;
  principal?: string;
  by?: readonly UsageGroup[];
  /** If true, the result also sums `durations` and `firstBytes`, which takes longer. */
  withTimes?: boolean;
}

export type UsageGroup =
  | "channel"
  | "model"
  | "key"
  | "alias"
  | "principal"
  | "tag"
  | "minute"
  | "hour"
  | "day";

export interface UsageSum {
  channel?: string;
  model?: string;
  key?: string;
  tag?: string;
  alias?: string;
  principal?: string;
  /** The beginning of the minute, hour or day (UTC). */
  at?: number;
  requests: number;
  errors: number;
  promptTokens: number;
  completionTokens: number;
  cachedTokens: number;
  cost: number;
  unmetered: number;
  unpriced: number;
  estimated: number;
  durationMs: number;
  /** As in `UsageRecord`; only with `withTimes`. Neither counts the requests that an older version wrote. */
  durations?: number[];
  firstBytes?: number[];
}

/** Requests as lines of text. Only the writer knows their format. */
export interface NewRequestBlock {
  /** The number of requests in the block. */
  requests: number;
  /** The earliest time of a request in the block; `lastAt` is the latest. */
  firstAt: number;
  lastAt: number;
  lines: string;
}

export interface RequestBlock extends NewRequestBlock {
  /** The number of its last request. All gateways with the same store number their requests in one sequence. */
  number: number;
}

export interface NewRequests {
  blocks: readonly NewRequestBlock[];
  /** The number of newest requests to keep. A block is kept or removed as a whole. */
  keep: number;
}

export interface RequestRange {
  since: number;
  /** The end of the range, inclusive. */
  until: number;
  /** If set, only the blocks after this one in the list. */
  after?: Pick<RequestBlock, "lastAt" | "number"> | undefined;
  least: number;
}

/** Usage of models: sums per minute, and blocks of single requests. Times are milliseconds since 1970. */

export interface UsageRecord {
  at?: number;
  channel?: string;
  model?: string;
  /** The client key; absent for the owner. */
  key?: string;
  /** The model as the client named it. */
  alias?: string;
  /** On whose behalf: `owner`, `key:ci`, `webhook:shop`. */
  principal?: string;
  promptTokens?: number;
  completionTokens?: number;
  cachedTokens?: number;
  /** In whatever currency prices are given. */
  cost?: number;
  /** Default 1. */
  requests?: number;
  errors?: number;
  /** Responses whose upstream reported no usage. */
  unmetered?: number;
  /** Responses whose price is not known: their cost is in no sum. */
  unpriced?: number;
  /** Responses whose tokens are estimated. */
  estimated?: number;
  /** Of all requests together, whole milliseconds. */
  durationMs?: number;
  /** How many requests took how long: a count for each of `TIME_BOUNDS_MS`, and one for what is longer. */
  durations?: readonly number[];
  /** The same for the time until the first byte of the response, of the requests that have one. */
  firstBytes?: readonly number[];
  /** Adds to the sums of this tag, and not to those of all requests. */
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
  /** Sums `durations` and `firstBytes` too, which takes longer. */
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
  /** As in `UsageRecord`; only with `withTimes`. Requests that an older version wrote are in neither. */
  durations?: number[];
  firstBytes?: number[];
}

/** Requests as lines of text, one after the other: what is in them is the writer's affair. */
export interface NewRequestBlock {
  /** How many. */
  requests: number;
  /** The earliest time among them, and the latest. */
  firstAt: number;
  lastAt: number;
  lines: string;
}

export interface RequestBlock extends NewRequestBlock {
  /** That of its last request: all requests of a store are numbered, whichever gateway writes them. */
  number: number;
}

export interface NewRequests {
  blocks: readonly NewRequestBlock[];
  /** So many of the newest stay, and what else is in their blocks. */
  keep: number;
}

export interface RequestRange {
  since: number;
  /** Included. */
  until: number;
  /** Only what comes after this block. */
  after?: Pick<RequestBlock, "lastAt" | "number"> | undefined;
  least: number;
}

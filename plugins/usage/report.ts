/** The report of `GET /usage`. */
import { addTimes, emptyTimes, type Store, type UsageSum } from "portico/store";
import { percentile } from "./percentile.ts";
import { roundUsd } from "./prices.ts";
import type { Group, UsageQuery } from "./range.ts";

export interface Amounts {
  requests: number;
  errors: number;
  promptTokens: number;
  completionTokens: number;
  totalTokens: number;
  /** The prompt tokens that the provider read from its cache. */
  cachedTokens: number;
  /** The cost of the responses whose price is known, in US dollars; null if none is known. */
  costUsd: number | null;
  /** Responses whose upstream reported no usage. */
  unmetered: number;
  /** Responses whose price is unknown. */
  unpriced: number;
  /** Responses whose tokens are estimated: the upstream sent no plausible count, or the client disconnected. */
  estimated: number;
  /** The average duration of a request; null if no request has a known duration. */
  averageMs: number | null;
  /** The median and the 95th percentile of the durations, interpolated within a bucket; null if no duration is counted. */
  p50Ms: number | null;
  p95Ms: number | null;
  /** The median and the 95th percentile of the time until the first byte of the response. */
  firstByteP50Ms: number | null;
  firstByteP95Ms: number | null;
}
export type Row = Amounts & {
  model?: string;
  channel?: string;
  key?: string | null;
  alias?: string;
  principal?: string;
  tag?: string;
  day?: string;
  hour?: string;
};

export interface Report {
  /** ISO times. */
  from: string;
  to: string;
  by: Group[];
  rows: Row[];
  total: Amounts;
}

export async function report(store: Store, query: UsageQuery): Promise<Report> {
  const { from, to, by, filter } = query;
  const range = { since: from, until: to + 1 };
  const sums = await store.usage.sum({ ...filter, ...range, by, withTimes: true });
  const rows = by.length === 0 ? [] : sums.map((sum) => rowOf(sum, by));
  if (!by.includes("day") && !by.includes("hour"))
    rows.sort((a, b) => (b.costUsd ?? 0) - (a.costUsd ?? 0) || b.requests - a.requests);
  const total = amountsOf(undefined);
  const costs = sums.reduce((total, { cost }) => total + cost, 0);
  for (const sum of sums) {
    const amounts = amountsOf(sum);
    for (const key of COUNTS) total[key] += amounts[key];
  }
  total.costUsd = knownCost(costs, total.unpriced);
  const durations = sums.reduce((total, { durationMs }) => total + durationMs, 0);
  total.averageMs = average(durations, total.requests);
  Object.assign(total, percentilesOf(timesOf(sums)));
  return { from: new Date(from).toISOString(), to: new Date(to).toISOString(), by, rows, total };
}

function rowOf(sum: UsageSum, by: readonly Group[]): Row {
  const at = sum.at === undefined ? "" : new Date(sum.at).toISOString();
  return {
    day: by.includes("day") ? at.slice(0, 10) : undefined,
    hour: by.includes("hour") ? `${at.slice(0, 16)}Z` : undefined,
    channel: by.includes("channel") ? (sum.channel ?? "") : undefined,
    model: by.includes("model") ? (sum.model ?? "") : undefined,
    // The owner has no key.
    key: by.includes("key") ? sum.key || null : undefined,
    alias: by.includes("alias") ? (sum.alias ?? "") : undefined,
    principal: by.includes("principal") ? (sum.principal ?? "") : undefined,
    tag: by.includes("tag") ? (sum.tag ?? "") : undefined,
    ...amountsOf(sum),
  };
}

function amountsOf(sum: UsageSum | undefined): Amounts {
  const promptTokens = sum?.promptTokens ?? 0;
  const completionTokens = sum?.completionTokens ?? 0;
  return {
    requests: sum?.requests ?? 0,
    errors: sum?.errors ?? 0,
    promptTokens,
    completionTokens,
    totalTokens: promptTokens + completionTokens,
    cachedTokens: sum?.cachedTokens ?? 0,
    costUsd: knownCost(sum?.cost ?? 0, sum?.unpriced ?? 0),
    unmetered: sum?.unmetered ?? 0,
    unpriced: sum?.unpriced ?? 0,
    estimated: sum?.estimated ?? 0,
    averageMs: average(sum?.durationMs ?? 0, sum?.requests ?? 0),
    ...percentilesOf(sum),
  };
}

type Times = Pick<UsageSum, "durations" | "firstBytes">;

/** Adds the time buckets of all rows. */
function timesOf(sums: readonly UsageSum[]): Times {
  const [durations, firstBytes] = [emptyTimes(), emptyTimes()];
  for (const sum of sums) {
    addTimes(durations, sum.durations ?? []);
    addTimes(firstBytes, sum.firstBytes ?? []);
  }
  return { durations, firstBytes };
}

function percentilesOf({ durations = [], firstBytes = [] }: Times = {}) {
  return {
    p50Ms: percentile(durations, 0.5),
    p95Ms: percentile(durations, 0.95),
    firstByteP50Ms: percentile(firstBytes, 0.5),
    firstByteP95Ms: percentile(firstBytes, 0.95),
  };
}

const COUNTS = [
  "requests",
  "errors",
  "promptTokens",
  "completionTokens",
  "totalTokens",
  "cachedTokens",
  "unmetered",
  "unpriced",
  "estimated",
] as const;

/** Returns null for sums that an older version wrote: they have no durations. */
function average(durationMs: number, requests: number): number | null {
  return durationMs === 0 || requests === 0 ? null : Math.round(durationMs / requests);
}

/** Returns the cost, or null if all of it is unknown: that is not zero. */
function knownCost(usd: number, unpriced: number): number | null {
  return usd === 0 && unpriced > 0 ? null : roundUsd(usd);
}

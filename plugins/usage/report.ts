/** Sums for people and programs. */
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
  /** Of the prompt's, those that the provider had in its cache. */
  cachedTokens: number;
  /** Of those responses whose price is known; null where none has a known one. */
  costUsd: number | null;
  /** Responses whose upstream reported no usage. */
  unmetered: number;
  /** Answers whose price is not known. */
  unpriced: number;
  /** Responses whose tokens are estimated: the upstream sent no plausible count, or the client left. */
  estimated: number;
  /** How long a request took on average; null where no request has a known time. */
  averageMs: number | null;
  /** Half of the requests took no longer, and 95 of 100; null where no time is counted. Estimates within a bucket. */
  p50Ms: number | null;
  p95Ms: number | null;
  /** The same for the time until the first byte of the response. */
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
  const costs = sums.reduce((all, { cost }) => all + cost, 0);
  for (const sum of sums) {
    const amounts = amountsOf(sum);
    for (const key of COUNTS) total[key] += amounts[key];
  }
  total.costUsd = known(costs, total.unpriced);
  const durations = sums.reduce((all, { durationMs }) => all + durationMs, 0);
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
    costUsd: known(sum?.cost ?? 0, sum?.unpriced ?? 0),
    unmetered: sum?.unmetered ?? 0,
    unpriced: sum?.unpriced ?? 0,
    estimated: sum?.estimated ?? 0,
    averageMs: average(sum?.durationMs ?? 0, sum?.requests ?? 0),
    ...percentilesOf(sum),
  };
}

type Times = Pick<UsageSum, "durations" | "firstBytes">;

/** The counts of all rows together. */
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

/** Sums that an older version wrote have no times. */
function average(durationMs: number, requests: number): number | null {
  return durationMs === 0 || requests === 0 ? null : Math.round(durationMs / requests);
}

/** An unknown cost is not zero. */
function known(usd: number, unpriced: number): number | null {
  return usd === 0 && unpriced > 0 ? null : roundUsd(usd);
}

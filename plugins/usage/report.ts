/** Sums for people and programs. */
import type { Store, UsageSum } from "portico/store";
import { rounded } from "./prices.ts";
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
  /** Answers whose upstream told no usage. */
  unmetered: number;
  /** Answers whose price is not known. */
  unpriced: number;
  /** Responses whose tokens are estimated: the upstream sent no plausible count, or the client left. */
  estimated: number;
  /** How long a request took on average; null where no request has a known time. */
  averageMs: number | null;
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
  const sums = await store.usage.sum({ ...filter, since: from, until: to + 1, by });
  const rows = by.length === 0 ? [] : sums.map((sum) => rowOf(sum, by));
  if (!by.includes("day") && !by.includes("hour"))
    rows.sort((a, b) => (b.costUsd ?? 0) - (a.costUsd ?? 0) || b.requests - a.requests);
  const total = amountsOf(undefined);
  const costs = sums.reduce((all, { cost }) => all + cost, 0);
  for (const sum of sums) {
    const one = amountsOf(sum);
    for (const key of COUNTS) total[key] += one[key];
  }
  total.costUsd = known(costs, total.unpriced);
  const durations = sums.reduce((all, { durationMs }) => all + durationMs, 0);
  total.averageMs = average(durations, total.requests);
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
  return usd === 0 && unpriced > 0 ? null : rounded(usd);
}

/**
 * Metrics of chat by channel, counted when each request ends. There is no label for models, because clients choose their
 * names without limit.
 */
import type { ChatRecord } from "portico/models";
import type { MetricFamily, MetricSource } from "portico/metrics";
import { counter } from "./families.ts";
import { createHistogram, type Histogram, observe, toSamples } from "./histogram.ts";

interface Tally {
  statuses: Map<number, number>;
  duration: Histogram;
  firstByte: Histogram;
  prompt: number;
  cached: number;
  completion: number;
  cost: number;
  /** The number of responses whose price is unknown. */
  unpriced: number;
}

/** The usage of a client key. The owner names the keys, so there are few. */
interface KeyTally {
  statuses: Map<number, number>;
  tokens: number;
  cost: number;
}

export interface ChatCounts extends MetricSource {
  finished(record: ChatRecord): void;
}

/** The counts as plain data, which survives a reload of the plugin. */
export interface ChatTallies {
  channels: Map<string, Tally>;
  keys: Map<string, KeyTally>;
}

export function emptyTallies(): ChatTallies {
  return { channels: new Map(), keys: new Map() };
}

export function createChatCounts({ channels, keys }: ChatTallies): ChatCounts {
  function getTally(channel: string): Tally {
    const tally = channels.get(channel) ?? emptyTally();
    channels.set(channel, tally);
    return tally;
  }

  function countKey({ client, status, usage, cost }: ChatRecord): void {
    if (client.kind !== "key" || client.key === undefined) return;
    const tally = keys.get(client.key) ?? { statuses: new Map(), tokens: 0, cost: 0 };
    keys.set(client.key, tally);
    tally.statuses.set(status, (tally.statuses.get(status) ?? 0) + 1);
    tally.tokens += usage?.total_tokens || 0;
    tally.cost += cost ?? 0;
  }

  return {
    name: "chat",
    finished(record) {
      const { channel, status, ms, firstByteMs, usage, cost } = record;
      countKey(record);
      const tally = getTally(channel);
      tally.statuses.set(status, (tally.statuses.get(status) ?? 0) + 1);
      observe(tally.duration, ms / 1000);
      if (firstByteMs !== undefined) observe(tally.firstByte, firstByteMs / 1000);
      if (usage === undefined) return;
      tally.prompt += usage.prompt_tokens || 0;
      tally.completion += usage.completion_tokens || 0;
      tally.cached += usage.prompt_tokens_details?.cached_tokens || 0;
      if (cost === undefined) tally.unpriced++;
      else tally.cost += cost;
    },
    collect: () => [...channelFamilies(channels), ...keyFamilies(keys), ...timeFamilies(channels)],
  };
}

function emptyTally(): Tally {
  return {
    statuses: new Map(),
    duration: createHistogram(),
    firstByte: createHistogram(),
    prompt: 0,
    cached: 0,
    completion: 0,
    cost: 0,
    unpriced: 0,
  };
}

type LabelledValue = [number, Record<string, string>];

function channelFamilies(channels: ReadonlyMap<string, Tally>): MetricFamily[] {
  const all = [...channels];
  const requests = all.flatMap(([channel, { statuses }]) =>
    [...statuses].map(([status, n]): LabelledValue => [n, { channel, status: String(status) }]),
  );
  const tokens = all.flatMap(([channel, { prompt, cached, completion }]): LabelledValue[] => [
    [prompt, { channel, type: "prompt" }],
    [cached, { channel, type: "cached" }],
    [completion, { channel, type: "completion" }],
  ]);
  const costs = all.map(([channel, { cost }]): LabelledValue => [cost, { channel }]);
  const unpriced = all.map(([channel, tally]): LabelledValue => [tally.unpriced, { channel }]);
  return [
    counter(
      "portico_chat_requests_total",
      "Finished chat requests, by the channel of the last attempt (empty: no channel matched) and status (499: the client disconnected).",
      ...requests,
    ),
    counter(
      "portico_chat_tokens_total",
      "Tokens as the upstreams report them. Prompt tokens include cached ones.",
      ...tokens,
    ),
    counter(
      "portico_chat_cost_usd_total",
      "Costs in US dollars at list prices; responses without a known price are not counted.",
      ...costs,
    ),
    counter(
      "portico_chat_unpriced_total",
      "Responses whose tokens have no known price. Budgets do not count these responses.",
      ...unpriced,
    ),
  ];
}

function timeFamilies(channels: ReadonlyMap<string, Tally>): MetricFamily[] {
  const histogramSamples = (name: "duration" | "firstByte") =>
    [...channels].flatMap(([channel, tally]) => toSamples(tally[name], { channel }));
  return [
    {
      name: "portico_chat_duration_seconds",
      type: "histogram",
      help: "Time from a chat request to the end of its response.",
      samples: histogramSamples("duration"),
    },
    {
      name: "portico_chat_first_byte_seconds",
      type: "histogram",
      help: "Time from a chat request to the first byte of its response.",
      samples: histogramSamples("firstByte"),
    },
  ];
}

function keyFamilies(keys: ReadonlyMap<string, KeyTally>): MetricFamily[] {
  const all = [...keys];
  const samplesOf = (value: (tally: KeyTally) => number) =>
    all.map(([key, tally]): [number, Record<string, string>] => [value(tally), { key }]);
  return [
    counter(
      "portico_key_requests_total",
      "Requests that reached a model, by client key and status.",
      ...all.flatMap(([key, { statuses }]) =>
        [...statuses].map(([status, n]): [number, Record<string, string>] => [
          n,
          { key, status: String(status) },
        ]),
      ),
    ),
    counter(
      "portico_key_tokens_total",
      "Prompt and completion tokens of a client key.",
      ...samplesOf(({ tokens }) => tokens),
    ),
    counter(
      "portico_key_cost_usd_total",
      "Costs in US dollars at list prices; responses without a known price are not counted.",
      ...samplesOf(({ cost }) => cost),
    ),
  ];
}

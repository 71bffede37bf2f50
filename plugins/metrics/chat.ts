/** Chat by channel, counted as each request ends. Models stay out: clients choose their names, so there is no end of them. */
import type { ChatRecord } from "portico/chat";
import type { MetricFamily, MetricSource } from "portico/metrics";
import { counter } from "./families.ts";
import { createHistogram, type Histogram, observe, samplesOf } from "./histogram.ts";

interface Tally {
  statuses: Map<number, number>;
  duration: Histogram;
  firstByte: Histogram;
  prompt: number;
  cached: number;
  completion: number;
}

export interface ChatCounts extends MetricSource {
  finished(record: ChatRecord): void;
}

export function createChatCounts(): ChatCounts {
  const channels = new Map<string, Tally>();

  function tallyOf(channel: string): Tally {
    let tally = channels.get(channel);
    if (!tally) {
      tally = {
        statuses: new Map(),
        duration: createHistogram(),
        firstByte: createHistogram(),
        prompt: 0,
        cached: 0,
        completion: 0,
      };
      channels.set(channel, tally);
    }
    return tally;
  }

  return {
    name: "chat",
    finished({ channel, status, ms, firstByteMs, usage }) {
      const tally = tallyOf(channel);
      tally.statuses.set(status, (tally.statuses.get(status) ?? 0) + 1);
      observe(tally.duration, ms / 1000);
      if (firstByteMs !== undefined) observe(tally.firstByte, firstByteMs / 1000);
      if (usage === undefined) return;
      tally.prompt += usage.prompt_tokens || 0;
      tally.completion += usage.completion_tokens || 0;
      tally.cached += usage.prompt_tokens_details?.cached_tokens || 0;
    },
    collect(): MetricFamily[] {
      const all = [...channels];
      const each = (name: "duration" | "firstByte") =>
        all.flatMap(([channel, tally]) => samplesOf(tally[name], { channel }));
      return [
        counter(
          "portico_chat_requests_total",
          "Chat requests that ended, by the channel of the last attempt (empty: none was found) and status (499: the client left).",
          ...all.flatMap(([channel, { statuses }]) =>
            [...statuses].map(([status, n]): [number, Record<string, string>] => [
              n,
              { channel, status: String(status) },
            ]),
          ),
        ),
        counter(
          "portico_chat_tokens_total",
          "Tokens as the upstreams told them. Cached ones are part of the prompt's.",
          ...all.flatMap(
            ([channel, { prompt, cached, completion }]): [number, Record<string, string>][] => [
              [prompt, { channel, type: "prompt" }],
              [cached, { channel, type: "cached" }],
              [completion, { channel, type: "completion" }],
            ],
          ),
        ),
        {
          name: "portico_chat_duration_seconds",
          type: "histogram",
          help: "Time from a chat request to the end of its answer.",
          samples: each("duration"),
        },
        {
          name: "portico_chat_first_byte_seconds",
          type: "histogram",
          help: "Time from a chat request to the first byte of its answer.",
          samples: each("firstByte"),
        },
      ];
    },
  };
}

/** Passes the outcome of each request to the meters, without its content. */
import type { Logger } from "portico";
import type { ChatMeter, ChatRecord } from "portico/models";
import type { Usage } from "portico/provider";
import type { ChatResponse } from "../chat-response.ts";
import type { Job } from "../job.ts";
import type { Engine } from "../routing/attempts.ts";
import { countedUsage, type Output } from "./usage.ts";

/** The end of a request, beside what the job knows. */
interface End {
  status: number;
  /** The upstream's own numbers. */
  usage?: Usage | undefined;
  /** The received part of the response; absent if none began. */
  output?: Output | undefined;
  firstByteMs?: number | undefined;
}

/** Everything that counts requests. */
interface Counters {
  engine: Pick<Engine, "spending" | "log">;
  meters(): readonly ChatMeter[];
}

/**
 * The one place where the usage of a request is settled: read or estimated, priced, charged to the limits that it counts
 * against, and handed to all meters. Where it returns a promise, the response's end waits for that; it never rejects.
 */
export type Meter = (end: End) => Promise<unknown> | undefined;

/** `operation` is the route if it is not chat. Undefined if nothing counts the request. */
export function meterFor(counters: Counters, job: Job, operation?: string): Meter | undefined {
  const { engine } = counters;
  job.account = engine.spending.open(job, operation);
  if (counters.meters().length === 0 && job.account === undefined) return undefined;
  job.metered = true;
  return (end) => {
    const { status, output } = end;
    const usage = countedUsage(job, end.usage, { status, output, operation });
    const settleAll = (cost: number | undefined) => {
      job.cost = cost;
      const settling = job.account?.settle(usage, cost);
      const record = recordOf(job, { ...end, usage }, { operation, cost });
      job.story.record = record;
      // The meters are read here, at the end, because a plugin that was reloaded in the meantime counts with its new version.
      const counting = counters.meters().map((meter) => notify(meter, record, engine.log));
      const promises = [settling, ...counting].filter((promise) => promise !== undefined);
      return promises.length === 0 ? undefined : Promise.all(promises);
    };
    const cost = costOf(counters, job, usage);
    return cost instanceof Promise ? cost.then(settleAll) : settleAll(cost);
  };
}

/** Undefined where the price is not known, or nothing was used. */
function costOf(
  { engine }: Counters,
  { trace }: Job,
  usage: Usage | undefined,
): number | undefined | Promise<number | undefined> {
  if (trace.cache === "hit") return 0;
  const { pricing } = engine.spending.services;
  if (usage === undefined) return undefined;
  const { channel, provider, model } = trace;
  try {
    const cost = pricing()?.costOf({ channel, provider, model }, usage);
    return cost instanceof Promise ? cost.catch((error: unknown) => unpriced(error)) : cost;
  } catch (error) {
    return unpriced(error);
  }

  function unpriced(error: unknown): undefined {
    engine.log.error({ err: error }, "the cost of a request could not be calculated");
    return undefined;
  }
}

function recordOf(
  job: Job,
  { status, usage, firstByteMs }: End,
  { operation, cost }: { operation: string | undefined; cost: number | undefined },
): ChatRecord {
  const { trace } = job;
  return {
    requestId: job.requestId,
    operation,
    client: job.client,
    channel: trace.channel,
    provider: trace.provider,
    model: trace.model,
    status,
    usage,
    cost,
    ms: performance.now() - job.startedAt,
    firstByteMs,
    attempts: trace.attempts,
    stream: job.stream,
    composite: trace.composite,
    cached: trace.cache === "hit",
    traceparent: job.traceparent,
    tags: job.tags,
    story: job.story,
  };
}

/** A meter that fails must not cost the client its response. */
function notify(meter: ChatMeter, record: ChatRecord, log: Logger): Promise<unknown> | undefined {
  const failed = (error: unknown) => log.error({ err: error, meter: meter.name }, "a meter failed");
  try {
    const counting = meter.finished(record);
    return counting instanceof Promise ? counting.catch(failed) : undefined;
  } catch (error) {
    failed(error);
    return undefined;
  }
}

/** The upstream's own usage of a whole response. */
export function usageOf(response: ChatResponse): Usage | undefined {
  return response.completion?.usage ?? response.usage;
}

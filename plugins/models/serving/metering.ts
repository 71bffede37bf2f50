/** Passes the outcome of each request to the meters, without its content. */
import type { Logger } from "portico";
import type { ChatMeter, ChatRecord } from "portico/models";
import type { Usage } from "portico/provider";
import type { ChatResponse } from "../chat-response.ts";
import type { Job } from "../job.ts";
import type { Engine } from "../routing/attempts.ts";
import { countedUsage, type Output } from "./usage.ts";

/** The end of a request, in addition to the members of the job. */
interface End {
  status: number;
  /** The usage that the upstream reported. */
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
 * Settles the usage of a request, and is the only place that does: reads or estimates it, prices it, charges it to the
 * limits that it counts against, and passes it to all meters. If it returns a promise, the end of the response waits
 * for it; the promise never rejects.
 */
export type Meter = (end: End) => Promise<unknown> | undefined;

/**
 * Creates the meter of a job. `operation` is the route; undefined for chat. Returns undefined if nothing counts the
 * request.
 */
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

/** Returns undefined if the price is not known, or nothing was used. */
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
    return cost instanceof Promise ? cost.catch((error: unknown) => logUnpriced(error)) : cost;
  } catch (error) {
    return logUnpriced(error);
  }

  function logUnpriced(error: unknown): undefined {
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
  const logFailure = (error: unknown) =>
    log.error({ err: error, meter: meter.name }, "a plugin could not count a finished request");
  try {
    const counting = meter.finished(record);
    return counting instanceof Promise ? counting.catch(logFailure) : undefined;
  } catch (error) {
    logFailure(error);
    return undefined;
  }
}

/** The upstream's own usage of a whole response. */
export function usageOf(response: ChatResponse): Usage | undefined {
  return response.completion?.usage ?? response.usage;
}

/** Tells meters what each request came to, without a look at its content. */
import type { Logger } from "portico";
import type { ChatMeter, ChatRecord, Usage } from "portico/chat";
import type { ChatResponse, Job } from "../job.ts";

/** What is known at the end of a request beside what the job knows. */
interface End {
  status: number;
  usage?: Usage | undefined;
  firstByteMs?: number | undefined;
}

/** Tells all meters. Where it returns a promise, the response's end waits for that; it never rejects. */
export type Meter = (end: End) => Promise<unknown> | undefined;

/** Undefined where there are no meters. */
export function meterFor(
  meters: readonly ChatMeter[],
  job: Job,
  log: Logger,
  operation?: string,
): Meter | undefined {
  if (meters.length === 0) return undefined;
  job.metered = true;
  return (end) => {
    const { trace } = job;
    const cached = trace.cache === "hit";
    const record: ChatRecord = {
      requestId: job.requestId,
      operation,
      client: job.client,
      channel: trace.channel,
      provider: trace.provider,
      model: trace.model,
      status: end.status,
      usage: trace.composite || cached ? undefined : end.usage,
      ms: performance.now() - job.startedAt,
      firstByteMs: end.firstByteMs,
      attempts: trace.attempts,
      stream: job.stream,
      composite: trace.composite,
      cached,
      traceparent: job.traceparent,
    };
    let counted: Promise<unknown> | undefined;
    for (const meter of meters) {
      const counting = tell(meter, record, log);
      if (counting !== undefined)
        counted = counted === undefined ? counting : Promise.all([counted, counting]);
    }
    return counted;
  };
}

/** The response is there: nobody shall lose it over its counting. */
function tell(meter: ChatMeter, record: ChatRecord, log: Logger): Promise<unknown> | undefined {
  try {
    const counting = meter.finished(record);
    return counting instanceof Promise ? safe(counting, meter, log) : undefined;
  } catch (error) {
    failed(error, meter, log);
    return undefined;
  }
}

function safe(counting: Promise<unknown>, meter: ChatMeter, log: Logger): Promise<unknown> {
  return counting.catch((error: unknown) => failed(error, meter, log));
}

function failed(error: unknown, { name }: ChatMeter, log: Logger): void {
  log.error({ err: error, meter: name }, "a meter failed");
}

/** The usage of a whole response, as the upstream gave it. */
export function usageOf(response: ChatResponse): Usage | undefined {
  return response.completion?.usage ?? response.usage;
}

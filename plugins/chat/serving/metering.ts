/** Tells meters what each request came to, without a look at its content. */
import type { Logger } from "portico";
import type { ChatMeter, ChatRecord, Usage } from "portico/chat";
import type { ChatResponse, Job } from "../job.ts";

/** What is known at the end of a request beside what the job knows. */
export interface End {
  status: number;
  usage?: Usage | undefined;
  firstByteMs?: number | undefined;
}

/** Tells all meters; undefined where there are none. */
export function meterFor(meters: readonly ChatMeter[], job: Job, log: Logger): ((end: End) => void) | undefined {
  if (meters.length === 0) return undefined;
  job.metered = true;
  return (end) => {
    const { trace } = job;
    const cached = trace.cache === "hit";
    const record: ChatRecord = {
      requestId: job.requestId,
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
    };
    for (const meter of meters) {
      try {
        meter.finished(record);
      } catch (error) {
        // The response is there: nobody shall lose it over its counting.
        log.error({ err: error, meter: meter.name }, "a meter failed");
      }
    }
  };
}

/** The usage of a whole response, as the upstream gave it. */
export function usageOf(response: ChatResponse): Usage | undefined {
  return response.completion?.usage;
}

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
    const record: ChatRecord = {
      requestId: job.requestId,
      client: job.client,
      channel: trace.channel,
      provider: trace.provider,
      model: trace.model,
      status: end.status,
      usage: trace.composite ? undefined : end.usage,
      ms: performance.now() - job.startedAt,
      firstByteMs: end.firstByteMs,
      attempts: trace.attempts,
      stream: job.stream,
      composite: trace.composite,
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

/**
 * The last `"usage": {…}` of a response's JSON text. Inside a string its quotes would be escaped, so that what a model
 * says cannot be taken for it.
 */
export function usageIn(text: string): Usage | undefined {
  const at = text.lastIndexOf('"usage"');
  if (at === -1) return undefined;
  const from = text.indexOf("{", at);
  if (from === -1 || !/^\s*:\s*$/.test(text.slice(at + 7, from))) return undefined;
  let depth = 0;
  for (let i = from; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code === 123) depth++;
    else if (code === 125 && --depth === 0) return parsed(text.slice(from, i + 1));
  }
  return undefined;
}

function parsed(text: string): Usage | undefined {
  try {
    return JSON.parse(text) as Usage;
  } catch {
    return undefined;
  }
}

const OPTION = Buffer.from(',"stream_options":{"include_usage":true}}');

/** A request's bytes with `stream_options.include_usage` set; undefined where they have stream options already. */
export function askingForUsage(bytes: Buffer, options: unknown): Buffer | undefined {
  if (options !== undefined) return undefined;
  const at = bytes.lastIndexOf(125);
  return at === -1 ? undefined : Buffer.concat([bytes.subarray(0, at), OPTION]);
}

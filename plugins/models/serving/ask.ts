/** Emits the events before and after a request and reports its end, for HTTP callers, the agent and hooks alike. */
import { isDeepStrictEqual } from "node:util";
import { type EmitResult, isPorticoError } from "portico";
import type { ChatCompletion, Usage } from "portico/provider";
import { type ChatResponse, completionOf } from "../chat-response.ts";
import type { Emitter } from "../events.ts";
import type { Job } from "../job.ts";
import { type ByteStream, type PartStream, wrapFlow } from "../streams/flow.ts";
import { SentParts } from "./sent-parts.ts";
import { outputOf, StreamedBytes } from "./usage.ts";
import { type Meter, usageOf } from "./metering.ts";
import { readRequest } from "../openai/read-request.ts";

/** The outcome of a job, for `chat:response` and `message:sent`. */
export interface Report {
  status: number;
  content?: string;
  finishReason?: string;
  usage?: Usage;
  firstByteMs?: number;
  error?: string;
}

/** Emits `chat:request`. Validates a request that a handler changed, and returns a handler's reply. */
export async function offerRequest(events: Emitter, job: Job): Promise<string | undefined> {
  const client = job.client.key;
  const result: EmitResult<"chat:request"> = await events.emit(
    "chat:request",
    { request: job.request, stream: job.stream, client },
    job.emitOptions,
  );
  if (result.refusal) throw result.refusal;
  if (result.reply !== undefined) return [...result.messages, result.reply].join("\n\n");
  const { request } = result.context;
  // Handlers get copies, so a different object may have the same content.
  if (isDeepStrictEqual(request, job.request)) return undefined;
  const parsed = readRequest(request);
  job.request = parsed.request;
  if (parsed.fallbacks.length > 0) job.fallbacks = parsed.fallbacks;
  job.raw = undefined;
  job.native = undefined;
  return undefined;
}

/** Sends the request, and returns the beginning of the response. */
export type SendRequest = () => Promise<ChatResponse>;

/** Requests a response and reports its end. */
export async function requestResponse(
  send: SendRequest,
  job: Job,
  onEnd: ((report: Report) => void) | undefined,
  meter: Meter | undefined,
): Promise<ChatResponse> {
  const end = new JobEnd(job, onEnd, meter);
  try {
    const response = await send();
    await end.recordSuccess(response);
    return response;
  } catch (error) {
    await end.recordFailure(error);
    throw error;
  }
}

/**
 * Reports a job's end to `onEnd` and `meter` exactly once: for a whole response at once, for a stream when it has ended.
 * `onEnd` needs the whole response to be parsed, `meter` only its usage.
 */
export class JobEnd {
  readonly #job: Job;
  readonly #onEnd: ((report: Report) => void) | undefined;
  readonly #meter: Meter | undefined;
  /** The response has begun: later failures are part of it, or do not concern it. */
  #hasBegun = false;

  constructor(job: Job, onEnd: ((report: Report) => void) | undefined, meter: Meter | undefined) {
    this.#job = job;
    this.#onEnd = onEnd;
    this.#meter = meter;
  }

  /** Handles a response that has begun. If this returns a promise, the response must wait for it. */
  recordSuccess(response: ChatResponse): Promise<unknown> | undefined {
    this.#hasBegun = true;
    const onEnd = this.#onEnd;
    const meter = this.#meter;
    const { stream, bytes, firstByteMs } = response;
    if (stream !== undefined || bytes !== undefined) {
      const isWatched = onEnd !== undefined || meter !== undefined;
      if (!isWatched && this.#job.story.content === undefined) return undefined;
      if (stream !== undefined) response.stream = this.#watchStream(stream, firstByteMs);
      else if (bytes !== undefined) response.bytes = this.#watchBytes(bytes, firstByteMs);
      return undefined;
    }
    const { content } = this.#job.story;
    if (content !== undefined) content.response = completionOf(response).choices;
    onEnd?.({ status: 200, firstByteMs, ...reportOf(completionOf(response)) });
    const output = outputOf(sizeOf(response), () => completionOf(response));
    return meter?.({ status: 200, firstByteMs, usage: usageOf(response), output });
  }

  async recordFailure(error: unknown): Promise<void> {
    if (this.#hasBegun) return;
    const status = statusOf(error, this.#job);
    this.#job.story.setFailure(error);
    await this.#meter?.({ status, usage: this.#job.refusedUsage });
    this.#onEnd?.({ status, error: messageOf(error) });
  }

  /**
   * Wraps a stream to report its end. The stream ends only after it has been counted, since the client may send its
   * next request at once.
   */
  #watchStream(stream: PartStream, firstByteMs: number): PartStream {
    const job = this.#job;
    const { content } = job.story;
    const watched = new SentParts(job.capture || content !== undefined);
    let isReported = false;
    const report = async (status: number, error?: string): Promise<void> => {
      if (isReported) return;
      isReported = true;
      if (content !== undefined) content.response = watched.text;
      await this.#reportEnd(watched, { status, error, firstByteMs });
    };
    job.onCancel({ cancel: () => void report(499, DISCONNECTED) });
    return wrapFlow(stream, async function* () {
      try {
        for await (const parts of stream) {
          watched.add(parts);
          yield parts;
        }
      } catch (error) {
        job.story.setFailure(error);
        await report(statusOf(error, job), messageOf(error));
        throw error;
      }
      await report(200);
    });
  }

  #reportEnd(
    watched: SentParts,
    { status, error, firstByteMs }: { status: number; error?: string; firstByteMs: number },
  ): Promise<unknown> | undefined {
    const { text: content, finishReason } = watched;
    const { usage, output } = watched;
    const counting = this.#meter?.({ status, firstByteMs, usage, output });
    this.#onEnd?.({ status, content, firstByteMs, finishReason, usage, error });
    return counting;
  }

  /** Wraps a stream of unparsed bytes, of which only the usage is known, to report its end. */
  #watchBytes(bytes: ByteStream, firstByteMs: number): ByteStream {
    const job = this.#job;
    const output = new StreamedBytes();
    let isReported = false;
    const report = async (status: number, error?: string): Promise<void> => {
      if (isReported) return;
      isReported = true;
      const { usage } = bytes;
      const counting = this.#meter?.({ status, firstByteMs, usage, output });
      this.#onEnd?.({ status, content: "", firstByteMs, usage, error });
      await counting;
    };
    job.onCancel({ cancel: () => void report(499, DISCONNECTED) });
    return {
      get usage() {
        return bytes.usage;
      },
      cancel: () => bytes.cancel(),
      async *[Symbol.asyncIterator]() {
        try {
          for await (const chunks of bytes) {
            for (const chunk of chunks) output.add(chunk);
            yield chunks;
          }
        } catch (error) {
          job.story.setFailure(error);
          await report(statusOf(error, job), messageOf(error));
          throw error;
        }
        await report(200);
      },
    };
  }
}

const DISCONNECTED = "The client disconnected.";

function sizeOf({ body, completion }: ChatResponse): number {
  return body?.length ?? (completion ? JSON.stringify(completion).length : 0);
}

function reportOf(completion: ChatCompletion): Partial<Report> {
  const first = completion.choices[0];
  const content = first?.message.content;
  return {
    content: typeof content === "string" ? content : undefined,
    finishReason: first?.finish_reason ?? undefined,
    usage: completion.usage,
  };
}

/** Emits `chat:response`. */
export function reportResponse(events: Emitter, job: Job, report: Report): void {
  const { trace } = job;
  const client = job.client.key;
  void events.emit(
    "chat:response",
    {
      requestId: job.requestId,
      model: trace.model === "" ? job.request.model : trace.model,
      channel: trace.channel,
      attempts: trace.attempts,
      ms: performance.now() - job.startedAt,
      client,
      ...report,
    },
    job.emitOptions,
  );
}

export function statusOf(error: unknown, job: Job): number {
  if (job.cancelled) return 499;
  return isPorticoError(error) ? error.status : 500;
}

function messageOf(error: unknown): string {
  return isPorticoError(error) ? error.message : "internal error";
}

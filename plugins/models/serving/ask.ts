/** Events before and after a request, and the report of its end: the same for HTTP callers, the agent and hooks. */
import { isDeepStrictEqual } from "node:util";
import { type EmitResult, isPorticoError } from "portico";
import type { ChatCompletion, Usage } from "portico/provider";
import { type ChatResponse, completionOf } from "../chat-response.ts";
import type { Emitter } from "../events.ts";
import type { Job } from "../job.ts";
import { type ByteStream, type PartStream, through } from "../streams/flow.ts";
import { SeenParts } from "./seen-parts.ts";
import { outputOf, StreamedBytes } from "./usage.ts";
import { type Meter, usageOf } from "./metering.ts";
import { readRequest } from "../openai/read-request.ts";

/** What became of a job, for `chat:response` and `message:sent`. */
export interface Report {
  status: number;
  content?: string;
  finishReason?: string;
  usage?: Usage;
  firstByteMs?: number;
  error?: string;
}

/** Emits `chat:request`. A changed request is checked like any other; a handler's reply is returned. */
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
  // Handlers see copies: another object need not say anything else.
  if (isDeepStrictEqual(request, job.request)) return undefined;
  const read = readRequest(request);
  job.request = read.request;
  if (read.fallbacks.length > 0) job.fallbacks = read.fallbacks;
  job.raw = undefined;
  job.native = undefined;
  return undefined;
}

/** Makes the request, and returns the beginning of the response. */
export type Talk = () => Promise<ChatResponse>;

/** Asks for a response, and reports its end. */
export async function ask(
  talk: Talk,
  job: Job,
  done: ((report: Report) => void) | undefined,
  meter: Meter | undefined,
): Promise<ChatResponse> {
  const end = new JobEnd(job, done, meter);
  try {
    const response = await talk();
    await end.succeeded(response);
    return response;
  } catch (error) {
    await end.failed(error);
    throw error;
  }
}

/**
 * Reports a job's end to `done` and `meter` exactly once: of a whole response at once, of a stream when it has ended.
 * A report costs reading the whole response; for a meter only its usage is read.
 */
export class JobEnd {
  readonly #job: Job;
  readonly #done: ((report: Report) => void) | undefined;
  readonly #meter: Meter | undefined;
  /** Later failures are part of the response, or do not concern it. */
  #begun = false;

  constructor(job: Job, done: ((report: Report) => void) | undefined, meter: Meter | undefined) {
    this.#job = job;
    this.#done = done;
    this.#meter = meter;
  }

  /** If it returns a promise, the response must wait for that. */
  succeeded(response: ChatResponse): Promise<unknown> | undefined {
    this.#begun = true;
    const done = this.#done;
    const meter = this.#meter;
    const { stream, bytes, firstByteMs } = response;
    if (stream !== undefined || bytes !== undefined) {
      const isWatched = done !== undefined || meter !== undefined;
      if (!isWatched && this.#job.story.content === undefined) return undefined;
      if (stream !== undefined) response.stream = this.#watched(stream, firstByteMs);
      else if (bytes !== undefined) response.bytes = this.#counted(bytes, firstByteMs);
      return undefined;
    }
    const { content } = this.#job.story;
    if (content !== undefined) content.response = completionOf(response).choices;
    done?.({ status: 200, firstByteMs, ...reportOf(completionOf(response)) });
    const output = outputOf(sizeOf(response), () => completionOf(response));
    return meter?.({ status: 200, firstByteMs, usage: usageOf(response), output });
  }

  async failed(error: unknown): Promise<void> {
    if (this.#begun) return;
    const status = statusOf(error, this.#job);
    this.#job.story.fail(error);
    await this.#meter?.({ status, usage: this.#job.spent });
    this.#done?.({ status, error: messageOf(error) });
  }

  /** Reports the end of a stream, which ends only when it has been counted: a client may ask again at once then. */
  #watched(stream: PartStream, firstByteMs: number): PartStream {
    const job = this.#job;
    const { content } = job.story;
    const seen = new SeenParts(job.capture || content !== undefined);
    let isReported = false;
    const report = async (status: number, error?: string): Promise<void> => {
      if (isReported) return;
      isReported = true;
      if (content !== undefined) content.response = seen.text;
      await this.#ended(seen, { status, error, firstByteMs });
    };
    job.onCancel({ cancel: () => void report(499, DISCONNECTED) });
    return through(stream, async function* () {
      try {
        for await (const parts of stream) {
          seen.add(parts);
          yield parts;
        }
      } catch (error) {
        job.story.fail(error);
        await report(statusOf(error, job), messageOf(error));
        throw error;
      }
      await report(200);
    });
  }

  #ended(
    seen: SeenParts,
    { status, error, firstByteMs }: { status: number; error?: string; firstByteMs: number },
  ): Promise<unknown> | undefined {
    const { text: content, finishReason } = seen;
    const { usage, output } = seen;
    const counted = this.#meter?.({ status, firstByteMs, usage, output });
    this.#done?.({ status, content, firstByteMs, finishReason, usage, error });
    return counted;
  }

  /** Bytes that pass: only their usage is known. */
  #counted(bytes: ByteStream, firstByteMs: number): ByteStream {
    const job = this.#job;
    const output = new StreamedBytes();
    let isReported = false;
    const report = async (status: number, error?: string): Promise<void> => {
      if (isReported) return;
      isReported = true;
      const { usage } = bytes;
      const counted = this.#meter?.({ status, firstByteMs, usage, output });
      this.#done?.({ status, content: "", firstByteMs, usage, error });
      await counted;
    };
    job.onCancel({ cancel: () => void report(499, DISCONNECTED) });
    return {
      get usage() {
        return bytes.usage;
      },
      cancel: () => bytes.cancel(),
      async *[Symbol.asyncIterator]() {
        try {
          for await (const read of bytes) {
            for (const one of read) output.add(one);
            yield read;
          }
        } catch (error) {
          job.story.fail(error);
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

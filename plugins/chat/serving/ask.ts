/** From a request to its response, with the events on both sides; the same for HTTP callers and for the agent and hooks. */
import { isDeepStrictEqual } from "node:util";
import { type EmitResult, isPorticoError, type PluginContext, type PorticoError } from "portico";
import type { ChatCompletion, Usage } from "portico/chat";
import { onTopOf } from "../response-streams.ts";
import type { ChatResponse, Job, ResponseStream } from "../job.ts";
import { outputOf, StreamedOutput } from "./usage.ts";
import { type Meter, usageOf } from "./metering.ts";
import { readCompletion, newCompletionId } from "../openai/completion.ts";
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

export type Emitter = Pick<PluginContext, "emit" | "hasHandlers" | "hasListeners" | "log">;

/** Emits `chat:request`. A changed request is checked like any other; a handler's reply is returned. */
export async function offerRequest(events: Emitter, job: Job): Promise<string | undefined> {
  const client = job.client.key;
  const result: EmitResult<"chat:request"> = await events.emit(
    "chat:request",
    { request: job.request, stream: job.stream, client },
    { sessionKey: job.sessionKey, principal: job.principal },
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

/** How a response comes about. */
export type Talk = () => Promise<ChatResponse>;

/** Asks, and tells the end. */
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
 * Tells `done` and `meter` of a job's end exactly once: of a whole response at once, of a stream when it has ended.
 * A report costs reading the whole response; for a meter only its usage is read.
 */
export class JobEnd {
  readonly #job: Job;
  readonly #done: ((report: Report) => void) | undefined;
  readonly #meter: Meter | undefined;
  /** Whatever fails from now on is told by the response, or is no failure of it. */
  #begun = false;

  constructor(job: Job, done: ((report: Report) => void) | undefined, meter: Meter | undefined) {
    this.#job = job;
    this.#done = done;
    this.#meter = meter;
  }

  /** Where it returns a promise, the response may leave only then. */
  succeeded(response: ChatResponse): Promise<unknown> | undefined {
    this.#begun = true;
    const done = this.#done;
    const meter = this.#meter;
    const { stream, firstByteMs } = response;
    if (stream !== undefined) {
      if (done !== undefined || meter !== undefined)
        response.stream = this.#watched(stream, firstByteMs);
      return undefined;
    }
    done?.({ status: 200, firstByteMs, ...reportOf(completionOf(response)) });
    const output = outputOf(sizeOf(response), () => completionOf(response));
    return meter?.({ status: 200, firstByteMs, usage: usageOf(response), output });
  }

  async failed(error: unknown): Promise<void> {
    if (this.#begun) return;
    const status = statusOf(error, this.#job);
    await this.#meter?.({ status, usage: this.#job.spent });
    this.#done?.({ status, error: messageOf(error) });
  }

  #watched(stream: ResponseStream, firstByteMs: number): ResponseStream {
    const job = this.#job;
    return watchedStream(stream, job, (status, error, output) => {
      const { finishReason, usage } = stream;
      const counted = this.#meter?.({ status, firstByteMs, usage, output });
      this.#done?.({ status, content: stream.text, firstByteMs, finishReason, usage, error });
      return counted;
    });
  }
}

/** The stream, and `done` is told of its end once. */
function watchedStream(
  stream: ResponseStream,
  job: Job,
  done: (
    status: number,
    error: string | undefined,
    output: StreamedOutput,
  ) => Promise<unknown> | undefined,
): ResponseStream {
  let told = false;
  const output = new StreamedOutput();
  const tell = (status: number, error?: string) => {
    if (told) return undefined;
    told = true;
    return done(status, error, output);
  };
  /** The stream ends when it has been counted: a client may ask again as soon as it has the last bytes. */
  const close = (counted: Promise<unknown> | undefined, end: () => void) => {
    if (counted === undefined) end();
    else void counted.then(() => job.cancelled || end());
  };
  job.onCancel({ cancel: () => void tell(499, "The client disconnected.") });
  return onTopOf(stream, {
    start(sink) {
      let last: Buffer | undefined;
      const flush = () => {
        const bytes = last;
        last = undefined;
        return bytes === undefined || sink.write(bytes);
      };
      stream.start({
        write(bytes) {
          output.add(bytes);
          const open = flush();
          if (!isLast(bytes)) return sink.write(bytes) && open;
          last = bytes;
          return open;
        },
        end() {
          close(tell(200), () => {
            flush();
            sink.end();
          });
        },
        fail(error) {
          close(tell(error.status, error.message), () => sink.fail(error));
        },
      });
    },
    cancel() {
      stream.cancel();
      tell(499, "The client disconnected.");
    },
  });
}

const DONE = Buffer.from("data: [DONE]\n\n");

/** The bytes behind which clients of OpenAI's format do not read on: their end comes with them. */
function isLast(bytes: Buffer): boolean {
  const from = bytes.length - DONE.length;
  return (
    from >= 0 && bytes[bytes.length - 3] === 0x5d && bytes.compare(DONE, 0, DONE.length, from) === 0
  );
}

/** The parsed response, whether or not anybody had parsed it before. */
export function completionOf(response: ChatResponse): ChatCompletion {
  response.completion ??= readCompletion(response.body!, {
    id: newCompletionId(),
    created: Math.floor(Date.now() / 1000),
    model: "",
  }).completion;
  return response.completion;
}

function sizeOf({ body, text, completion }: ChatResponse): number {
  return body?.length ?? text?.length ?? (completion ? JSON.stringify(completion).length : 0);
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
    { sessionKey: job.sessionKey, principal: job.principal },
  );
}

export function statusOf(error: unknown, job: Job): number {
  return job.cancelled ? 499 : isPorticoError(error) ? error.status : 500;
}

function messageOf(error: unknown): string {
  return isPorticoError(error) ? error.message : "internal error";
}

/** The event that ends a stream which failed after it had begun. */
export function errorEvent(error: PorticoError): Buffer {
  const { message, type, param, code } = error;
  const body = { error: { message, type: type ?? "api_error", param: param ?? null, code } };
  return Buffer.from(`data: ${JSON.stringify(body)}\n\ndata: [DONE]\n\n`);
}

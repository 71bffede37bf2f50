/** One attempt at a provider that answers in this process (`echo`, `agent`, a plugin's own). */
import {
  type CallInfo,
  type ChatChunk,
  type ChatCompletion,
  type ChatProvider,
  type ChatRequest,
  createChunkWriter,
  createSseParser,
  isPorticoError,
  PorticoError,
  type Target,
  upstreamError,
} from "portico";
import type { Answer, AnswerStream, Job, Sink } from "../job.ts";
import { completionAsStream, textCompletion } from "../openai/answer.ts";
import { OpenAiStream } from "../openai/stream.ts";
import type { AttemptTarget } from "../routing/target.ts";

export interface LocalAttempt {
  provider: ChatProvider;
  target: AttemptTarget;
  job: Job;
  onClose: () => void;
}

/** Resolves once the answer, or its first piece, is there. */
export async function attemptLocal(attempt: LocalAttempt): Promise<Answer> {
  const { provider, target, job } = attempt;
  const request: ChatRequest = { ...job.request, model: target.model };
  const told = withCall(target, job);
  try {
    if (!job.stream) {
      const answer =
        provider.complete !== undefined
          ? await cancellable(job, provider.complete(request, told))
          : await gather(provider, request, told);
      attempt.onClose();
      const completion = typeof answer === "string" ? textCompletion(target, answer) : answer;
      return { completion, body: Buffer.from(JSON.stringify(completion)), firstByteMs: since(job) };
    }
    if (provider.stream === undefined) {
      const answer = await cancellable(job, provider.complete!(request, told));
      const bytes = typeof answer === "string" ? undefined : completionAsStream(answer, job.includeUsage);
      const pieces = bytes === undefined ? words(answer as string) : [bytes];
      return await begin(attempt, fromArray(pieces));
    }
    return await begin(attempt, provider.stream(request, told)[Symbol.asyncIterator]());
  } catch (error) {
    attempt.onClose();
    throw isPorticoError(error) || job.cancelled
      ? error
      : new PorticoError("upstream_error", `The provider \`${provider.name}\` failed.`, { cause: error });
  }
}

type Piece = string | ChatChunk | Buffer;

function withCall(target: AttemptTarget, job: Job): Target & CallInfo {
  const info: CallInfo = {
    requestId: job.requestId,
    client: job.client,
    sessionKey: job.sessionKey,
    dropped: job.trace.dropped,
  };
  return Object.assign(target, info);
}

function cancellable<T>(job: Job, work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    job.worker = { cancel: () => reject(upstreamError({ kind: "upstream", message: "The caller left." }, 0)) };
    work.then(resolve, reject);
  }).finally(() => {
    job.worker = undefined;
  }) as Promise<T>;
}

async function begin(attempt: LocalAttempt, pieces: AsyncIterator<Piece>): Promise<Answer> {
  const stream = new LocalStream(attempt, pieces);
  await stream.first();
  return { stream, streamType: "sse", firstByteMs: since(attempt.job) };
}

/** Turns pieces into bytes as fast as they are taken. The stream's shape is mended as an upstream's would be. */
class LocalStream implements AnswerStream {
  readonly #a: LocalAttempt;
  readonly #pieces: AsyncIterator<Piece>;
  readonly #mender: OpenAiStream;
  readonly #writer: ReturnType<typeof createChunkWriter>;
  #early: Buffer | undefined;
  #finished = false;
  #cancelled = false;
  #wake: (() => void) | undefined;

  constructor(attempt: LocalAttempt, pieces: AsyncIterator<Piece>) {
    const { target, job } = attempt;
    this.#a = attempt;
    this.#pieces = pieces;
    const head = { id: target.id, created: target.created, model: target.model };
    this.#mender = new OpenAiStream({ ...head, includeUsage: job.includeUsage, capture: job.capture });
    this.#writer = createChunkWriter(head);
    job.worker = this;
  }

  get usage() {
    return this.#mender.usage;
  }
  get finishReason() {
    return this.#mender.finishReason;
  }
  get text() {
    return this.#mender.text;
  }

  async first(): Promise<void> {
    this.#early = await this.#next();
    if (this.#early === undefined && !this.#cancelled) this.#early = this.#last();
  }

  start(sink: Sink): void {
    void this.#run(sink);
  }

  async #run(sink: Sink): Promise<void> {
    try {
      for (let bytes = this.#early; bytes !== undefined && !this.#cancelled; bytes = await this.#next()) {
        if (!sink.write(bytes)) await new Promise<void>((resolve) => (this.#wake = resolve));
      }
      if (this.#cancelled) return;
      const rest = this.#finished ? this.#last() : undefined;
      if (rest !== undefined) sink.write(rest);
      this.#close();
      sink.end();
    } catch (error) {
      this.#close();
      if (this.#cancelled) return;
      sink.fail(
        isPorticoError(error)
          ? error
          : new PorticoError("upstream_error", `The provider \`${this.#a.provider.name}\` failed.`, { cause: error }),
      );
    }
  }

  resume(): void {
    const wake = this.#wake;
    this.#wake = undefined;
    wake?.();
  }

  cancel(): void {
    if (this.#cancelled) return;
    this.#cancelled = true;
    this.resume();
    // The provider's `finally` blocks run; it may be waiting for something that ends with the signal only.
    void this.#pieces.return?.(undefined)?.then?.(undefined, () => {});
    this.#close();
  }

  async #next(): Promise<Buffer | undefined> {
    while (!this.#finished && !this.#cancelled) {
      const { done, value } = await this.#pieces.next();
      if (done === true) {
        this.#finished = true;
        return undefined;
      }
      const out = this.#mender.push(this.#bytesOf(value));
      if (this.#mender.failure !== undefined) throw this.#mender.failure;
      if (out !== undefined && out.length > 0) return out;
    }
    return undefined;
  }

  #last(): Buffer | undefined {
    return this.#mender.done ? undefined : this.#mender.end();
  }

  #bytesOf(piece: Piece): Buffer {
    if (Buffer.isBuffer(piece)) return piece;
    if (typeof piece !== "string") return Buffer.from(`data: ${JSON.stringify(piece)}\n\n`);
    this.#writer.text(piece);
    return this.#writer.take()!;
  }

  #close(): void {
    this.#a.job.worker = undefined;
    this.#a.onClose();
  }
}

/** The chunks of a provider that only streams, as one answer. */
async function gather(
  provider: ChatProvider,
  request: ChatRequest,
  target: Target & CallInfo,
): Promise<ChatCompletion> {
  const completion = textCompletion(target, "");
  const calls: NonNullable<ChatCompletion["choices"][0]["message"]["tool_calls"]> = [];
  let text = "";
  let reason: string | undefined;
  const mender = new OpenAiStream({ id: target.id, created: target.created, model: target.model, includeUsage: true });
  const read = createSseParser((data) => {
    if (data.length === 6) return;
    const chunk = JSON.parse(data.toString("utf8")) as ChatChunk;
    Object.assign(
      completion,
      { id: chunk.id, created: chunk.created, model: chunk.model },
      chunk.usage && { usage: chunk.usage },
    );
    const choice = chunk.choices[0];
    if (choice === undefined) return;
    if (typeof choice.delta.content === "string") text += choice.delta.content;
    for (const part of choice.delta.tool_calls ?? []) {
      const call = (calls[part.index ?? 0] ??= {
        id: part.id ?? "",
        type: "function",
        function: { name: "", arguments: "" },
      });
      call.function!.name += part.function?.name ?? "";
      call.function!.arguments += part.function?.arguments ?? "";
    }
    reason = choice.finish_reason ?? reason;
  });
  for await (const piece of provider.stream!(request, target)) {
    if (typeof piece === "string") text += piece;
    else {
      const bytes = mender.push(Buffer.from(`data: ${JSON.stringify(piece)}\n\n`));
      if (bytes !== undefined) read.push(bytes);
    }
  }
  const message = completion.choices[0]!.message;
  message.content = calls.length > 0 && text === "" ? null : text;
  if (calls.length > 0) message.tool_calls = calls;
  completion.choices[0]!.finish_reason = reason ?? (calls.length > 0 ? "tool_calls" : "stop");
  if (mender.usage !== undefined) completion.usage = mender.usage;
  return completion;
}

/** A text in words, each with the space before it. */
export function words(text: string): string[] {
  return text.match(/\s*\S+|\s+$/g) ?? (text === "" ? [] : [text]);
}

async function* fromArray(pieces: readonly Piece[]): AsyncGenerator<Piece> {
  yield* pieces;
}

function since(job: Job): number {
  return performance.now() - job.startedAt;
}

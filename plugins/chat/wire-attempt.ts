/** One attempt at an upstream over HTTP: sends, reads, and settles once it is known what the caller will get. */
import type { IncomingHttpHeaders } from "node:http";
import {
  isPorticoError,
  type PorticoError,
  type StreamDecoder,
  type Usage,
  type NativeForm,
  type WireProvider,
  type WireRequest,
  readOpenAiProblem,
  upstreamError,
} from "portico";
import { type Deadline, startDeadline } from "./deadline.ts";
import type { Answer, AnswerStream, Job, Sink } from "./job.ts";
import { askingForUsage, usageIn } from "./metering.ts";
import { completionAsStream, readCompletion } from "./openai-answer.ts";
import { OpenAiStream } from "./openai-stream.ts";
import { sendableBytes } from "./splice.ts";
import type { AttemptTarget } from "./target.ts";
import type { Receiver, Sending, Upstreams } from "./upstream/upstreams.ts";

const JSON_TYPE = "application/json";
/** Error answers are read this far. */
const MAX_ERROR_BYTES = 1024 * 1024;
/** A whole answer larger than this is passed on as it comes where that is possible. */
const HOLD_BYTES = 1024 * 1024;
const MAX_ANSWER_BYTES = 512 * 1024 * 1024;
/** While nothing but comments has come, an error may still become an HTTP error; after this the headers go out. */
const COMMENTS_ONLY_MS = 2000;
/** So much of the end of a large answer is looked at for its usage. */
const TAIL_BYTES = 4096;
/** How much may wait between the upstream and a caller that has not begun to read. */
const EARLY_BYTES = 64 * 1024;
/** An upstream that does not close its answer after `[DONE]` is cut. */
const LINGER_MS = 1000;

export interface WireAttempt {
  upstreams: Upstreams;
  wire: WireProvider;
  target: AttemptTarget;
  job: Job;
  /** The request goes out in the caller's own form, and so the answer comes back. */
  native?: NativeForm | undefined;
  timeoutMs: number;
  idleTimeoutMs: number;
  /** The usage of the stream is asked for, though the client did not. */
  askUsage: boolean;
  /** The exchange is over: completed, failed or cancelled. Called once. */
  onClose: () => void;
  /** A stream broke off after it had begun. */
  onBroken: (message: string) => void;
}

/** Resolves with the answer's beginning, rejects with what went wrong before it. */
export function attemptWire(attempt: WireAttempt): Promise<Answer> {
  const { wire, target, job } = attempt;
  const native = job.native === undefined ? undefined : wire.native?.[job.native.form];
  const own = native?.encode(job.native!, target);
  if (own !== undefined) return exchange({ ...attempt, native }, own);
  const sent = wireRequest(wire, target, job, attempt.askUsage);
  return sent instanceof Promise ? sent.then((call) => exchange(attempt, call)) : exchange(attempt, sent);
}

function exchange(attempt: WireAttempt, call: WireRequest): Promise<Answer> {
  const { job } = attempt;
  job.trace.dropped = call.dropped;
  return new Promise<Answer>((resolve, reject) => {
    if (job.cancelled) reject(upstreamError({ kind: "upstream", message: "The caller left." }, 0));
    else new Exchange(attempt, call, resolve, reject).send();
  });
}

function wireRequest(
  wire: WireProvider,
  target: AttemptTarget,
  job: Job,
  askUsage: boolean,
): WireRequest | Promise<WireRequest> {
  const options = job.request["stream_options"];
  const direct = job.raw === undefined ? undefined : wire.passThrough?.(target, job.request);
  if (direct !== undefined) {
    const bytes = sendableBytes(job.raw!, job.request, target.model);
    const body = askUsage ? askingForUsage(bytes, options) : bytes;
    if (body !== undefined) return { method: "POST", url: direct.url, headers: direct.headers, body, dropped: [] };
  }
  let request = job.stream === (job.request.stream === true) ? job.request : { ...job.request, stream: job.stream };
  if (askUsage) request = { ...request, stream_options: { ...(options as object | null), include_usage: true } };
  return wire.encode({ ...request, model: target.model }, target);
}

type Mode = "waiting" | "error" | "collect" | "sniff" | "stream" | "raw" | "over";

class Exchange implements Receiver, AnswerStream {
  readonly #a: WireAttempt;
  readonly #call: WireRequest;
  #resolve: ((answer: Answer) => void) | undefined;
  #reject: ((error: unknown) => void) | undefined;
  #sending: Sending | undefined;
  #mode: Mode = "waiting";
  #deadline: Deadline | undefined;
  #commentsTimer: NodeJS.Timeout | undefined;
  #status = 0;
  #headers: IncomingHttpHeaders = {};
  #parts: Buffer[] = [];
  #size = 0;
  #decoder: StreamDecoder | undefined;
  /** Reads along where the text is wanted and the decoder does not keep it. */
  #reader: OpenAiStream | undefined;
  #sink: Sink | undefined;
  #paused = false;
  #firstByteMs = -1;
  /** The end of an answer that is passed on without being held: its usage is there. */
  #tail: Buffer | undefined;
  /** What came to its end before the sink was there. */
  #ended: { error?: PorticoError } | undefined;

  constructor(
    attempt: WireAttempt,
    call: WireRequest,
    resolve: (answer: Answer) => void,
    reject: (error: unknown) => void,
  ) {
    this.#a = attempt;
    this.#call = call;
    this.#resolve = resolve;
    this.#reject = reject;
  }

  send(): void {
    const { job, upstreams, timeoutMs } = this.#a;
    job.onCancel = () => this.cancel();
    this.#deadline = startDeadline(timeoutMs, () => this.#late());
    this.#sending = upstreams.send(this.#call, this);
  }

  get usage(): Usage | undefined {
    return this.#mode === "over" && this.#tail !== undefined
      ? usageIn(this.#tail.toString("latin1"))
      : this.#decoder?.usage;
  }
  get finishReason(): string | undefined {
    return this.#decoder?.finishReason;
  }
  get text(): string {
    return this.#decoder?.text ?? this.#reader?.text ?? "";
  }

  // ------------------------------------------------------------------------------------- from the upstream

  head(status: number, headers: IncomingHttpHeaders): void {
    if (status < 200) return;
    this.#status = status;
    this.#headers = headers;
    if (status >= 300) {
      this.#mode = "error";
      return;
    }
    if (!this.#a.job.stream) {
      this.#mode = "collect";
      return;
    }
    const type = headers["content-type"]?.toLowerCase() ?? "";
    // Only where JSON lines or binary events are not what the provider speaks may the first byte tell the kind.
    this.#mode = type === "" || type.startsWith(JSON_TYPE) || type.startsWith("text/") ? "sniff" : "stream";
  }

  data(bytes: Buffer): void {
    if (this.#firstByteMs < 0) {
      this.#firstByteMs = performance.now() - this.#a.job.startedAt;
      this.#deadline?.set(this.#a.idleTimeoutMs);
    } else this.#deadline?.touch();
    switch (this.#mode) {
      case "stream":
        this.#push(bytes);
        return;
      case "sniff":
        this.#sniff(bytes);
        return;
      case "collect":
      case "error":
        this.#collect(bytes);
        return;
      case "raw":
        if (this.#a.job.metered) this.#keepTail(bytes);
        this.#deliver(bytes);
        return;
    }
  }

  #keepTail(bytes: Buffer): void {
    const all = bytes.length >= TAIL_BYTES || this.#tail === undefined ? bytes : Buffer.concat([this.#tail, bytes]);
    this.#tail = all.subarray(-TAIL_BYTES);
  }

  end(): void {
    try {
      switch (this.#mode) {
        case "stream": {
          const last = this.#decoder!.end();
          if (last !== undefined) this.#deliver(last);
          if (this.#decoder!.failure !== undefined) this.#broken(this.#decoder!.failure);
          else this.#finish();
          return;
        }
        case "sniff":
          throw this.#emptyAnswer();
        case "collect":
          this.#whole();
          return;
        case "error":
          this.#refused();
          return;
        case "raw":
          this.#finish();
          return;
        case "waiting":
          throw this.#emptyAnswer();
      }
    } catch (error) {
      this.#broken(error);
    }
  }

  fail(error: Error): void {
    if (this.#mode === "over") return;
    if (this.#mode === "error") {
      this.#refused();
      return;
    }
    // The answer was complete; only its last line was not.
    if (this.#mode === "stream" && this.#decoder?.finishReason !== undefined && this.#resolve === undefined) {
      this.end();
      return;
    }
    const code = (error as NodeJS.ErrnoException).code;
    const what =
      this.#status === 0 ? "could not be reached, or closed the connection without an answer" : "broke off its answer";
    this.#broken(
      upstreamError(
        {
          kind: "upstream",
          message: `The upstream of channel \`${this.#a.target.channel}\` ${what}${code === undefined ? "" : ` (${code})`}.`,
        },
        0,
      ),
      error,
    );
  }

  // --------------------------------------------------------------------------------------------- streams

  #sniff(bytes: Buffer): void {
    this.#parts.push(bytes);
    const all = this.#parts.length === 1 ? bytes : Buffer.concat(this.#parts);
    let at = 0;
    while (at < all.length && (all[at] === 32 || all[at] === 10 || all[at] === 13 || all[at] === 9)) at++;
    if (at === all.length) return;
    const first = all[at];
    if (first === 123 || first === 91 || first === 60) {
      // `{`, `[` or `<`: JSON or a page where a stream was asked for.
      this.#mode = "collect";
      this.#parts = [];
      this.#collect(all);
      return;
    }
    this.#mode = "stream";
    this.#parts = [];
    this.#push(all);
  }

  #push(bytes: Buffer): void {
    this.#decoder ??= this.#newDecoder();
    const decoder = this.#decoder;
    let out: Buffer | undefined;
    try {
      out = decoder.push(bytes);
    } catch (error) {
      this.#abort();
      this.#broken(error);
      return;
    }
    if (out !== undefined && out.length > 0) this.#deliver(out);
    if (decoder.failure !== undefined) {
      this.#abort();
      this.#broken(decoder.failure);
    } else if (decoder.done === true) this.#finish();
  }

  #newDecoder(): StreamDecoder {
    const { wire, native, target, job } = this.#a;
    const { created, model } = target;
    const mender = () =>
      new OpenAiStream({ id: target.id, created, model, includeUsage: job.includeUsage, capture: job.capture });
    const decoder = (native ?? wire).decoder?.(this.#call, target);
    if (decoder === undefined) return mender();
    if (job.capture && native === undefined) this.#reader = mender();
    return decoder;
  }

  #deliver(bytes: Buffer): void {
    this.#readAlong(bytes);
    if (this.#sink !== undefined) {
      if (!this.#sink.write(bytes)) this.#pause();
      return;
    }
    this.#parts.push(bytes);
    this.#size += bytes.length;
    if (this.#resolve === undefined) {
      if (this.#size > EARLY_BYTES) this.#pause();
      return;
    }
    if (this.#mode === "stream" && onlyComments(bytes)) {
      this.#commentsTimer ??= setTimeout(() => this.#begin(), COMMENTS_ONLY_MS);
      return;
    }
    this.#begin();
  }

  #readAlong(bytes: Buffer): void {
    try {
      this.#reader?.push(bytes);
    } catch {
      this.#reader = undefined;
    }
  }

  /** The caller's headers may go out. */
  #begin(): void {
    const resolve = this.#resolve;
    if (resolve === undefined) return;
    clearTimeout(this.#commentsTimer);
    this.#resolve = undefined;
    this.#reject = undefined;
    resolve({
      stream: this,
      streamType: this.#mode === "raw" ? "json" : "sse",
      firstByteMs: this.#firstByteMs,
      native: this.#a.native !== undefined,
    });
  }

  start(sink: Sink): void {
    this.#sink = sink;
    const early = this.#parts;
    this.#parts = [];
    this.#size = 0;
    let open = true;
    for (const bytes of early) open = sink.write(bytes) && open;
    if (this.#ended !== undefined) {
      if (this.#ended.error === undefined) sink.end();
      else sink.fail(this.#ended.error);
    } else if (open && this.#paused) this.resume();
    else if (!open) this.#pause();
  }

  #pause(): void {
    if (this.#paused || this.#mode === "over") return;
    this.#paused = true;
    this.#sending?.pause();
    // A slow reader is no silence of the upstream.
    this.#deadline?.stop();
  }

  resume(): void {
    if (!this.#paused) return;
    this.#paused = false;
    if (this.#mode === "over") return;
    this.#deadline?.set(this.#a.idleTimeoutMs);
    this.#sending?.resume();
  }

  // --------------------------------------------------------------------------------------- whole answers

  #collect(bytes: Buffer): void {
    this.#size += bytes.length;
    if (this.#mode === "error") {
      if (this.#size > MAX_ERROR_BYTES) {
        this.#abort();
        this.#refused();
        return;
      }
    } else if (this.#size > HOLD_BYTES && this.#mayPassRaw()) {
      this.#mode = "raw";
      this.#parts.push(bytes);
      this.#begin();
      if (this.#size > EARLY_BYTES) this.#pause();
      return;
    } else if (this.#size > MAX_ANSWER_BYTES) {
      this.#abort();
      this.#broken(upstreamError({ kind: "upstream", message: "The upstream's answer is too large." }, this.#status));
      return;
    }
    this.#parts.push(bytes);
  }

  /** A large answer in OpenAI's form that begins as one: it need not be held to be told from an error. */
  #mayPassRaw(): boolean {
    const { job, wire } = this.#a;
    if (job.stream || job.capture || wire.decode !== undefined || wire.decoder !== undefined) return false;
    const head = this.#parts[0];
    return (
      head !== undefined &&
      head[0] === 123 &&
      head.includes('"choices"') &&
      !head.subarray(0, head.indexOf('"choices"')).includes('"error"')
    );
  }

  #whole(): void {
    const { wire, native, target, job } = this.#a;
    const body = this.#parts.length === 1 ? this.#parts[0]! : Buffer.concat(this.#parts);
    this.#parts = [];
    const type = this.#headers["content-type"]?.toLowerCase() ?? "";
    if (body.length === 0) throw this.#emptyAnswer();
    if (type.startsWith("text/event-stream") && !job.stream) {
      throw upstreamError(
        { kind: "upstream", message: "The upstream answered a stream where none was asked for." },
        this.#status,
      );
    }
    const { completion, changed } =
      native !== undefined
        ? { completion: native.decode(body, this.#call, target), changed: false }
        : wire.decode === undefined
          ? readCompletion(body, target)
          : { completion: wire.decode(body, this.#call, target), changed: true };
    const resolve = this.#resolve!;
    this.#close();
    if (job.stream) {
      const bytes = completionAsStream(completion, job.includeUsage);
      const usage = completion.usage;
      const first = completion.choices[0];
      const text = typeof first?.message.content === "string" ? first.message.content : "";
      resolve({
        stream: {
          start: (sink) => {
            sink.write(bytes);
            sink.end();
          },
          resume: () => {},
          cancel: () => {},
          usage,
          finishReason: first?.finish_reason ?? undefined,
          text,
        },
        streamType: "sse",
        firstByteMs: this.#firstByteMs,
      });
      return;
    }
    resolve({
      body: changed ? Buffer.from(JSON.stringify(completion)) : body,
      completion,
      firstByteMs: this.#firstByteMs,
      native: native !== undefined,
    });
  }

  #refused(): void {
    const { wire, target } = this.#a;
    const body = Buffer.concat(this.#parts);
    const status = this.#status;
    if (status < 400) {
      this.#broken(
        upstreamError(
          {
            kind: "upstream",
            message: `The upstream of channel \`${target.channel}\` redirects (${status}) elsewhere. Put the final address into its baseUrl.`,
          },
          status,
        ),
      );
      return;
    }
    let problem: ReturnType<WireProvider["error"]>;
    try {
      problem = wire.error(status, this.#headers, body);
    } catch {
      problem = readOpenAiProblem(status, body);
    }
    const wait = retryAfter(this.#headers);
    this.#broken(upstreamError(wait === undefined ? problem : { ...problem, retryAfter: wait }, status));
  }

  #emptyAnswer(): PorticoError {
    return upstreamError(
      {
        kind: "upstream",
        message: `The upstream of channel \`${this.#a.target.channel}\` answered ${this.#status} without a body.`,
      },
      this.#status,
    );
  }

  // ------------------------------------------------------------------------------------------------- end

  #late(): void {
    const { target, timeoutMs, idleTimeoutMs } = this.#a;
    const message =
      this.#firstByteMs < 0
        ? `The upstream of channel \`${target.channel}\` did not begin to answer within ${timeoutMs} ms.`
        : `The upstream of channel \`${target.channel}\` fell silent for ${idleTimeoutMs} ms.`;
    this.#abort();
    this.#broken(upstreamError({ kind: "timeout", message }, 0));
  }

  #finish(): void {
    if (this.#mode === "over") return;
    const sending = this.#sending;
    if (this.#resolve !== undefined) this.#begin();
    this.#close();
    // The connection is kept where the upstream ends its answer soon.
    setTimeout(() => sending?.abort(), LINGER_MS).unref();
    if (this.#sink === undefined) this.#ended = {};
    else this.#sink.end();
  }

  /** An error of any kind, before or after the first byte. */
  #broken(error: unknown, cause?: Error): void {
    if (this.#mode === "over") return;
    if (cause !== undefined && error instanceof Error) error.cause ??= cause;
    const reject = this.#reject;
    this.#close();
    if (reject !== undefined) {
      reject(error);
      return;
    }
    const known = isPorticoError(error)
      ? error
      : upstreamError({ kind: "upstream", message: "The upstream's stream could not be read." }, 200);
    this.#a.onBroken(known.message);
    if (this.#sink === undefined) this.#ended = { error: known };
    else this.#sink.fail(known);
  }

  /** The caller left. */
  cancel(): void {
    if (this.#mode === "over") return;
    const reject = this.#reject;
    this.#abort();
    this.#close();
    reject?.(upstreamError({ kind: "upstream", message: "The caller left." }, 0));
  }

  #abort(): void {
    this.#sending?.abort();
  }

  #close(): void {
    this.#mode = "over";
    this.#resolve = undefined;
    this.#reject = undefined;
    this.#deadline?.stop();
    clearTimeout(this.#commentsTimer);
    if (this.#a.job.onCancel !== undefined) this.#a.job.onCancel = undefined;
    this.#a.onClose();
  }
}

function onlyComments(bytes: Buffer): boolean {
  return bytes[0] === 58 && !bytes.includes("data:");
}

/** Seconds to wait by `retry-after-ms` or `retry-after` (seconds or a date). */
export function retryAfter(headers: IncomingHttpHeaders): number | undefined {
  const ms = Number(headers["retry-after-ms"]);
  if (headers["retry-after-ms"] !== undefined && Number.isFinite(ms) && ms >= 0) return ms / 1000;
  const given = headers["retry-after"];
  if (given === undefined) return undefined;
  const seconds = Number(given);
  if (Number.isFinite(seconds)) return Math.max(0, seconds);
  const date = Date.parse(given);
  return Number.isNaN(date) ? undefined : Math.max(0, (date - Date.now()) / 1000);
}

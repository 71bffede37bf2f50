/** One request on its way: reads what comes, and settles once it is known what the caller will get. */
import type { IncomingHttpHeaders } from "node:http";
import { isPorticoError } from "portico";
import { upstreamError, type Usage, type WireRequest } from "portico/chat";
import { type ResponseKind, kindOf, onlyComments, sniff } from "./response-kind.ts";
import { Delivery } from "./delivery.ts";
import { type Deadline, startDeadline } from "../deadline.ts";
import { type ChatResponse, type ResponseStream, clientDisconnected, type Sink } from "../../job.ts";
import { ResponseTail, HeldResponse } from "./held-response.ts";
import { StreamReading } from "./stream-reading.ts";
import type { Receiver, Sending } from "../http/upstream-client.ts";
import { connectionFailure, silence } from "./wire-failures.ts";
import { emptyResponse, readWhole, refusal } from "./whole-response.ts";
import type { WireAttempt } from "./wire-attempt.ts";

/** Error responses are read this far. */
const MAX_ERROR_BYTES = 1024 * 1024;
/** A whole response larger than this is passed on as it comes where that is possible. */
const HOLD_BYTES = 1024 * 1024;
const MAX_RESPONSE_BYTES = 512 * 1024 * 1024;
/** While nothing but comments has come, an error may still become an HTTP error; after this the headers go out. */
const COMMENTS_ONLY_MS = 2000;
const NOTHING = Buffer.alloc(0);
/** An upstream that does not close its response after `[DONE]` is cut. */
const LINGER_MS = 1000;

type Mode = ResponseKind | "waiting" | "raw" | "over";

/** Settles the attempt's promise with the response's beginning; of a stream it is the rest as well. */
export class WireExchange implements Receiver, ResponseStream {
  readonly #a: WireAttempt;
  readonly #call: WireRequest;
  #resolve: ((response: ChatResponse) => void) | undefined;
  #reject: ((error: unknown) => void) | undefined;
  #sending: Sending | undefined;
  #mode: Mode = "waiting";
  #deadline: Deadline | undefined;
  #commentsTimer: NodeJS.Timeout | undefined;
  #status = 0;
  #headers: IncomingHttpHeaders = {};
  #held: HeldResponse | undefined;
  #reading: StreamReading | undefined;
  #firstByteMs = -1;
  #tail: ResponseTail | undefined;
  #delivery: Delivery | undefined;

  constructor(
    attempt: WireAttempt,
    call: WireRequest,
    resolve: (response: ChatResponse) => void,
    reject: (error: unknown) => void,
  ) {
    this.#a = attempt;
    this.#call = call;
    this.#resolve = resolve;
    this.#reject = reject;
  }

  send(): void {
    const { job, upstreams, timeoutMs } = this.#a;
    job.worker = this;
    this.#deadline = startDeadline(timeoutMs, () => this.#late());
    this.#sending = upstreams.send(this.#call, this);
  }

  get usage(): Usage | undefined {
    return this.#mode === "over" && this.#tail !== undefined ? this.#tail.usage : this.#reading?.usage;
  }
  get finishReason(): string | undefined {
    return this.#reading?.finishReason;
  }
  get text(): string {
    return this.#reading?.text ?? "";
  }

  // ------------------------------------------------------------------------------------- from the upstream

  head(status: number, headers: IncomingHttpHeaders): void {
    if (status < 200) return;
    this.#status = status;
    this.#headers = headers;
    this.#mode = kindOf(status, headers, this.#a.job.stream);
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
        this.#passRaw(bytes);
        return;
    }
  }

  end(): void {
    try {
      switch (this.#mode) {
        case "stream": {
          const reading = this.#reading;
          if (reading === undefined) throw emptyResponse(this.#a.target, this.#status);
          const last = reading.end();
          if (last !== undefined) this.#deliver(last);
          if (reading.failure !== undefined) this.#broken(reading.failure);
          else this.#finish();
          return;
        }
        case "collect":
          this.#whole();
          return;
        case "error":
          this.#refused();
          return;
        case "raw":
          this.#finish();
          return;
        case "sniff":
        case "waiting":
          throw emptyResponse(this.#a.target, this.#status);
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
    // The response was complete; only its last line was not.
    if (this.#mode === "stream" && this.#reading?.finishReason !== undefined && this.#resolve === undefined) {
      this.end();
      return;
    }
    this.#broken(connectionFailure(this.#a.target, error, this.#status !== 0), error);
  }

  // --------------------------------------------------------------------------------------------- streams

  #sniff(bytes: Buffer): void {
    let all = bytes;
    if (this.#held !== undefined) {
      this.#held.push(bytes);
      all = this.#held.takeWhole();
    }
    const kind = sniff(all);
    if (kind !== undefined) this.#mode = kind;
    if (kind === "stream") this.#push(all);
    else if (kind === "collect") this.#collect(all);
    else (this.#held ??= new HeldResponse()).push(all);
  }

  #push(bytes: Buffer): void {
    this.#reading ??= new StreamReading(this.#a, this.#call);
    const reading = this.#reading;
    let out: Buffer | undefined;
    try {
      out = reading.push(bytes);
    } catch (error) {
      this.#abort();
      this.#broken(error);
      return;
    }
    if (out !== undefined && out.length > 0) this.#deliver(out);
    if (reading.failure !== undefined) {
      this.#abort();
      this.#broken(reading.failure);
    } else if (reading.done) this.#finish();
  }

  #deliver(bytes: Buffer): void {
    this.#outlet.write(bytes);
    if (this.#resolve === undefined) return;
    if (this.#mode === "stream" && onlyComments(bytes))
      this.#commentsTimer ??= setTimeout(() => this.#begin(), COMMENTS_ONLY_MS);
    else this.#begin();
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
    this.#outlet.start(sink);
  }

  resume(): void {
    this.#delivery?.resume();
  }

  get #outlet(): Delivery {
    this.#delivery ??= new Delivery({ pause: () => this.#pause(), resume: () => this.#resume() });
    return this.#delivery;
  }

  #pause(): void {
    if (this.#mode === "over") return;
    this.#sending?.pause();
    // A slow reader is no silence of the upstream.
    this.#deadline?.stop();
  }

  #resume(): void {
    if (this.#mode === "over") return;
    this.#deadline?.set(this.#a.idleTimeoutMs);
    this.#sending?.resume();
  }

  // --------------------------------------------------------------------------------------- whole responses

  #collect(bytes: Buffer): void {
    const held = (this.#held ??= new HeldResponse());
    held.push(bytes);
    if (this.#mode === "error") {
      if (held.size <= MAX_ERROR_BYTES) return;
      this.#abort();
      this.#refused();
    } else if (held.size > HOLD_BYTES && this.#mayPassRaw(held)) {
      this.#mode = "raw";
      for (const part of held.take()) this.#passRaw(part);
    } else if (held.size > MAX_RESPONSE_BYTES) {
      this.#abort();
      this.#broken(upstreamError({ kind: "upstream", message: "The upstream's answer is too large." }, this.#status));
    }
  }

  /** A large response in OpenAI's form need not be held to be told from an error. */
  #mayPassRaw(held: HeldResponse): boolean {
    const { job, wire } = this.#a;
    return job.mayPassRaw && wire.decode === undefined && wire.decoder === undefined && held.beginsAsCompletion();
  }

  #passRaw(bytes: Buffer): void {
    if (this.#a.job.metered) (this.#tail ??= new ResponseTail()).push(bytes);
    this.#deliver(bytes);
  }

  #whole(): void {
    const { wire, native, target, job } = this.#a;
    const response = readWhole({
      wire,
      native,
      target,
      job,
      call: this.#call,
      status: this.#status,
      headers: this.#headers,
      body: this.#takeBody(),
      firstByteMs: this.#firstByteMs,
    });
    const resolve = this.#resolve!;
    this.#close();
    resolve(response);
  }

  #refused(): void {
    const { wire, target } = this.#a;
    this.#broken(refusal(wire, target, { status: this.#status, headers: this.#headers, body: this.#takeBody() }));
  }

  #takeBody(): Buffer {
    return this.#held?.takeWhole() ?? NOTHING;
  }

  // ------------------------------------------------------------------------------------------------- end

  #late(): void {
    const { target, timeoutMs, idleTimeoutMs } = this.#a;
    const begun = this.#firstByteMs >= 0;
    this.#abort();
    this.#broken(silence(target, begun ? idleTimeoutMs : timeoutMs, begun));
  }

  #finish(): void {
    if (this.#mode === "over") return;
    const sending = this.#sending;
    if (this.#resolve !== undefined) this.#begin();
    this.#close();
    // The connection is kept where the upstream ends its response soon.
    setTimeout(() => sending?.abort(), LINGER_MS).unref();
    this.#outlet.end();
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
    this.#outlet.end(known);
  }

  /** The client disconnected. */
  cancel(): void {
    if (this.#mode === "over") return;
    const reject = this.#reject;
    this.#abort();
    this.#close();
    reject?.(clientDisconnected());
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
    this.#a.job.worker = undefined;
    this.#a.onClose();
  }
}

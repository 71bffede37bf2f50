/** One request to an upstream: reads the response, and settles once the caller's response is known. */
import type { IncomingHttpHeaders } from "node:http";
import { isPorticoError } from "portico";
import { ResponseTooLarge, type StreamPart, type Usage, type WireRequest } from "portico/provider";
import { endOfBlank, endsWithDone, isEventStream, kindOf, sniff } from "./response-kind.ts";
import { RawBeginning, type ResponseKind } from "./response-kind.ts";
import { type Delivered, Delivery, type Settle } from "./delivery.ts";
import { type Deadline, startDeadline, type Waiting } from "../deadline.ts";
import type { ChatResponse } from "../../chat-response.ts";
import { clientDisconnected } from "../../job.ts";
import type { ByteStream, FlowQueue } from "../../streams/flow.ts";
import { HeldResponse, HOLD_BYTES, MAX_ERROR_BYTES, ResponseTail } from "../held-response.ts";
import { ByteReading, PartReading } from "./stream-reading.ts";
import type { Receiver, Sending } from "../http/upstream-client.ts";
import { providerFailure } from "../local/provider-failed.ts";
import { connectionFailure, silence } from "./wire-failures.ts";
import { emptyResponse, mayPassRaw, readWhole, type Received, refusal } from "./whole-response.ts";
import type { WireAttempt } from "../attempt.ts";

const NOTHING = Buffer.alloc(0);
/** An upstream that does not close its response after `[DONE]` is cut. */
const LINGER_MS = 1000;

type Mode = ResponseKind | "waiting" | "raw" | "over";

/** Settles the attempt's promise with the response's beginning, and feeds the rest of a stream. */
export class WireExchange implements Receiver, Delivered, Waiting {
  readonly #a: WireAttempt;
  readonly #call: WireRequest;
  #sending: Sending | undefined;
  #mode: Mode = "waiting";
  #deadline: Deadline | undefined;
  #status = 0;
  #headers: IncomingHttpHeaders = {};
  #held: HeldResponse | undefined;
  /** The end of white space that nothing has followed yet. */
  #blank: Buffer = NOTHING;
  #reading: PartReading | ByteReading | undefined;
  #firstByteMs = -1;
  #begin: RawBeginning | undefined;
  #saidDone = false;
  #tail: ResponseTail | undefined;
  readonly #delivery: Delivery<StreamPart | Buffer>;

  constructor(attempt: WireAttempt, call: WireRequest, settle: Settle) {
    this.#a = attempt;
    this.#call = call;
    this.#delivery = new Delivery(this, settle);
  }

  send(): void {
    const { job, client, target, timeoutMs } = this.#a;
    job.onCancel(this);
    this.#deadline = startDeadline(timeoutMs, this);
    this.#sending = client.send(this.#call, this, target.proxy);
  }

  /** Of bytes that pass, as far as it is known. */
  get #usage(): Usage | undefined {
    if (this.#reading instanceof ByteReading) return this.#reading.usage;
    return this.#mode === "over" ? this.#tail?.usage : undefined;
  }

  // ------------------------------------------------------------------------------------- events of the upstream

  head(status: number, headers: IncomingHttpHeaders): void {
    if (status < 200) return;
    this.#status = status;
    this.#headers = headers;
    this.#mode =
      this.#call.raw === true && status < 300 ? "raw" : kindOf(status, headers, this.#a.job.stream);
  }

  data(bytes: Buffer): void {
    if (this.#mode === "over") return;
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
    }
  }

  end(): void {
    try {
      switch (this.#mode) {
        case "stream": {
          const reading = this.#reading;
          if (reading === undefined) throw emptyResponse(this.#a.target, this.#status);
          this.#deliver(reading.end(), 0);
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
          if (this.#delivery.open && isEventStream(this.#headers)) this.#refused();
          else this.#finish();
          return;
        case "sniff":
        case "waiting":
          throw emptyResponse(this.#a.target, this.#status);
        case "over":
          this.#deadline?.stop();
      }
    } catch (error) {
      this.#broken(error);
    }
  }

  fail(error: Error): void {
    if (this.#mode === "over") this.#deadline?.stop();
    else if (this.#mode === "error") this.#refused();
    // The response was complete; only its last line was not.
    else if ((this.#saidDone || this.#reading?.finished === true) && !this.#delivery.open)
      this.end();
    else this.#broken(connectionFailure(this.#a.target, error, this.#status !== 0), error);
  }

  #sniff(bytes: Buffer): void {
    const all = this.#blank.length === 0 ? bytes : Buffer.concat([this.#blank, bytes]);
    const kind = sniff(all);
    if (kind !== undefined) this.#mode = kind;
    if (kind === "stream") this.#push(all);
    else if (kind === "collect") this.#collect(all);
    else this.#blank = endOfBlank(all);
  }

  #push(bytes: Buffer): void {
    this.#reading ??= this.#startReading();
    const reading = this.#reading;
    let out: readonly (StreamPart | Buffer)[];
    try {
      out = reading.push(bytes);
    } catch (error) {
      this.#abort();
      this.#broken(error);
      return;
    }
    this.#deliver(out, bytes.length);
    if (reading.failure !== undefined) {
      this.#abort();
      this.#broken(reading.failure);
    } else if (reading.done) {
      this.#finish();
      // The connection is kept where the response ends soon. A timer of its own would keep all of a stream for so long.
      this.#deadline?.set(LINGER_MS);
    }
  }

  #startReading(): PartReading | ByteReading {
    const { wire, target } = this.#a;
    const bytes = wire.bytes?.(this.#call, target);
    return bytes === undefined
      ? new PartReading(this.#a, this.#call)
      : new ByteReading(bytes, this.#a);
  }

  #deliver(items: readonly (StreamPart | Buffer)[], weight: number): void {
    if (items.length === 0) return;
    this.#delivery.write(items, weight, this.#delivery.open && items.every(isComment));
  }

  beginning(): ChatResponse {
    const { queue } = this.#delivery;
    const head = { headers: this.#headers, firstByteMs: this.#firstByteMs };
    const isBytes = this.#mode === "raw" || this.#reading instanceof ByteReading;
    return isBytes
      ? { ...head, bytes: this.#bytesOf(queue as FlowQueue<Buffer>) }
      : { ...head, stream: queue as FlowQueue<StreamPart>, native: this.#a.native !== undefined };
  }

  #bytesOf(queue: FlowQueue<Buffer>): ByteStream {
    const usage = () => this.#usage;
    return {
      [Symbol.asyncIterator]: () => queue,
      cancel: () => queue.cancel(),
      get usage() {
        return usage();
      },
    };
  }

  pauseUpstream(): void {
    if (this.#mode === "over") return;
    this.#sending?.pause();
    // A slow reader is no silence of the upstream.
    this.#deadline?.stop();
  }

  resumeUpstream(): void {
    if (this.#mode === "over") return;
    this.#deadline?.set(this.#a.idleTimeoutMs);
    this.#sending?.resume();
  }

  #collect(bytes: Buffer): void {
    const held = this.#hold(bytes);
    if (this.#mode === "error") {
      if (held.size <= MAX_ERROR_BYTES) return;
      this.#abort();
      this.#refused();
    } else if (held.size > HOLD_BYTES && mayPassRaw(this.#a, held)) {
      this.#mode = "raw";
      for (const part of held.take()) this.#passRaw(part);
    } else if (held.excess !== undefined) {
      this.#abort();
      this.#broken(
        new ResponseTooLarge(
          `The response of channel \`${this.#a.target.channel}\` ${held.excess}, which is too much to read as a whole.`,
        ),
      );
    }
  }

  #passRaw(bytes: Buffer): void {
    const begins = this.#rawBeginning(bytes);
    if (begins !== "good") this.#hold(bytes);
    if (begins === "error" || begins === "error begins") this.#mode = "error";
    if (begins === "error") this.#abort();
    if (begins === "error") this.end();
    if (this.#mode !== "raw") return;
    if (this.#a.job.metered) {
      this.#tail ??= new ResponseTail();
      this.#tail.push(bytes);
    }
    this.#saidDone = endsWithDone(this.#headers, bytes);
    this.#delivery.write([bytes], bytes.length, begins === "unknown");
  }

  #rawBeginning(bytes: Buffer): ReturnType<RawBeginning["push"]> {
    const hasBegun = this.#call.raw !== true || !this.#delivery.open;
    if (hasBegun) return "good";
    this.#begin ??= new RawBeginning();
    return this.#begin.push(this.#headers, bytes);
  }

  #hold(bytes: Buffer): HeldResponse {
    this.#held ??= new HeldResponse(this.#a.job.limits);
    this.#held.push(bytes);
    return this.#held;
  }

  #whole(): void {
    const response = readWhole(this.#a, this.#call, this.#takeAll());
    this.#close();
    this.#delivery.resolve(response);
  }

  #refused(): void {
    const { wire, target } = this.#a;
    this.#broken(refusal(wire, target, this.#takeAll()));
  }

  #takeAll(): Received {
    const body = this.#held?.takeWhole() ?? NOTHING;
    return { status: this.#status, headers: this.#headers, body, firstByteMs: this.#firstByteMs };
  }

  late(): void {
    const { target, timeoutMs, idleTimeoutMs } = this.#a;
    const begun = this.#firstByteMs >= 0;
    this.#abort();
    if (this.#mode === "over") return;
    this.#broken(silence(target, begun ? idleTimeoutMs : timeoutMs, begun));
  }

  #finish(): void {
    if (this.#mode === "over") return;
    this.#delivery.begin();
    this.#close();
    this.#delivery.end();
  }

  /** An error of any kind, before or after the first byte. */
  #broken(what: unknown, cause?: Error): void {
    if (this.#mode === "over") return;
    if (cause !== undefined && what instanceof Error) what.cause ??= cause;
    const error = this.#a.target.hide(what);
    this.#close();
    if (this.#delivery.open) {
      this.#delivery.reject(error);
      return;
    }
    const known = isPorticoError(error)
      ? error
      : providerFailure(this.#a.job.trace.provider, error);
    this.#a.watcher.broken(known);
    this.#delivery.end(known);
  }

  /** The client disconnected. */
  cancel(): void {
    if (this.#mode === "over") return;
    this.#abort();
    this.#close();
    if (this.#delivery.open) this.#delivery.reject(clientDisconnected());
    else this.#delivery.end(clientDisconnected());
  }

  #abort(): void {
    this.#sending?.abort();
  }

  #close(): void {
    this.#mode = "over";
    this.#deadline?.stop();
    this.#a.job.offCancel(this);
    this.#a.watcher.closed();
  }
}

function isComment(item: StreamPart | Buffer): boolean {
  return !Buffer.isBuffer(item) && item.type === "comment";
}

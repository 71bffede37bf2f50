/** Sends one request to an upstream, reads the response, and settles when the caller's response is known. */
import type { IncomingHttpHeaders } from "node:http";
import { isPorticoError } from "portico";
import { ResponseTooLarge, type StreamPart, type Usage, type WireRequest } from "portico/provider";
import { endOfBlank, endsWithDone, isEventStream, kindOf, sniff } from "./response-kind.ts";
import { RawBeginning, type ResponseKind } from "./response-kind.ts";
import { type DeliverySource, Delivery, type Settler } from "./delivery.ts";
import { type Deadline, startDeadline, type DeadlineListener } from "../deadline.ts";
import type { ChatResponse } from "../../chat-response.ts";
import { clientDisconnected } from "../../job.ts";
import type { ByteStream, FlowQueue } from "../../streams/flow.ts";
import { HeldResponse, HOLD_BYTES, MAX_ERROR_BYTES, ResponseTail } from "../held-response.ts";
import { ByteReading, PartReading } from "./stream-reading.ts";
import type { Receiver, SentRequest } from "../http/upstream-client.ts";
import { providerFailure } from "../local/provider-failed.ts";
import { connectionFailure, silenceError } from "./wire-failures.ts";
import {
  emptyResponse,
  mayPassRaw,
  readWhole,
  type Received,
  refusalError,
} from "./whole-response.ts";
import type { WireAttempt } from "../attempt.ts";

const NOTHING = Buffer.alloc(0);
/** After this time, the connection is closed if the upstream does not end its response after `[DONE]`. */
const LINGER_MS = 1000;

type Mode = ResponseKind | "waiting" | "raw" | "over";

/** Settles the attempt's promise with the beginning of the response, and delivers the rest of a stream. */
export class WireExchange implements Receiver, DeliverySource, DeadlineListener {
  readonly #attempt: WireAttempt;
  readonly #call: WireRequest;
  #request: SentRequest | undefined;
  #mode: Mode = "waiting";
  #deadline: Deadline | undefined;
  #status = 0;
  #headers: IncomingHttpHeaders = {};
  #heldResponse: HeldResponse | undefined;
  /** The last byte of leading white space. */
  #blank: Buffer = NOTHING;
  #reading: PartReading | ByteReading | undefined;
  #firstByteMs = -1;
  #rawBeginning: RawBeginning | undefined;
  #endsWithDone = false;
  #tail: ResponseTail | undefined;
  readonly #delivery: Delivery<StreamPart | Buffer>;

  constructor(attempt: WireAttempt, call: WireRequest, settler: Settler) {
    this.#attempt = attempt;
    this.#call = call;
    this.#delivery = new Delivery(this, settler);
  }

  send(): void {
    const { job, client, target, timeoutMs } = this.#attempt;
    job.onCancel(this);
    this.#deadline = startDeadline(timeoutMs, this);
    this.#request = client.send(this.#call, this, target.proxy);
  }

  /** The usage of bytes that are passed through, as far as it is known. */
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
      this.#call.raw === true && status < 300
        ? "raw"
        : kindOf(status, headers, this.#attempt.job.stream);
  }

  data(bytes: Buffer): void {
    if (this.#mode === "over") return;
    if (this.#firstByteMs < 0) {
      this.#firstByteMs = performance.now() - this.#attempt.job.startedAt;
      this.#deadline?.set(this.#attempt.idleTimeoutMs);
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
          if (reading === undefined) throw emptyResponse(this.#attempt.target, this.#status);
          this.#deliver(reading.end(), 0);
          if (reading.failure !== undefined) this.#failWith(reading.failure);
          else this.#finish();
          return;
        }
        case "collect":
          this.#resolveWhole();
          return;
        case "error":
          this.#failWithResponse();
          return;
        case "raw":
          if (this.#delivery.open && isEventStream(this.#headers)) this.#failWithResponse();
          else this.#finish();
          return;
        case "sniff":
        case "waiting":
          throw emptyResponse(this.#attempt.target, this.#status);
        case "over":
          this.#deadline?.stop();
      }
    } catch (error) {
      this.#failWith(error);
    }
  }

  fail(error: Error): void {
    if (this.#mode === "over") this.#deadline?.stop();
    else if (this.#mode === "error") this.#failWithResponse();
    // The content was complete, only the end of the response is missing.
    else if ((this.#endsWithDone || this.#reading?.finished === true) && !this.#delivery.open)
      this.end();
    else this.#failWith(connectionFailure(this.#attempt.target, error, this.#status !== 0), error);
  }

  #sniff(bytes: Buffer): void {
    const beginning = this.#blank.length === 0 ? bytes : Buffer.concat([this.#blank, bytes]);
    const kind = sniff(beginning);
    if (kind !== undefined) this.#mode = kind;
    if (kind === "stream") this.#push(beginning);
    else if (kind === "collect") this.#collect(beginning);
    else this.#blank = endOfBlank(beginning);
  }

  #push(bytes: Buffer): void {
    this.#reading ??= this.#startReading();
    const reading = this.#reading;
    let out: readonly (StreamPart | Buffer)[];
    try {
      out = reading.push(bytes);
    } catch (error) {
      this.#abort();
      this.#failWith(error);
      return;
    }
    this.#deliver(out, bytes.length);
    if (reading.failure !== undefined) {
      this.#abort();
      this.#failWith(reading.failure);
    } else if (reading.done) {
      this.#finish();
      // The connection is reused if the response ends soon. A timer of its own would keep the stream in memory.
      this.#deadline?.set(LINGER_MS);
    }
  }

  #startReading(): PartReading | ByteReading {
    const { wire, target } = this.#attempt;
    const bytes = wire.bytes?.(this.#call, target);
    return bytes === undefined
      ? new PartReading(this.#attempt, this.#call)
      : new ByteReading(bytes, this.#attempt);
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
      : {
          ...head,
          stream: queue as FlowQueue<StreamPart>,
          native: this.#attempt.native !== undefined,
        };
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
    this.#request?.pause();
    // Waiting for a slow reader does not count as silence of the upstream.
    this.#deadline?.stop();
  }

  resumeUpstream(): void {
    if (this.#mode === "over") return;
    this.#deadline?.set(this.#attempt.idleTimeoutMs);
    this.#request?.resume();
  }

  #collect(bytes: Buffer): void {
    const response = this.#hold(bytes);
    if (this.#mode === "error") {
      if (response.size <= MAX_ERROR_BYTES) return;
      this.#abort();
      this.#failWithResponse();
    } else if (response.size > HOLD_BYTES && mayPassRaw(this.#attempt, response)) {
      this.#mode = "raw";
      for (const part of response.take()) this.#passRaw(part);
    } else if (response.excess !== undefined) {
      this.#abort();
      this.#failWith(
        new ResponseTooLarge(
          `The response of channel \`${this.#attempt.target.channel}\` is too large to be read at once: it ${response.excess}.`,
        ),
      );
    }
  }

  #passRaw(bytes: Buffer): void {
    const beginning = this.#classifyRaw(bytes);
    if (beginning !== "good") this.#hold(bytes);
    if (beginning === "error" || beginning === "error begins") this.#mode = "error";
    if (beginning === "error") {
      this.#abort();
      this.end();
    }
    if (this.#mode !== "raw") return;
    if (this.#attempt.job.metered) {
      this.#tail ??= new ResponseTail();
      this.#tail.push(bytes);
    }
    this.#endsWithDone = endsWithDone(this.#headers, bytes);
    this.#delivery.write([bytes], bytes.length, beginning === "unknown");
  }

  #classifyRaw(bytes: Buffer): ReturnType<RawBeginning["push"]> {
    const hasBegun = this.#call.raw !== true || !this.#delivery.open;
    if (hasBegun) return "good";
    this.#rawBeginning ??= new RawBeginning();
    return this.#rawBeginning.push(this.#headers, bytes);
  }

  #hold(bytes: Buffer): HeldResponse {
    this.#heldResponse ??= new HeldResponse(this.#attempt.job.limits);
    this.#heldResponse.push(bytes);
    return this.#heldResponse;
  }

  #resolveWhole(): void {
    const response = readWhole(this.#attempt, this.#call, this.#takeAll());
    this.#close();
    this.#delivery.resolve(response);
  }

  #failWithResponse(): void {
    const { wire, target } = this.#attempt;
    this.#failWith(refusalError(wire, target, this.#takeAll()));
  }

  #takeAll(): Received {
    const body = this.#heldResponse?.takeWhole() ?? NOTHING;
    return { status: this.#status, headers: this.#headers, body, firstByteMs: this.#firstByteMs };
  }

  onDeadline(): void {
    const { target, timeoutMs, idleTimeoutMs } = this.#attempt;
    const hasBegun = this.#firstByteMs >= 0;
    this.#abort();
    if (this.#mode === "over") return;
    this.#failWith(silenceError(target, hasBegun ? idleTimeoutMs : timeoutMs, hasBegun));
  }

  #finish(): void {
    if (this.#mode === "over") return;
    this.#delivery.begin();
    this.#close();
    this.#delivery.end();
  }

  /** Ends the exchange with an error of any kind, before or after the first byte. */
  #failWith(thrown: unknown, cause?: Error): void {
    if (this.#mode === "over") return;
    if (cause !== undefined && thrown instanceof Error) thrown.cause ??= cause;
    const error = this.#attempt.target.maskError(thrown);
    this.#close();
    if (this.#delivery.open) {
      this.#delivery.reject(error);
      return;
    }
    const failure = isPorticoError(error)
      ? error
      : providerFailure(this.#attempt.job.trace.provider, error);
    this.#attempt.watcher.broken(failure);
    this.#delivery.end(failure);
  }

  cancel(): void {
    if (this.#mode === "over") return;
    this.#abort();
    this.#close();
    if (this.#delivery.open) this.#delivery.reject(clientDisconnected());
    else this.#delivery.end(clientDisconnected());
  }

  #abort(): void {
    this.#request?.abort();
  }

  #close(): void {
    this.#mode = "over";
    this.#deadline?.stop();
    this.#attempt.job.offCancel(this);
    this.#attempt.watcher.closed();
  }
}

function isComment(item: StreamPart | Buffer): boolean {
  return !Buffer.isBuffer(item) && item.type === "comment";
}

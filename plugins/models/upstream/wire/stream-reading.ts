/** Reads the bytes of an upstream's stream: as parts without secrets, or as bytes of a route beside chat. */
import type { PorticoError } from "portico";
import {
  CallIds,
  createOpenAiDecoder,
  type PartDecoder,
  ResponseTooLarge,
  type StreamDecoder,
  type StreamPart,
  type Usage,
  type WireRequest,
} from "portico/provider";
import { PartMask } from "portico/secrets";
import { AdaptedDecoder } from "../../deprecated.ts";
import type { WireAttempt } from "../attempt.ts";

interface StreamReading<T> {
  push(bytes: Buffer): readonly T[];
  end(): readonly T[];
  readonly failure: PorticoError | undefined;
  readonly done: boolean;
  /** A connection that is cut now loses nothing. */
  readonly finished: boolean;
}

/** The parts of a chat, with ids of calls that are new, and without secrets. */
export class PartReading implements StreamReading<StreamPart> {
  readonly #decoder: PartDecoder;
  readonly #ids: CallIds;
  readonly #mask: PartMask | undefined;
  readonly #bound: EventBound;

  constructor(attempt: WireAttempt, call: WireRequest) {
    const { target, job } = attempt;
    this.#decoder = decoderOf(attempt, call);
    this.#bound = new EventBound(attempt);
    this.#ids = new CallIds(job.request);
    this.#mask = target.mask.watchesContent ? new PartMask(target.mask) : undefined;
  }

  push(bytes: Buffer): StreamPart[] {
    this.#bound.add(bytes);
    const parts = this.#decoder.push(bytes);
    if (parts.length > 0) this.#bound.restart();
    return this.#own(parts, this.#decoder.done);
  }

  end(): StreamPart[] {
    return this.#own(this.#decoder.end(), true);
  }

  get failure(): PorticoError | undefined {
    return this.#decoder.failure;
  }
  get done(): boolean {
    return this.#decoder.done;
  }
  get finished(): boolean {
    return this.#decoder.finished;
  }

  #own(parts: StreamPart[], isLast: boolean): StreamPart[] {
    const claimed = this.#ids.claimParts(parts);
    if (this.#mask === undefined) return claimed;
    const masked = this.#mask.push(claimed);
    return isLast ? [...masked, ...this.#mask.end()] : masked;
  }
}

function decoderOf({ wire, native, target }: WireAttempt, call: WireRequest): PartDecoder {
  if (native !== undefined) return native.parts(call, target);
  if (wire.parts !== undefined) return wire.parts(call, target);
  const { id, created, model } = target;
  const defaults = { id, created, model };
  const written = wire.decoder?.(call, target);
  return written === undefined
    ? createOpenAiDecoder(defaults)
    : new AdaptedDecoder(written, defaults);
}

/** A route beside chat whose events a provider translates. */
export class ByteReading implements StreamReading<Buffer> {
  readonly #decoder: StreamDecoder;
  readonly #bound: EventBound;

  constructor(decoder: StreamDecoder, attempt: WireAttempt) {
    this.#decoder = decoder;
    this.#bound = new EventBound(attempt);
  }

  push(bytes: Buffer): Buffer[] {
    this.#bound.add(bytes);
    const read = listOf(this.#decoder.push(bytes));
    if (read.length > 0) this.#bound.restart();
    return read;
  }
  end(): Buffer[] {
    return listOf(this.#decoder.end());
  }
  get failure(): PorticoError | undefined {
    return this.#decoder.failure;
  }
  get done(): boolean {
    return this.#decoder.done === true;
  }
  get finished(): boolean {
    return this.#decoder.finishReason !== undefined;
  }
  get usage(): Usage | undefined {
    return this.#decoder.usage;
  }
}

function listOf(bytes: Buffer | undefined): Buffer[] {
  return bytes === undefined || bytes.length === 0 ? [] : [bytes];
}

/**
 * Bounds one event of a stream, whatever the provider: a decoder holds an event in memory until its end comes, and then
 * reads it in one piece, which keeps everybody else waiting.
 */
class EventBound {
  readonly #most: number;
  readonly #channel: string;
  /** What has come since the decoder last gave something: it holds an event whose end has not come. */
  #size = 0;

  constructor({ maxEventBytes, target }: WireAttempt) {
    this.#most = maxEventBytes;
    this.#channel = target.channel;
  }

  /** Throws `ResponseTooLarge`. */
  add(bytes: Buffer): void {
    this.#size += bytes.length;
    if (this.#size <= this.#most) return;
    throw new ResponseTooLarge(
      `The upstream of channel \`${this.#channel}\` sent one event of more than ${this.#most} bytes. ` +
        `If the upstream has to send such events, raise channels.${this.#channel}.maxEventBytes.`,
    );
  }

  restart(): void {
    this.#size = 0;
  }
}

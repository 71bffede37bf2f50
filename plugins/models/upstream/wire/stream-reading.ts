/** Reads the bytes of an upstream's stream, as masked parts or as bytes of a route other than chat. */
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
  /** Closing the connection now would lose nothing. */
  readonly finished: boolean;
}

/** Reads the parts of a chat, gives tool calls new ids where needed, and masks secrets. */
export class PartReading implements StreamReading<StreamPart> {
  readonly #decoder: PartDecoder;
  readonly #ids: CallIds;
  readonly #mask: PartMask | undefined;
  readonly #eventLimit: EventLimit;

  constructor(attempt: WireAttempt, call: WireRequest) {
    const { target, job } = attempt;
    this.#decoder = decoderOf(attempt, call);
    this.#eventLimit = new EventLimit(attempt);
    this.#ids = new CallIds(job.request);
    this.#mask = target.mask.watchesContent ? new PartMask(target.mask) : undefined;
  }

  push(bytes: Buffer): StreamPart[] {
    this.#eventLimit.add(bytes);
    const parts = this.#decoder.push(bytes);
    if (parts.length > 0) this.#eventLimit.restart();
    return this.#claimAndMask(parts, this.#decoder.done);
  }

  end(): StreamPart[] {
    return this.#claimAndMask(this.#decoder.end(), true);
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

  #claimAndMask(parts: StreamPart[], isLast: boolean): StreamPart[] {
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
  const decoder = wire.decoder?.(call, target);
  return decoder === undefined
    ? createOpenAiDecoder(defaults)
    : new AdaptedDecoder(decoder, defaults);
}

/** Reads a route other than chat whose events a provider translates. */
export class ByteReading implements StreamReading<Buffer> {
  readonly #decoder: StreamDecoder;
  readonly #eventLimit: EventLimit;

  constructor(decoder: StreamDecoder, attempt: WireAttempt) {
    this.#decoder = decoder;
    this.#eventLimit = new EventLimit(attempt);
  }

  push(bytes: Buffer): Buffer[] {
    this.#eventLimit.add(bytes);
    const chunks = toList(this.#decoder.push(bytes));
    if (chunks.length > 0) this.#eventLimit.restart();
    return chunks;
  }
  end(): Buffer[] {
    return toList(this.#decoder.end());
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

function toList(bytes: Buffer | undefined): Buffer[] {
  return bytes === undefined || bytes.length === 0 ? [] : [bytes];
}

/**
 * Limits the size of one event of a stream for any provider: a decoder holds an event in memory until it is complete,
 * and then parses it in one piece, which blocks all other requests.
 */
class EventLimit {
  readonly #maxBytes: number;
  readonly #channel: string;
  /** Bytes since the decoder last returned something: it holds an incomplete event. */
  #size = 0;

  constructor({ maxEventBytes, target }: WireAttempt) {
    this.#maxBytes = maxEventBytes;
    this.#channel = target.channel;
  }

  /** Counts bytes. Throws `ResponseTooLarge`. */
  add(bytes: Buffer): void {
    this.#size += bytes.length;
    if (this.#size <= this.#maxBytes) return;
    throw new ResponseTooLarge(
      `The upstream of channel \`${this.#channel}\` sent one event of more than ${this.#maxBytes} bytes. ` +
        `If the upstream has to send such events, raise channels.${this.#channel}.maxEventBytes.`,
    );
  }

  restart(): void {
    this.#size = 0;
  }
}

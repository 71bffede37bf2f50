/** Reads the bytes of an upstream's stream: as parts without secrets, or as bytes of a route beside chat. */
import type { PorticoError } from "portico";
import {
  CallIds,
  createOpenAiDecoder,
  type PartDecoder,
  type StreamDecoder,
  type StreamPart,
  upstreamError,
  type Usage,
  type WireRequest,
} from "portico/provider";
import { PartMask } from "portico/secrets";
import { AdaptedDecoder } from "../../deprecated/adapted-provider.ts";
import type { WireAttempt } from "../attempt.ts";

/** Longer single events are refused: they would have to be held in memory whole. */
const MAX_EVENT_BYTES = 64 * 1024 * 1024;

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
  /** What has come since the decoder last gave something: it holds an event whose end does not come. */
  #unheard = 0;

  constructor(attempt: WireAttempt, call: WireRequest) {
    const { target, job } = attempt;
    this.#decoder = decoderOf(attempt, call);
    this.#ids = new CallIds(job.request);
    this.#mask = target.mask.watchesContent ? new PartMask(target.mask) : undefined;
  }

  push(bytes: Buffer): StreamPart[] {
    const parts = this.#decoder.push(bytes);
    this.#unheard = parts.length === 0 ? this.#unheard + bytes.length : 0;
    if (this.#unheard > MAX_EVENT_BYTES) throw eventTooLarge();
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

  constructor(decoder: StreamDecoder) {
    this.#decoder = decoder;
  }

  push(bytes: Buffer): Buffer[] {
    return listOf(this.#decoder.push(bytes));
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

function eventTooLarge(): PorticoError {
  const message = `The upstream sent one event of more than ${MAX_EVENT_BYTES >> 20} MiB.`;
  return upstreamError({ kind: "upstream", message }, 200);
}

import type { PorticoError } from "portico";

/** What a provider's decoder knows and does; `createDecoder` adds the order in which bytes and failures come out. */
export interface Decoding<U> {
  /** Reads bytes cut anywhere, and writes what they say. */
  push(bytes: Buffer): void;
  /** Reads what is left of the input at its end. */
  flush?(): void;
  /** Ends a response whose last event did not come. Throws where it was cut short. */
  close(): void;
  /** What was written since the last call. */
  take(): Buffer | undefined;
  usage(): U | undefined;
  finishReason(): string | undefined;
  text?(): string;
  failure(): PorticoError | undefined;
  done(): boolean;
}

/** What came before a failure goes out first; the caller then finds the failure beside it. */
export function createDecoder<U>(decoding: Decoding<U>): Decoder<U> {
  return new Decoder(decoding);
}

// A class for its getters: of those in an object literal, V8 keeps a stream's until the next full garbage collection.
class Decoder<U> {
  readonly #decoding: Decoding<U>;

  constructor(decoding: Decoding<U>) {
    this.#decoding = decoding;
  }
  push(bytes: Buffer): Buffer | undefined {
    this.#decoding.push(bytes);
    return this.#taken();
  }
  end(): Buffer | undefined {
    const decoding = this.#decoding;
    const failure = decoding.failure();
    if (failure !== undefined) throw failure;
    decoding.flush?.();
    if (decoding.failure() === undefined && !decoding.done()) decoding.close();
    return this.#taken();
  }
  get usage(): U | undefined {
    return this.#decoding.usage();
  }
  get finishReason(): string | undefined {
    return this.#decoding.finishReason();
  }
  get text(): string | undefined {
    return this.#decoding.text?.();
  }
  get failure(): PorticoError | undefined {
    return this.#decoding.failure();
  }
  get done(): boolean {
    return this.#decoding.done();
  }

  #taken(): Buffer | undefined {
    const bytes = this.#decoding.take();
    if (bytes !== undefined) return bytes;
    const failure = this.#decoding.failure();
    if (failure !== undefined) throw failure;
    return undefined;
  }
}

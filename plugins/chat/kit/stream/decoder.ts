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
export function createDecoder<U>(decoding: Decoding<U>) {
  function taken(): Buffer | undefined {
    const bytes = decoding.take();
    if (bytes !== undefined) return bytes;
    const failure = decoding.failure();
    if (failure !== undefined) throw failure;
    return undefined;
  }

  return {
    push(bytes: Buffer): Buffer | undefined {
      decoding.push(bytes);
      return taken();
    },
    end(): Buffer | undefined {
      const failure = decoding.failure();
      if (failure !== undefined) throw failure;
      decoding.flush?.();
      if (decoding.failure() === undefined && !decoding.done()) decoding.close();
      return taken();
    },
    get usage() {
      return decoding.usage();
    },
    get finishReason() {
      return decoding.finishReason();
    },
    get text() {
      return decoding.text?.();
    },
    get failure() {
      return decoding.failure();
    },
    get done() {
      return decoding.done();
    },
  };
}

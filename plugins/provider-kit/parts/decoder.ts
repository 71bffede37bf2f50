/** The common part of all decoders of streams: it determines the order of parts and failures. */
import type { PorticoError } from "portico";
import type { PartDecoder, StreamPart } from "../types/parts.ts";
import type { PartWriter } from "./part-writer.ts";

/** The part of a decoder that depends on the format. */
export interface Decoding {
  out: PartWriter;
  /** Reads bytes that may be cut anywhere. An error that it throws ends the stream: `upstreamError` for an error event. */
  reader: { push(bytes: Buffer): void; end?(): void };
  /** Ends a response whose last event did not arrive. Throws if the response was cut short. */
  close(): void;
  done(): boolean;
  /** Returns true if every choice that has begun is finished. Absent: `out.finished` applies. */
  finished?(): boolean;
}

export function createPartDecoder(decoding: Decoding): PartDecoder {
  return new Decoder(decoding);
}

class Decoder implements PartDecoder {
  failure: PorticoError | undefined;
  readonly #decoding: Decoding;

  constructor(decoding: Decoding) {
    this.#decoding = decoding;
  }

  get done(): boolean {
    return this.#decoding.done();
  }

  get finished(): boolean {
    const { finished, out } = this.#decoding;
    return finished === undefined ? out.finished : finished();
  }

  push(bytes: Buffer): StreamPart[] {
    if (this.done || this.failure !== undefined) return [];
    return this.#read(() => this.#decoding.reader.push(bytes));
  }

  end(): StreamPart[] {
    if (this.failure !== undefined) throw this.failure;
    return this.#read(() => {
      this.#decoding.reader.end?.();
      if (!this.done) this.#decoding.close();
    });
  }

  /** Runs `read`. If parts precede an error that it throws, returns them and keeps the error in `failure`. */
  #read(read: () => void): StreamPart[] {
    try {
      read();
    } catch (error) {
      const parts = this.#decoding.out.take();
      if (parts.length === 0) throw error;
      this.failure = error as PorticoError;
      return parts;
    }
    return this.#decoding.out.take();
  }
}

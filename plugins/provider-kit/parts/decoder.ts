/** What all decoders of streams have in common: in which order parts and failures come out. */
import type { PorticoError } from "portico";
import type { PartDecoder, StreamPart } from "../types/parts.ts";
import type { PartWriter } from "./part-writer.ts";

/** What a decoder of one format knows and does. */
export interface Decoding {
  out: PartWriter;
  /** Reads bytes that may be cut anywhere. What its events throw ends the stream: `upstreamError` for an error event. */
  reader: { push(bytes: Buffer): void; end?(): void };
  /** Ends a response whose last event did not come. Throws where it was cut short. */
  close(): void;
  done(): boolean;
  /** Every choice that has begun is finished. Absent: as `out` knows it. */
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

  /** Parts before an error in the same bytes are still returned; the error then waits in `failure`. */
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

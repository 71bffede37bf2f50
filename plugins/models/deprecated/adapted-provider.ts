/**
 * Providers that were written against `portico/chat`, whose decoders write bytes of an OpenAI stream: their bytes are read
 * back into parts.
 */
import type { PorticoError } from "portico";
import {
  createOpenAiDecoder,
  type PartDecoder,
  type PartDefaults,
  type StreamDecoder,
  type StreamPart,
  type Usage,
} from "portico/provider";

export class AdaptedDecoder implements PartDecoder {
  readonly #bytes: StreamDecoder;
  readonly #parts: PartDecoder;
  #usage: Usage | undefined;

  constructor(bytes: StreamDecoder, defaults: PartDefaults) {
    this.#bytes = bytes;
    this.#parts = createOpenAiDecoder(defaults);
  }

  get failure(): PorticoError | undefined {
    return this.#parts.failure ?? this.#bytes.failure;
  }
  get done(): boolean {
    return this.#parts.done;
  }
  get finished(): boolean {
    return this.#bytes.finishReason !== undefined;
  }

  push(bytes: Buffer): StreamPart[] {
    return this.#read(this.#bytes.push(bytes));
  }

  end(): StreamPart[] {
    const last = this.#read(this.#bytes.end());
    return this.done || this.failure !== undefined ? last : [...last, ...this.#parts.end()];
  }

  #read(bytes: Buffer | undefined): StreamPart[] {
    const parts = bytes === undefined ? [] : this.#parts.push(bytes);
    const { usage } = this.#bytes;
    // It writes its usage only where the client asked for it, and knows it all the same.
    if (usage === undefined || usage === this.#usage) return parts;
    this.#usage = usage;
    return [...parts, { type: "usage", usage }];
  }
}

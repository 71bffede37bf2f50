/** Reads an upstream's stream and gives it the form in which it goes on; keeps its text where somebody wants it. */
import type { PorticoError } from "portico";
import type { StreamDecoder, Usage, WireRequest } from "portico/chat";
import { OpenAiStream } from "../../openai/stream.ts";
import type { WireAttempt } from "../attempt.ts";

export class StreamReading implements StreamDecoder {
  readonly #decoder: StreamDecoder;
  /** Reads along where the text is wanted and the decoder does not keep it. */
  #reader: OpenAiStream | undefined;

  constructor({ wire, native, target, job }: WireAttempt, call: WireRequest) {
    const { created, model } = target;
    const mender = () =>
      new OpenAiStream({ id: target.id, created, model, includeUsage: job.includeUsage, capture: job.capture });
    const own = (native ?? wire).decoder?.(call, target);
    this.#decoder = own ?? mender();
    if (own !== undefined && job.capture && native === undefined) this.#reader = mender();
  }

  push(bytes: Buffer): Buffer | undefined {
    return this.#readAlong(this.#decoder.push(bytes));
  }

  end(): Buffer | undefined {
    return this.#readAlong(this.#decoder.end());
  }

  get usage(): Usage | undefined {
    return this.#decoder.usage;
  }
  get finishReason(): string | undefined {
    return this.#decoder.finishReason;
  }
  get text(): string {
    return this.#decoder.text ?? this.#reader?.text ?? "";
  }
  get failure(): PorticoError | undefined {
    return this.#decoder.failure;
  }
  get done(): boolean {
    return this.#decoder.done === true;
  }

  #readAlong(bytes: Buffer | undefined): Buffer | undefined {
    if (bytes !== undefined && this.#reader !== undefined) {
      try {
        this.#reader.push(bytes);
      } catch {
        this.#reader = undefined;
      }
    }
    return bytes;
  }
}

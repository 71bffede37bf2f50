/** Reads an upstream's stream and gives it the form in which it goes on; keeps its text where somebody wants it. */
import type { PorticoError } from "portico";
import type { StreamDecoder, Usage, WireRequest } from "portico/chat";
import { MaskedStream } from "../../secrets/masked-stream.ts";
import type { SecretMask } from "../../secrets/secret-mask.ts";
import { OpenAiStream } from "../../openai/stream.ts";
import type { WireAttempt } from "../attempt.ts";

export class StreamReading implements StreamDecoder {
  readonly #decoder: StreamDecoder;
  /** Undefined where there is no secret to hide, or the decoder hides them. */
  readonly #masked: MaskedStream | undefined;
  readonly #mask: SecretMask;
  /** Reads along where the text is wanted and the decoder does not keep it. */
  #reader: OpenAiStream | undefined;

  constructor({ wire, native, target, job }: WireAttempt, call: WireRequest) {
    const { created, model } = target;
    const mender = (mask?: MaskedStream) =>
      new OpenAiStream({ id: target.id, created, model, includeUsage: job.includeUsage, capture: job.capture }, mask);
    const own = (native ?? wire).decoder?.(call, target);
    const masked = target.mask.watchesContent ? new MaskedStream(target.mask) : undefined;
    this.#decoder = own ?? mender(masked);
    this.#mask = target.mask;
    this.#masked = own === undefined ? undefined : masked;
    if (own !== undefined && job.capture && native === undefined) this.#reader = mender();
  }

  push(bytes: Buffer): Buffer | undefined {
    const out = this.#decoder.push(bytes);
    return this.#readAlong(out === undefined ? undefined : this.#hide(out));
  }

  end(): Buffer | undefined {
    const out = this.#decoder.end();
    const last = out === undefined ? undefined : (this.#masked?.push(out) ?? out);
    const held = this.#masked?.end();
    return this.#readAlong(last === undefined || held === undefined ? (last ?? held) : Buffer.concat([last, held]));
  }

  get usage(): Usage | undefined {
    return this.#decoder.usage;
  }
  get finishReason(): string | undefined {
    return this.#decoder.finishReason;
  }
  get text(): string {
    return this.#mask.text(this.#decoder.text ?? this.#reader?.text ?? "");
  }
  get failure(): PorticoError | undefined {
    return this.#decoder.failure;
  }
  get done(): boolean {
    return this.#decoder.done === true;
  }

  #hide(bytes: Buffer): Buffer {
    return this.#masked === undefined ? bytes : this.#masked.push(bytes);
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

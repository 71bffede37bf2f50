/** Reads an upstream's stream and gives it the form in which it goes on; keeps its text where somebody wants it. */
import type { PorticoError } from "portico";
import type { StreamDecoder, Usage, WireRequest } from "portico/chat";
import type { TextSpan } from "../../kit/stream/text-spans.ts";
import { MaskedStream } from "../../secrets/masked-stream.ts";
import type { SecretMask } from "../../secrets/secret-mask.ts";
import { eventTooLarge, MAX_EVENT_BYTES, OpenAiStream } from "../../openai/stream.ts";
import type { WireAttempt } from "../attempt.ts";

export class StreamReading implements StreamDecoder {
  readonly #decoder: StreamDecoder;
  /** Undefined where there is no secret to hide, or the decoder hides them. */
  readonly #masked: MaskedStream | undefined;
  readonly #mask: SecretMask;
  /** The decoder, where it tells of texts. */
  readonly #telling: OpenAiStream | undefined;
  /** Reads along where the text is wanted and the decoder does not keep it. */
  #reader: OpenAiStream | undefined;
  /** What has come since the decoder last said something: it holds an event whose end does not come. */
  #unheard = 0;

  constructor({ wire, native, target, job }: WireAttempt, call: WireRequest) {
    const { id, created, model } = target;
    const options = { id, created, model, includeUsage: job.includeUsage, capture: job.capture };
    const own = (native ?? wire).decoder?.(call, target);
    const masked = target.mask.watchesContent ? new MaskedStream(target.mask) : undefined;
    this.#mask = target.mask;
    if (own === undefined) {
      this.#decoder = this.#telling = new OpenAiStream(
        { ...options, tellTexts: job.leaves },
        masked,
      );
    } else {
      this.#decoder = own;
      this.#masked = masked;
      if (job.capture && native === undefined) this.#reader = new OpenAiStream(options);
    }
  }

  push(bytes: Buffer): Buffer | undefined {
    const out = this.#decoder.push(bytes);
    this.#unheard = out === undefined ? this.#unheard + bytes.length : 0;
    if (this.#unheard > MAX_EVENT_BYTES) throw eventTooLarge();
    return this.#readAlong(out === undefined ? undefined : this.#hide(out));
  }

  /** See {@link OpenAiStream.takeTexts}. */
  takeTexts(): readonly TextSpan[] | undefined {
    return this.#telling?.takeTexts();
  }

  end(): Buffer | undefined {
    const out = this.#decoder.end();
    const last = out === undefined ? undefined : (this.#masked?.push(out) ?? out);
    const held = this.#masked?.end();
    return this.#readAlong(
      last === undefined || held === undefined ? (last ?? held) : Buffer.concat([last, held]),
    );
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

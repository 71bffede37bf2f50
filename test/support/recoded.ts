/** Decodes a stream of an upstream's format and encodes it in OpenAI's, as a gateway that changes nothing does. */
import {
  createOpenAiDecoder,
  OpenAiEncoder,
  type PartDecoder,
  type StreamPart,
  type Usage,
} from "portico/provider";

interface Options {
  id: string;
  created: number;
  model: string;
  includeUsage: boolean;
}

export class StreamRecoder {
  usage: Usage | undefined;
  finishReason: string | undefined;
  text = "";
  readonly #decoder: PartDecoder;
  readonly #encoder: OpenAiEncoder;
  #finished = false;

  constructor(options: Options, decoder: PartDecoder = createOpenAiDecoder(options)) {
    this.#decoder = decoder;
    this.#encoder = new OpenAiEncoder(options);
  }

  get failure() {
    return this.#decoder.failure;
  }
  get done(): boolean {
    return this.#decoder.done;
  }

  push(bytes: Buffer): Buffer | undefined {
    if (this.done) return undefined;
    return this.#write(this.#decoder.push(bytes));
  }

  end(): Buffer | undefined {
    if (this.done) return undefined;
    return this.#write(this.#decoder.end());
  }

  #write(parts: readonly StreamPart[]): Buffer | undefined {
    for (const part of parts) this.#recordPart(part);
    if (this.#decoder.finished) this.finishReason = this.#firstFinishReason;
    let out = this.#encoder.write(parts);
    if (this.done && !this.#finished) {
      this.#finished = true;
      out += this.#encoder.end();
    }
    return out === "" ? undefined : Buffer.from(out);
  }

  #firstFinishReason: string | undefined;

  #recordPart(part: StreamPart): void {
    if (part.type === "usage") this.usage = part.usage;
    if (part.type === "text" && part.choice === 0) this.text += part.text;
    if (part.type === "finish") this.#firstFinishReason ??= part.reason;
  }
}

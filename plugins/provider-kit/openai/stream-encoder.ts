/** Encodes the stream of `/v1/chat/completions`. */
import type { PorticoError } from "portico";
import type { StreamEncoder, StreamPart } from "../types/parts.ts";
import { ChunkEncoder, type ChunkOptions } from "./chunk-encoder.ts";

const DONE = "data: [DONE]\n\n";

export class OpenAiEncoder implements StreamEncoder {
  readonly #chunks: ChunkEncoder;
  #out = "";

  constructor(options: ChunkOptions) {
    this.#chunks = new ChunkEncoder(options, {
      chunk: (chunk) => {
        this.#out += `data: ${JSON.stringify(chunk)}\n\n`;
      },
      event: ({ json }) => {
        this.#out += `data: ${json}\n\n`;
      },
      comment: (text) => {
        this.#out += `:${text}\n\n`;
      },
    });
  }

  write(parts: readonly StreamPart[]): string {
    this.#chunks.write(parts);
    return this.#take();
  }

  end(): string {
    this.#chunks.end();
    return this.#take() + DONE;
  }

  fail(error: PorticoError): string {
    return errorEvent(error);
  }

  error(error: PorticoError): string {
    return errorEvent(error);
  }

  #take(): string {
    const out = this.#out;
    this.#out = "";
    return out;
  }
}

/** Returns the event that ends a stream which failed after it had begun, followed by `[DONE]`. */
export function errorEvent({ message, type, param, code }: PorticoError): string {
  const body = { error: { message, type: type ?? "api_error", param: param ?? null, code } };
  return `data: ${JSON.stringify(body)}\n\n${DONE}`;
}

/** The stream of an upstream that speaks OpenAI's format. */
import type { PorticoError } from "portico";
import type { PartDefaults } from "../parts/part-writer.ts";
import { PartWriter } from "../parts/part-writer.ts";
import { isObject } from "../request/is-object.ts";
import { notJson } from "../response/errors-in-response.ts";
import { createSseParser } from "../stream/sse-parser.ts";
import { upstreamError } from "../stream/upstream-error.ts";
import type { PartDecoder, StreamPart } from "../types/parts.ts";
import { ChunkReader } from "./chunk-reader.ts";
import { errorIn } from "./errors.ts";

export class OpenAiDecoder implements PartDecoder {
  failure: PorticoError | undefined;
  /** `[DONE]` has come. */
  done = false;
  /** An event has come, be it only one of usage. */
  #hasRead = false;
  readonly #out: PartWriter;
  readonly #reader: ChunkReader;
  readonly #parser;

  constructor(defaults: PartDefaults) {
    this.#out = new PartWriter(defaults);
    this.#reader = new ChunkReader(this.#out, defaults);
    this.#parser = createSseParser(
      (data, name) => this.#event(data.toString("utf8"), name),
      (comment) => this.#out.comment(comment.toString("utf8")),
    );
  }

  get finished(): boolean {
    return this.#out.finished;
  }

  push(bytes: Buffer): StreamPart[] {
    return this.#reading(() => this.#parser.push(bytes));
  }

  end(): StreamPart[] {
    return this.#reading(() => {
      this.#parser.end();
      if (this.done) return;
      if (!this.#reader.started) throw nothingCame();
      this.#close();
    });
  }

  /** What came before an error in the same bytes is still handed on; the error then waits in `failure`. */
  #reading(read: () => void): StreamPart[] {
    try {
      read();
    } catch (error) {
      const parts = this.#out.take();
      if (parts.length === 0) throw error;
      this.failure = error as PorticoError;
      return parts;
    }
    return this.#out.take();
  }

  #event(text: string, name: string): void {
    if (this.done || text === "") return;
    if (text.trim() === "[DONE]") {
      // An end alone is no response: a server may say so that it did not understand the request.
      if (!this.#hasRead) throw nothingCame();
      this.#close();
      return;
    }
    const value = this.#parse(text);
    if (value === undefined) return;
    const error = errorIn(name === "error" && !value["error"] ? { error: value } : value);
    if (error !== undefined) throw error;
    this.#hasRead = true;
    // Data that stood on several lines cannot go out as it came.
    this.#reader.read(value, text.includes("\n") ? undefined : text);
  }

  /** Undefined for what is cut off behind the end of all choices: that is no loss. */
  #parse(text: string) {
    let value: unknown;
    try {
      value = JSON.parse(text);
    } catch {
      if (this.finished) return undefined;
      throw notJson();
    }
    if (isObject(value)) return value;
    const message = "The upstream sent an event that is not an object.";
    throw upstreamError({ kind: "upstream", message }, 200);
  }

  #close(): void {
    this.#reader.close();
    this.done = true;
  }
}

function nothingCame() {
  const message = "The upstream's stream ended before anything came.";
  return upstreamError({ kind: "upstream", message }, 200);
}

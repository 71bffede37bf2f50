/** Decodes the stream of an upstream that speaks OpenAI's format. */
import { createPartDecoder } from "../parts/decoder.ts";
import { type PartDefaults, PartWriter } from "../parts/part-writer.ts";
import { isObject, type JsonMembers } from "../request/is-object.ts";
import { notJson } from "../response/errors-in-response.ts";
import { createSseParser } from "../stream/sse-parser.ts";
import { type UpstreamError, upstreamError } from "../stream/upstream-error.ts";
import type { PartDecoder } from "../types/parts.ts";
import { ChunkReader } from "./chunk-reader.ts";
import { errorIn } from "./errors.ts";

/** `shortcut`: see `RepeatedEvent`. Without it every event is parsed, with the same result. */
export function createOpenAiDecoder(
  defaults: PartDefaults,
  options: { shortcut?: boolean } = {},
): PartDecoder {
  const reader = new EventReader(defaults, options);
  const { out } = reader;
  return createPartDecoder({
    out,
    reader: createSseParser(
      (data, name) => reader.event(data.toString("utf8"), name),
      (comment) => out.comment(comment.toString("utf8")),
    ),
    close: () => reader.end(),
    done: () => reader.isDone,
  });
}

class EventReader {
  readonly out: PartWriter;
  /** True once `[DONE]` or the end of the body has arrived. */
  isDone = false;
  readonly #chunks: ChunkReader;
  /** True once an event has arrived, even if it contains only usage. */
  #hasRead = false;

  constructor(defaults: PartDefaults, options: { shortcut?: boolean }) {
    this.out = new PartWriter(defaults);
    this.#chunks = new ChunkReader(this.out, defaults, options);
  }

  event(text: string, name: string): void {
    if (this.isDone || text === "") return;
    // Data that spans several lines cannot be written unchanged.
    const json = text.includes("\n") ? undefined : text;
    if (json !== undefined && name === "message" && this.#chunks.repeat(json)) return;
    if (text.trim() === "[DONE]") this.#endWithDone();
    else this.#readChunk(text, json, name);
  }

  /** Ends a body that had no `[DONE]`. */
  end(): void {
    if (!this.#chunks.started) throw emptyStream();
    this.#close();
  }

  /** Ends the stream. `[DONE]` alone is an error: some servers respond with it to a request that they do not understand. */
  #endWithDone(): void {
    if (!this.#hasRead) throw emptyStream();
    this.#close();
  }

  #close(): void {
    this.#chunks.close();
    this.isDone = true;
  }

  #readChunk(text: string, json: string | undefined, name: string): void {
    const value = this.#parse(text);
    if (value === undefined) return;
    const error = errorIn(name === "error" && !value["error"] ? { error: value } : value);
    if (error !== undefined) throw error;
    this.#hasRead = true;
    this.#chunks.read(value, json);
  }

  /** Parses an event. Returns undefined for one that is cut off after all choices have ended, since nothing is lost. */
  #parse(text: string): JsonMembers | undefined {
    let value: unknown;
    try {
      value = JSON.parse(text);
    } catch {
      if (this.out.finished) return undefined;
      throw notJson();
    }
    if (isObject(value)) return value;
    const message = "The upstream sent an event that is not an object.";
    throw upstreamError({ kind: "upstream", message }, 200);
  }
}

function emptyStream(): UpstreamError {
  const message = "The upstream's stream ended before it sent anything.";
  return upstreamError({ kind: "upstream", message }, 200);
}

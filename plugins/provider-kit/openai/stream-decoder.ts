/** The stream of an upstream that speaks OpenAI's format. */
import { createPartDecoder } from "../parts/decoder.ts";
import { type PartDefaults, PartWriter } from "../parts/part-writer.ts";
import { isObject, type JsonMembers } from "../request/is-object.ts";
import { notJson } from "../response/errors-in-response.ts";
import { createSseParser } from "../stream/sse-parser.ts";
import { type UpstreamError, upstreamError } from "../stream/upstream-error.ts";
import type { PartDecoder } from "../types/parts.ts";
import { ChunkReader } from "./chunk-reader.ts";
import { errorIn } from "./errors.ts";

/** `shortcut`: see `RepeatedEvent`; without it every event is parsed, which gives the same. */
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
  /** `[DONE]` has come. */
  isDone = false;
  readonly #chunks: ChunkReader;
  /** An event has come, be it only one of usage. */
  #hasRead = false;

  constructor(defaults: PartDefaults, options: { shortcut?: boolean }) {
    this.out = new PartWriter(defaults);
    this.#chunks = new ChunkReader(this.out, defaults, options);
  }

  event(text: string, name: string): void {
    if (this.isDone || text === "") return;
    // Data of several lines cannot be written unchanged.
    const json = text.includes("\n") ? undefined : text;
    if (json !== undefined && name === "message" && this.#chunks.repeat(json)) return;
    if (text.trim() === "[DONE]") this.#done();
    else this.#chunk(text, json, name);
  }

  /** The body has ended without `[DONE]`. */
  end(): void {
    if (!this.#chunks.started) throw nothingCame();
    this.#close();
  }

  /** An end alone is no response: some servers answer so where they did not understand the request. */
  #done(): void {
    if (!this.#hasRead) throw nothingCame();
    this.#close();
  }

  #close(): void {
    this.#chunks.close();
    this.isDone = true;
  }

  #chunk(text: string, json: string | undefined, name: string): void {
    const value = this.#parse(text);
    if (value === undefined) return;
    const error = errorIn(name === "error" && !value["error"] ? { error: value } : value);
    if (error !== undefined) throw error;
    this.#hasRead = true;
    this.#chunks.read(value, json);
  }

  /** Undefined for what is cut off behind the end of all choices: that is no loss. */
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

function nothingCame(): UpstreamError {
  const message = "The upstream's stream ended before it sent anything.";
  return upstreamError({ kind: "upstream", message }, 200);
}

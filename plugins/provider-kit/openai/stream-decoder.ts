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
  const out = new PartWriter(defaults);
  const chunks = new ChunkReader(out, defaults, options);
  /** `[DONE]` has come. */
  let done = false;
  /** An event has come, be it only one of usage. */
  let hasRead = false;

  function onEvent(data: Buffer, name: string): void {
    const text = data.toString("utf8");
    if (done || text === "") return;
    if (name === "message" && !text.includes("\n") && chunks.repeat(text)) {
      hasRead = true;
      return;
    }
    if (text.trim() === "[DONE]") {
      // An end alone is no response: a server may say so that it did not understand the request.
      if (!hasRead) throw nothingCame();
      close();
      return;
    }
    const value = parse(text);
    if (value === undefined) return;
    const error = errorIn(name === "error" && !value["error"] ? { error: value } : value);
    if (error !== undefined) throw error;
    hasRead = true;
    // Data that stood on several lines cannot go out as it came.
    chunks.read(value, text.includes("\n") ? undefined : text);
  }

  /** Undefined for what is cut off behind the end of all choices: that is no loss. */
  function parse(text: string): JsonMembers | undefined {
    let value: unknown;
    try {
      value = JSON.parse(text);
    } catch {
      if (out.finished) return undefined;
      throw notJson();
    }
    if (isObject(value)) return value;
    const message = "The upstream sent an event that is not an object.";
    throw upstreamError({ kind: "upstream", message }, 200);
  }

  function close(): void {
    chunks.close();
    done = true;
  }

  return createPartDecoder({
    out,
    reader: createSseParser(onEvent, (comment) => out.comment(comment.toString("utf8"))),
    close() {
      if (!chunks.started) throw nothingCame();
      close();
    },
    done: () => done,
  });
}

function nothingCame(): UpstreamError {
  const message = "The upstream's stream ended before anything came.";
  return upstreamError({ kind: "upstream", message }, 200);
}

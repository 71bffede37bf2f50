/** Decodes a stream whose events or lines are JSON objects, which the provider interprets one by one. */
import { parseObject } from "../request/parse-object.ts";
import { cutShort, notJson } from "../response/errors-in-response.ts";
import { createLineParser } from "../stream/line-parser.ts";
import { createSseParser } from "../stream/sse-parser.ts";
import type { PartDecoder } from "../types/parts.ts";
import type { Target } from "../types/provider.ts";
import { createPartDecoder } from "./decoder.ts";
import { PartWriter } from "./part-writer.ts";
import type { TrackerOptions } from "./tool-calls.ts";

export interface JsonStreamOptions<Event> extends TrackerOptions {
  /** Server-sent events whose `data` is JSON, or one JSON object per line. */
  form: "events" | "lines";
  /**
   * Adds the parts of an event. `out.finish` ends the stream, and later events are not read. An error that it throws ends
   * the stream: `upstreamError` for an error event.
   */
  read(event: Event, out: PartWriter): void;
}

/** Creates the decoder. It skips `[DONE]`, and throws if the stream ends before `out.finish`. */
export function decodeJsonStream<Event extends object>(
  { id, created, model }: Pick<Target, "id" | "created" | "model">,
  { form, read, ...options }: JsonStreamOptions<Event>,
): PartDecoder {
  const out = new PartWriter({ id, created, model }, options);
  const onData = (data: Buffer) => {
    if (out.finished || data.equals(DONE)) return;
    const event = parseObject(data);
    if (event === undefined) throw notJson();
    read(event as Event, out);
  };
  return createPartDecoder({
    out,
    reader: form === "events" ? createSseParser(onData) : createLineParser(onData),
    close() {
      throw cutShort();
    },
    done: () => out.finished,
  });
}

const DONE = Buffer.from("[DONE]");

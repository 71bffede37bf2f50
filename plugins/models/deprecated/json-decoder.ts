/** The decoder of a stream whose events, or lines, are JSON objects: a provider only says what each of them means. */
import { isPorticoError, type PorticoError } from "portico";
import {
  createLineParser,
  createSseParser,
  cutShort,
  notJson,
  parseObject,
  type StreamDecoder,
  type Target,
  type Usage,
} from "portico/provider";
import { type ChunkWriter, createChunkWriter } from "./chunk-writer.ts";
import { createDecoder } from "./decoder.ts";

export interface JsonDecoderOptions<Event> {
  /** Server-sent events, whose `data` is JSON, or a JSON object a line. */
  form: "events" | "lines";
  /** The caller asked for the usage chunk: `wantsUsage(request)`, remembered in `WireRequest.state`. */
  includeUsage: boolean;
  /** Writes what an event says. What it throws ends the stream with that error: `upstreamError` for an error event. */
  read(event: Event, out: JsonOut): void;
}

/** `end` closes the stream with OpenAI's reason: `stop`, `length`, `tool_calls`, `content_filter`. What follows is not read. */
export interface JsonOut
  extends Pick<ChunkWriter, "text" | "reasoning" | "toolCall" | "toolArguments" | "delta"> {
  end(reason: string, usage?: Usage): void;
}

/** A stream that ends without `end` was cut short, and says so. `[DONE]` is not handed on. */
export function createJsonDecoder<Event extends object>(
  target: Pick<Target, "id" | "created" | "model">,
  { form, includeUsage, read }: JsonDecoderOptions<Event>,
): StreamDecoder {
  const { id, created, model } = target;
  const writer = createChunkWriter({ id, created, model, includeUsage });
  let usage: Usage | undefined;
  let finish: string | undefined;
  let failure: PorticoError | undefined;

  const out: JsonOut = {
    text: writer.text,
    reasoning: writer.reasoning,
    toolCall: writer.toolCall,
    toolArguments: writer.toolArguments,
    delta: writer.delta,
    end(reason, told) {
      if (finish !== undefined) return;
      finish = reason;
      usage = told;
      writer.finish(reason);
      if (told !== undefined) writer.usage(told);
      writer.done();
    },
  };
  const onData = (data: Buffer) => {
    if (failure !== undefined || finish !== undefined || data.equals(DONE)) return;
    const event = parseObject(data);
    try {
      if (event === undefined) throw notJson();
      read(event as Event, out);
    } catch (error) {
      // Anything else is a bug of the provider's, and told as one.
      if (!isPorticoError(error)) throw error;
      failure = error;
    }
  };
  const parser = form === "events" ? createSseParser(onData) : createLineParser(onData);
  return createDecoder({
    push: (bytes) => parser.push(bytes),
    flush: () => parser.end(),
    close() {
      throw cutShort();
    },
    take: () => writer.take(),
    usage: () => usage,
    finishReason: () => finish,
    failure: () => failure,
    done: () => finish !== undefined,
  });
}

const DONE = Buffer.from("[DONE]");

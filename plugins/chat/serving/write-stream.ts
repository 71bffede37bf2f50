/** Writes a streamed response: as fast as the client reads, with comments in the silence; as it is, or translated. */
import type { ServerResponse } from "node:http";
import type { StreamTranslator } from "portico/chat";
import type { ChatResponse, ResponseStream, Sink } from "../job.ts";
import { readChunks } from "../openai/read-chunks.ts";
import { ResponseWriter } from "./response-writer.ts";

export const STREAM_HEADERS = {
  "content-type": "text/event-stream; charset=utf-8",
  "cache-control": "no-cache, no-transform",
  "x-accel-buffering": "no",
};

/** Resolves when the response is over, from either side. `alive`: comments may be put in between. */
export function writeStream(
  res: ServerResponse,
  source: ResponseStream,
  alive: boolean,
  sinkOf: (out: ResponseWriter) => Sink,
): Promise<void> {
  // A client who has disconnected already will not be told of again.
  if (res.destroyed) {
    source.cancel();
    return Promise.resolve();
  }
  return new Promise((resolve) => {
    const out = new ResponseWriter(res, alive, () => source.resume());
    res.once("close", () => {
      out.stop();
      resolve();
    });
    source.start(sinkOf(out));
  });
}

/** Writes a stream in the form that the translator gives it; what came in that form already passes as it is. */
export function writeTranslated(
  res: ServerResponse,
  response: ChatResponse,
  translator: StreamTranslator,
): Promise<void> {
  res.writeHead(200, STREAM_HEADERS);
  return writeStream(res, response.stream!, true, (out) =>
    response.native === true ? passing(out, translator) : translating(out, translator),
  );
}

function passing(out: ResponseWriter, translator: StreamTranslator): Sink {
  return {
    write: (bytes) => out.write(bytes),
    end: () => out.end(),
    fail: (error) => out.end(translator.fail(error)),
  };
}

function translating(out: ResponseWriter, translator: StreamTranslator): Sink {
  let text = "";
  const parser = readChunks((chunk) => {
    text += translator.chunk(chunk);
  });
  return {
    write(bytes) {
      text = "";
      parser.push(bytes);
      return out.write(text);
    },
    end() {
      const last = translator.end();
      if (typeof last === "string") out.end(last);
      else void last.then((text) => out.end(text));
    },
    fail: (error) => out.end(translator.fail(error)),
  };
}

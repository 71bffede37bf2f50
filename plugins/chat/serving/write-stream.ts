/** Writes a streamed response: as fast as the client reads, with comments in the silence; as it is, or translated. */
import type { ServerResponse } from "node:http";
import type { PorticoError } from "portico";
import type { StreamTranslator } from "portico/chat";
import type { ChatResponse, ResponseStream, Sink } from "../job.ts";
import { keepAlive } from "./keep-alive.ts";
import { readChunks } from "../openai/read-chunks.ts";

export const STREAM_HEADERS = {
  "content-type": "text/event-stream; charset=utf-8",
  "cache-control": "no-cache, no-transform",
  "x-accel-buffering": "no",
};

/** Resolves when the response is over, from either side. `alive`: comments may be put in between. */
export function writeStream(res: ServerResponse, source: ResponseStream, alive: boolean, sink: Sink): Promise<void> {
  // A client who has disconnected already will not be told of again.
  if (res.destroyed) {
    source.cancel();
    return Promise.resolve();
  }
  return new Promise((resolve) => {
    const comments = alive ? keepAlive(res) : undefined;
    res.on("drain", () => source.resume());
    res.once("close", () => {
      comments?.stop();
      resolve();
    });
    source.start({
      write(bytes) {
        comments?.touch();
        return sink.write(bytes);
      },
      end: () => sink.end(),
      fail: (error) => sink.fail(error),
    });
  });
}

/** Writes a stream in the form that the translator gives it; what came in that form already passes as it is. */
export function writeTranslated(
  res: ServerResponse,
  response: ChatResponse,
  translator: StreamTranslator,
): Promise<void> {
  res.writeHead(200, STREAM_HEADERS);
  return writeStream(
    res,
    response.stream!,
    true,
    response.native === true ? passing(res, translator) : translating(res, translator),
  );
}

function passing(res: ServerResponse, translator: StreamTranslator): Sink {
  return {
    write: (bytes) => res.write(bytes),
    end() {
      res.end();
    },
    fail: (error) => res.end(translator.fail(error)),
  };
}

function translating(res: ServerResponse, translator: StreamTranslator): Sink {
  let out = "";
  const parser = readChunks((chunk) => {
    out += translator.chunk(chunk);
  });
  const fail = (error: PorticoError) => res.end(translator.fail(error));
  return {
    write(bytes) {
      out = "";
      parser.push(bytes);
      return out === "" || res.write(out);
    },
    end() {
      const last = translator.end();
      if (typeof last === "string") res.end(last);
      else void last.then((text) => res.end(text));
    },
    fail,
  };
}

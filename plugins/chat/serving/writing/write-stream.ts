/** Writes a streamed response: as fast as the client reads, with comments in the silence; as it is, or translated. */
import { type Call, PorticoError, type Workers } from "portico";
import type { StreamTranslator } from "portico/chat";
import type { ChatResponse, ResponseStream, Sink } from "../../job.ts";
import { readChunks } from "../../openai/read-chunks.ts";
import { LastWords } from "./last-words.ts";
import { ResponseWriter } from "./response-writer.ts";

export const STREAM_HEADERS = {
  "content-type": "text/event-stream; charset=utf-8",
  "cache-control": "no-cache, no-transform",
  "x-accel-buffering": "no",
};

/** Resolves when the response is over, from either side. `alive`: comments may be put in between. */
export function writeStream(
  call: Call,
  source: ResponseStream,
  alive: boolean,
  sinkOf: (out: ResponseWriter) => Sink,
  lastWords?: LastWords,
): Promise<void> {
  const { res } = call;
  // A client who has disconnected already will not be told of again.
  if (res.destroyed) {
    source.cancel();
    return Promise.resolve();
  }
  return new Promise((resolve) => {
    const out = new ResponseWriter(res, alive, () => source.resume(), lastWords);
    res.once("close", () => {
      out.stop();
      resolve();
    });
    const sink = sinkOf(out);
    call.onCut(() => {
      if (res.writableEnded) return;
      sink.fail(
        new PorticoError(
          "service_unavailable",
          "The gateway stopped before the response had ended.",
        ),
      );
      source.cancel();
    });
    source.start(sink);
  });
}

/**
 * Writes a stream in the form that the translator gives it; what came in that form already passes as it is. The
 * translator is its plugin's: where it throws, the upstream is cut and the response ends.
 */
export function writeTranslated(
  call: Call,
  response: ChatResponse,
  translator: StreamTranslator,
  workers: Workers | undefined,
): Promise<void> {
  const { res, log } = call;
  res.writeHead(200, STREAM_HEADERS);
  const source = response.stream!;
  const sinkOf = (out: ResponseWriter) => {
    const broken = (err: unknown): void => {
      log.error({ err }, "a stream could not be translated");
      source.cancel();
      try {
        out.end(
          translator.fail(
            new PorticoError("internal_error", "The response could not be translated."),
          ),
        );
      } catch {
        res.destroy();
      }
    };
    return guarded(
      response.native === true ? passing(out, translator) : translating(out, translator, broken),
      broken,
    );
  };
  return writeStream(call, source, true, sinkOf, LastWords.of(workers, translator.error));
}

/** Nothing is handed to a sink that has thrown. */
function guarded(sink: Sink, broken: (error: unknown) => void): Sink {
  let over = false;
  const attempt = <T>(act: () => T, otherwise: T): T => {
    if (over) return otherwise;
    try {
      return act();
    } catch (error) {
      over = true;
      broken(error);
      return otherwise;
    }
  };
  return {
    write: (bytes) => attempt(() => sink.write(bytes), true),
    end: () => attempt(() => sink.end(), undefined),
    fail: (error) => attempt(() => sink.fail(error), undefined),
  };
}

function passing(out: ResponseWriter, translator: StreamTranslator): Sink {
  return {
    write: (bytes) => out.write(bytes),
    end: () => out.end(),
    fail: (error) => out.end(translator.fail(error)),
  };
}

function translating(
  out: ResponseWriter,
  translator: StreamTranslator,
  broken: (error: unknown) => void,
): Sink {
  let text = "";
  const parser = readChunks(
    (chunk) => {
      text += translator.chunk(chunk);
    },
    translator.text &&
      ((more) => {
        text += translator.text!(more);
      }),
  );
  return {
    write(bytes) {
      text = "";
      parser.push(bytes);
      return out.write(text);
    },
    end() {
      const last = translator.end();
      if (typeof last === "string") out.end(last);
      else void last.then((text) => out.end(text)).catch(broken);
    },
    fail: (error) => out.end(translator.fail(error)),
  };
}

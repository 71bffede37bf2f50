/** Streams that are made of something else: a whole response, or another stream. */
import type { ChatCompletion } from "portico/chat";
import type { ResponseStream } from "./job.ts";
import { completionAsStream } from "./openai/completion.ts";

/** A whole response for a caller who has asked for a stream. */
export function streamOf(completion: ChatCompletion, includeUsage: boolean): ResponseStream {
  const bytes = completionAsStream(completion, includeUsage);
  const first = completion.choices[0];
  return {
    start(sink) {
      sink.write(bytes);
      sink.end();
    },
    resume() {},
    cancel() {},
    usage: completion.usage,
    finishReason: first?.finish_reason ?? undefined,
    text: typeof first?.message.content === "string" ? first.message.content : "",
  };
}

/** The stream of another one that begins, or is cancelled, in a way of its own. */
export function onTopOf(
  source: ResponseStream,
  own: Pick<ResponseStream, "start"> & Partial<Pick<ResponseStream, "cancel" | "resume">>,
): ResponseStream {
  return {
    start: own.start,
    resume: own.resume ?? (() => source.resume()),
    cancel: own.cancel ?? (() => source.cancel()),
    get usage() {
      return source.usage;
    },
    get finishReason() {
      return source.finishReason;
    },
    get text() {
      return source.text;
    },
  };
}

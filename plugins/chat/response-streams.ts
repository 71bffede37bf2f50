/** Streams that are made of something else: a whole response, or another stream. */
import type { ChatCompletion, Usage } from "portico/chat";
import type { ResponseStream, Sink } from "./job.ts";
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

/** What a stream does in a way of its own. */
type Own = Pick<ResponseStream, "start"> &
  Partial<Pick<ResponseStream, "cancel" | "resume">> & { text?: () => string };

/** The stream of another one that begins, or is cancelled, in a way of its own. */
export function onTopOf(source: ResponseStream, own: Own): ResponseStream {
  return new StreamOnTop(source, own);
}

// No object literal with getters: V8 gives each of those a hidden class of its own, which holds on to all that the getters
// see, a whole request, until the next full garbage collection.
class StreamOnTop implements ResponseStream {
  readonly #source: ResponseStream;
  readonly #own: Own;

  constructor(source: ResponseStream, own: Own) {
    this.#source = source;
    this.#own = own;
  }
  start(sink: Sink): void {
    this.#own.start(sink);
  }
  resume(): void {
    if (this.#own.resume === undefined) this.#source.resume();
    else this.#own.resume();
  }
  cancel(): void {
    if (this.#own.cancel === undefined) this.#source.cancel();
    else this.#own.cancel();
  }
  get usage(): Usage | undefined {
    return this.#source.usage;
  }
  get finishReason(): string | undefined {
    return this.#source.finishReason;
  }
  get text(): string {
    return this.#own.text === undefined ? this.#source.text : this.#own.text();
  }
}

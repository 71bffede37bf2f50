/** What an alias keeps of complete responses: the same request is answered with the same bytes, and costs nothing. */
import { createHash } from "node:crypto";
import type { ChatCompletion } from "portico/chat";
import type { ChatResponse, Job, ResponseStream, Shaping, Trace } from "../job.ts";
import { readCompletion, newCompletionId } from "../openai/completion.ts";
import { onTopOf } from "../response-streams.ts";
import type { AliasConfig } from "../schema.ts";

type CacheConfig = NonNullable<Exclude<AliasConfig, string>["cache"]>;

const MOST_BYTES = 32 * 1024 * 1024;
const MOST_BYTES_OF_ONE = 1024 * 1024;

interface Kept {
  bytes: Buffer;
  /** Of a stream. */
  told?: Pick<ResponseStream, "usage" | "finishReason" | "text">;
  trace: Pick<Trace, "channel" | "provider" | "model" | "dropped">;
  until: number;
}

export class ResponseCache {
  readonly #config: CacheConfig;
  /** The one that was not asked for longest comes first. */
  readonly #kept = new Map<string, Kept>();
  #bytes = 0;

  constructor(config: CacheConfig) {
    this.#config = config;
  }

  async answer(job: Job, shape: Shaping, ask: () => Promise<ChatResponse>): Promise<ChatResponse> {
    job.shape(shape);
    const key = this.keyOf(job);
    if (key === undefined) return ask();
    const kept = this.#find(key, job);
    job.trace.cache = kept === undefined ? "miss" : "hit";
    if (kept !== undefined) return kept;
    job.capture = true;
    // What is kept is in our own form, whoever asks for it next.
    job.native = undefined;
    const response = await ask();
    // Another model of the request's own list may have answered.
    return job.shapedBy === shape ? this.#watch(key, response, job) : response;
  }

  /** What the request, as it would be sent, is kept under; undefined where it passes by. */
  keyOf({ request, client, stream }: Job): string | undefined {
    if (this.#config.always !== true && request["temperature"] !== 0) return undefined;
    const owner =
      this.#config.shared === true ? "" : `${client.kind} ${client.keyId ?? client.key ?? ""}`;
    return createHash("sha256")
      .update(JSON.stringify([owner, stream, request]))
      .digest("base64");
  }

  #find(key: string, job: Job): ChatResponse | undefined {
    const kept = this.#kept.get(key);
    if (kept === undefined) return undefined;
    this.#drop(key);
    if (kept.until <= performance.now()) return undefined;
    this.#put(key, kept);
    Object.assign(job.trace, kept.trace);
    const { bytes, told } = kept;
    if (told === undefined) return { body: bytes, firstByteMs: 0 };
    const start: ResponseStream["start"] = (sink) => {
      sink.write(bytes);
      sink.end();
    };
    return {
      stream: { ...told, start, resume() {}, cancel() {} },
      streamType: "sse",
      firstByteMs: 0,
    };
  }

  /** Keeps the response once it has come whole. */
  #watch(key: string, response: ChatResponse, job: Job): ChatResponse {
    const { channel, provider, model, dropped, composite } = job.trace;
    if (composite || response.streamType === "json") return response;
    const keep = (bytes: Buffer, told?: Kept["told"]) => {
      const trace = { channel, provider, model, dropped };
      this.#put(key, { bytes, told, trace, until: performance.now() + this.#config.ttlMs });
    };
    const { stream, body } = response;
    if (stream !== undefined) return { ...response, stream: recorded(stream, keep) };
    if (body !== undefined && body.length <= MOST_BYTES_OF_ONE) {
      const { choices } = response.completion ?? parsed(body);
      if (choices.length > 0 && choices.every((choice) => isWhole(choice.finish_reason)))
        keep(Buffer.from(body));
    }
    return response;
  }

  #put(key: string, kept: Kept): void {
    this.#drop(key);
    this.#kept.set(key, kept);
    this.#bytes += sizeOf(kept);
    for (const oldest of this.#kept.keys()) {
      if (this.#kept.size <= this.#config.maxEntries && this.#bytes <= MOST_BYTES) return;
      this.#drop(oldest);
    }
  }

  #drop(key: string): void {
    const kept = this.#kept.get(key);
    if (kept === undefined) return;
    this.#bytes -= sizeOf(kept);
    this.#kept.delete(key);
  }
}

function sizeOf({ bytes, told }: Kept): number {
  return bytes.length + (told?.text.length ?? 0);
}

function isWhole(reason: string | null | undefined): boolean {
  return reason != null && reason !== "content_filter";
}

function parsed(bytes: Buffer): ChatCompletion {
  const hint = { id: newCompletionId(), created: Math.floor(Date.now() / 1000), model: "" };
  return readCompletion(bytes, hint).completion;
}

function recorded(
  source: ResponseStream,
  keep: (bytes: Buffer, told: Kept["told"]) => void,
): ResponseStream {
  let parts: Buffer[] | undefined = [];
  let size = 0;
  return onTopOf(source, {
    start: (sink) =>
      source.start({
        write(bytes, texts) {
          size += bytes.length;
          if (size > MOST_BYTES_OF_ONE) parts = undefined;
          // A copy: the bytes may lie in a buffer that is used again.
          parts?.push(Buffer.from(bytes));
          return sink.write(bytes, texts);
        },
        end() {
          const { usage, finishReason, text } = source;
          if (parts !== undefined && isWhole(finishReason))
            keep(Buffer.concat(parts), { usage, finishReason, text });
          sink.end();
        },
        fail: (error) => sink.fail(error),
      }),
  });
}

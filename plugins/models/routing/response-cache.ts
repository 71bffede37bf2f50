/** Keeps complete responses of an alias: the same request is answered with the same bytes, and costs nothing. */
import { createHash } from "node:crypto";
import {
  type ChatCompletion,
  newCompletionId,
  partSize,
  readCompletion,
  type StreamPart,
} from "portico/provider";
import type { ChatResponse } from "../chat-response.ts";
import type { Job, Shaping, Trace } from "../job.ts";
import { type PartStream, partStream, through } from "../streams/flow.ts";
import type { AliasConfig } from "../schema.ts";

type CacheConfig = NonNullable<Exclude<AliasConfig, string>["cache"]>;

const MOST_BYTES = 32 * 1024 * 1024;
const MOST_BYTES_OF_ONE = 1024 * 1024;

interface Kept {
  /** A whole response. */
  body?: Buffer;
  /** That of a request for a stream. */
  parts?: readonly StreamPart[];
  /** What it takes of the memory, in bytes. */
  size: number;
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
    // The cache stores responses in our own form, since the next client may use another one.
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
    if (kept.parts !== undefined) return { stream: partStream(kept.parts), firstByteMs: 0 };
    return { body: kept.body!, firstByteMs: 0 };
  }

  /** Keeps the response once it has come whole. */
  #watch(key: string, response: ChatResponse, job: Job): ChatResponse {
    const { channel, provider, model, dropped, composite } = job.trace;
    const { stream, bytes, body } = response;
    if (composite || bytes !== undefined) return response;
    const keep = (what: Pick<Kept, "body" | "parts" | "size">) => {
      const trace = { channel, provider, model, dropped };
      this.#put(key, { ...what, trace, until: performance.now() + this.#config.ttlMs });
    };
    if (stream !== undefined) return { ...response, stream: recorded(stream, keep) };
    if (body !== undefined && body.length <= MOST_BYTES_OF_ONE) {
      const { choices } = response.completion ?? parsed(body);
      if (choices.length > 0 && choices.every((choice) => isWhole(choice.finish_reason)))
        keep({ body: Buffer.from(body), size: body.length });
    }
    return response;
  }

  #put(key: string, kept: Kept): void {
    this.#drop(key);
    this.#kept.set(key, kept);
    this.#bytes += kept.size;
    for (const oldest of this.#kept.keys()) {
      if (this.#kept.size <= this.#config.maxEntries && this.#bytes <= MOST_BYTES) return;
      this.#drop(oldest);
    }
  }

  #drop(key: string): void {
    const kept = this.#kept.get(key);
    if (kept === undefined) return;
    this.#bytes -= kept.size;
    this.#kept.delete(key);
  }
}

function isWhole(reason: string | null | undefined): boolean {
  return reason != null && reason !== "content_filter";
}

function parsed(bytes: Buffer): ChatCompletion {
  const hint = { id: newCompletionId(), created: Math.floor(Date.now() / 1000), model: "" };
  return readCompletion(bytes, hint).completion;
}

function recorded(
  source: PartStream,
  keep: (what: { parts: readonly StreamPart[]; size: number }) => void,
): PartStream {
  return through(source, async function* () {
    const all: StreamPart[] = [];
    let size = 0;
    let isGood = true;
    for await (const parts of source) {
      size += parts.reduce((sum, part) => sum + partSize(part), 0);
      isGood &&= parts.every((part) => part.type !== "finish" || isWhole(part.reason));
      if (size <= MOST_BYTES_OF_ONE) all.push(...parts);
      yield parts;
    }
    if (isGood && size <= MOST_BYTES_OF_ONE) keep({ parts: all, size });
  });
}

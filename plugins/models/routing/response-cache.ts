/** Caches whole responses of an alias: the same request gets the same bytes again, and costs nothing. */
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
import { type PartStream, partStream, wrapFlow } from "../streams/flow.ts";
import type { AliasConfig } from "../schema.ts";

type CacheConfig = NonNullable<Exclude<AliasConfig, string>["cache"]>;

const MAX_BYTES = 32 * 1024 * 1024;
const MAX_ENTRY_BYTES = 1024 * 1024;

interface CacheEntry {
  /** The body of a response that was not streamed. */
  body?: Buffer;
  /** The parts of a streamed response. */
  parts?: readonly StreamPart[];
  /** In bytes. */
  size: number;
  trace: Pick<Trace, "channel" | "provider" | "model" | "dropped">;
  until: number;
}

export class ResponseCache {
  readonly #config: CacheConfig;
  /** The least recently used entry comes first. */
  readonly #entries = new Map<string, CacheEntry>();
  #bytes = 0;

  constructor(config: CacheConfig) {
    this.#config = config;
  }

  async respond(job: Job, shape: Shaping, ask: () => Promise<ChatResponse>): Promise<ChatResponse> {
    job.applyShape(shape);
    const key = this.keyOf(job);
    if (key === undefined) return ask();
    const cached = this.#respondFromCache(key, job);
    job.trace.cache = cached === undefined ? "miss" : "hit";
    if (cached !== undefined) return cached;
    job.capture = true;
    // The cache stores responses in the OpenAI format, since the next client may use another one.
    job.native = undefined;
    const response = await ask();
    // Another model in the request's list of fallbacks may have responded.
    return job.shapedBy === shape ? this.#storeWhenComplete(key, response, job) : response;
  }

  /** Returns the cache key of the request as it would be sent; undefined if the request is not cached. */
  keyOf({ request, client, stream }: Job): string | undefined {
    if (this.#config.always !== true && request["temperature"] !== 0) return undefined;
    const owner =
      this.#config.shared === true ? "" : `${client.kind} ${client.keyId ?? client.key ?? ""}`;
    return createHash("sha256")
      .update(JSON.stringify([owner, stream, request]))
      .digest("base64");
  }

  #respondFromCache(key: string, job: Job): ChatResponse | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    this.#drop(key);
    if (entry.until <= performance.now()) return undefined;
    this.#put(key, entry);
    Object.assign(job.trace, entry.trace);
    if (entry.parts !== undefined) return { stream: partStream(entry.parts), firstByteMs: 0 };
    return { body: entry.body!, firstByteMs: 0 };
  }

  /** Stores the response once it is complete. */
  #storeWhenComplete(key: string, response: ChatResponse, job: Job): ChatResponse {
    const { channel, provider, model, dropped, composite } = job.trace;
    const { stream, bytes, body } = response;
    if (composite || bytes !== undefined) return response;
    const store = (content: Pick<CacheEntry, "body" | "parts" | "size">) => {
      const trace = { channel, provider, model, dropped };
      this.#put(key, { ...content, trace, until: performance.now() + this.#config.ttlMs });
    };
    if (stream !== undefined) return { ...response, stream: recordStream(stream, store) };
    if (body !== undefined && body.length <= MAX_ENTRY_BYTES) {
      const { choices } = response.completion ?? parseCompletion(body);
      if (choices.length > 0 && choices.every((choice) => isWhole(choice.finish_reason)))
        store({ body: Buffer.from(body), size: body.length });
    }
    return response;
  }

  #put(key: string, entry: CacheEntry): void {
    this.#drop(key);
    this.#entries.set(key, entry);
    this.#bytes += entry.size;
    for (const oldest of this.#entries.keys()) {
      if (this.#entries.size <= this.#config.maxEntries && this.#bytes <= MAX_BYTES) return;
      this.#drop(oldest);
    }
  }

  #drop(key: string): void {
    const entry = this.#entries.get(key);
    if (entry === undefined) return;
    this.#bytes -= entry.size;
    this.#entries.delete(key);
  }
}

function isWhole(reason: string | null | undefined): boolean {
  return reason != null && reason !== "content_filter";
}

function parseCompletion(bytes: Buffer): ChatCompletion {
  const hint = { id: newCompletionId(), created: Math.floor(Date.now() / 1000), model: "" };
  return readCompletion(bytes, hint).completion;
}

function recordStream(
  source: PartStream,
  store: (content: { parts: readonly StreamPart[]; size: number }) => void,
): PartStream {
  return wrapFlow(source, async function* () {
    const all: StreamPart[] = [];
    let size = 0;
    let isComplete = true;
    for await (const parts of source) {
      size += parts.reduce((sum, part) => sum + partSize(part), 0);
      isComplete &&= parts.every((part) => part.type !== "finish" || isWhole(part.reason));
      if (size <= MAX_ENTRY_BYTES) all.push(...parts);
      yield parts;
    }
    if (isComplete && size <= MAX_ENTRY_BYTES) store({ parts: all, size });
  });
}

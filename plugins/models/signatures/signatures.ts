/**
 * Restores the signatures of reasoning for clients that do not send them back. Models that reason require the signature
 * of a tool call, or of the reasoning before it, together with the call in later requests; most clients keep only the
 * members of OpenAI's format. Signatures are in `extra_content`, and from OpenRouter in `reasoning_details`. Those of a
 * response are kept for a day, by client, channel, the call's id and a hash of its name and arguments, because ids such
 * as `call_0` repeat.
 */
import { createHash } from "node:crypto";
import type { Client } from "portico";
import {
  type ChatMessage,
  type ChatRequest,
  isObject,
  parseCounted,
  type ToolCallPart,
} from "portico/provider";
import type { Store } from "portico/store";
import { joinDetails } from "./reasoning-details.ts";

/** `extra_content` of a call and of its message, and the `reasoning_details` of the message. */
interface Extras {
  call?: unknown;
  message?: unknown;
  details?: unknown;
}

/** The signatures of one tool call, as one row. */
interface Entry extends Extras {
  key: string;
  at: number;
}

export interface SignatureServices {
  /** Undefined if there is no store: then only this process remembers them. */
  kv(): Store["kv"] | undefined;
  now(): number;
}

const DAY_MS = 86_400_000;
/** The lifetime of the knowledge that the store has no entry. */
const MISSING_MS = 5_000;
/** Larger entries are not kept: reasoning with its signature has some kilobytes. */
const MAX_ENTRY_BYTES = 128 * 1024;
/**
 * The rows of a client are distributed to this number of buckets of limited size, which limits what one client uses of
 * the store.
 */
const BUCKETS = 256;
const MAX_BUCKET_BYTES = 256 * 1024;
/** Limits in this process, for all clients. */
const MAX_ENTRIES = 5000;
const MAX_BYTES = 32 * 1024 * 1024;
/** Only the last calls of a conversation need a signature. */
const MAX_CALLS = 200;

export class Signatures {
  readonly #services: SignatureServices;
  readonly #recent: RecentEntries;
  /** The last write of each bucket that is being written, by owner and bucket. */
  readonly #writes = new Map<string, Promise<void>>();

  constructor(services: SignatureServices) {
    this.#services = services;
    this.#recent = new RecentEntries(services.now);
  }

  /** Stores the signatures of a message of a response. */
  remember(client: Client, channel: string, message: Pick<ChatMessage, string>): void {
    const { tool_calls: calls, extra_content: extra } = message as ChatMessage;
    const details = joinDetails(message["reasoning_details"]);
    const owner = ownerOf(client);
    for (const call of calls ?? []) {
      const { extra_content: callExtra } = call;
      if (extra == null && callExtra == null && details === undefined) continue;
      const at = this.#services.now();
      const key = keyOf(channel, call);
      const entry: Entry = { key, at, call: callExtra, message: extra, details };
      if (sizeOf(entry) > MAX_ENTRY_BYTES) continue;
      this.#recent.set(owner, entry.key, entry);
      this.#enqueueWrite(owner, entry);
    }
  }

  /** Returns the request with the signatures that its messages lack; the same object if none is known. */
  async restore(client: Client, channel: string, request: ChatRequest): Promise<ChatRequest> {
    const owner = ownerOf(client);
    const messages = [...request.messages];
    let isChanged = false;
    let calls = 0;
    for (let i = messages.length - 1; i >= 0 && calls < MAX_CALLS; i--) {
      const message = messages[i]!;
      const list = message.tool_calls;
      if (message.role !== "assistant" || !Array.isArray(list) || isSigned(message)) continue;
      calls += list.length;
      const extras = await Promise.all(
        list.map((call) => this.#recall(owner, keyOf(channel, call))),
      );
      const restored = withExtras(message, extras);
      if (restored === message) continue;
      messages[i] = restored;
      isChanged = true;
    }
    return isChanged ? { ...request, messages } : request;
  }

  async #recall(owner: string, key: string): Promise<Extras | undefined> {
    const recent = this.#recent.get(owner, key);
    if (recent !== undefined) return recent.entry;
    const stored = (await this.#read(owner, key)).find((entry) => entry.key === key);
    this.#recent.set(owner, key, stored);
    return stored;
  }

  /** Writes the entry after earlier ones of its bucket, because a write reads the whole bucket before it replaces it. */
  #enqueueWrite(owner: string, entry: Entry): void {
    const bucket = `${owner}\n${bucketOf(entry.key)}`;
    const previous = this.#writes.get(bucket) ?? Promise.resolve();
    const write = previous
      .then(() => this.#store(owner, entry))
      .finally(() => {
        if (this.#writes.get(bucket) === write) this.#writes.delete(bucket);
      });
    this.#writes.set(bucket, write);
  }

  /** Never rejects. */
  async #store(owner: string, entry: Entry): Promise<void> {
    const kv = this.#services.kv();
    if (kv === undefined) return;
    const otherEntries = (await this.#read(owner, entry.key)).filter(
      ({ key }) => key !== entry.key,
    );
    const entries = [entry, ...otherEntries];
    while (sizeOf(entries) > MAX_BUCKET_BYTES) entries.pop();
    try {
      await kv.set(namespaceOf(owner), bucketOf(entry.key), entries, { ttlMs: DAY_MS });
    } catch {
      // A store that is full or unavailable costs a signature, but no response.
    }
  }

  async #read(owner: string, key: string): Promise<Entry[]> {
    const oldest = this.#services.now() - DAY_MS;
    try {
      const entries = await this.#services.kv()?.get(namespaceOf(owner), bucketOf(key));
      return Array.isArray(entries) ? entries.filter(({ at }: Entry) => at > oldest) : [];
    } catch {
      return [];
    }
  }
}

/**
 * Caches the latest entries. It caches missing ones for a moment, so that the requests of a conversation rarely query the
 * store for them, while an entry that another gateway writes is found soon.
 */
class RecentEntries {
  readonly #now: () => number;
  readonly #entries = new Map<string, { entry: Entry | undefined; bytes: number; at: number }>();
  #bytes = 0;

  constructor(now: () => number) {
    this.#now = now;
  }

  get(owner: string, key: string): { entry: Entry | undefined } | undefined {
    const id = `${owner}\n${key}`;
    const cached = this.#entries.get(id);
    if (cached === undefined) return undefined;
    const lifetimeMs = cached.entry === undefined ? MISSING_MS : DAY_MS;
    if (cached.at <= this.#now() - lifetimeMs) {
      this.#delete(id);
      return undefined;
    }
    // Moves the entry to the end, so that the least recently used one is dropped first.
    this.#entries.delete(id);
    this.#entries.set(id, cached);
    return cached;
  }

  set(owner: string, key: string, entry: Entry | undefined): void {
    const id = `${owner}\n${key}`;
    this.#delete(id);
    const bytes = entry === undefined ? 0 : sizeOf(entry);
    this.#entries.set(id, { entry, bytes, at: entry?.at ?? this.#now() });
    this.#bytes += bytes;
    for (const oldest of this.#entries.keys()) {
      if (this.#entries.size <= MAX_ENTRIES && this.#bytes <= MAX_BYTES) return;
      this.#delete(oldest);
    }
  }

  #delete(id: string): void {
    this.#bytes -= this.#entries.get(id)?.bytes ?? 0;
    this.#entries.delete(id);
  }
}

function isSigned(message: ChatMessage): boolean {
  const { extra_content: extra, reasoning_details: details, tool_calls: calls } = message;
  return (
    extra != null || details != null || (calls ?? []).some((call) => call.extra_content != null)
  );
}

function withExtras(message: ChatMessage, extras: readonly (Extras | undefined)[]): ChatMessage {
  if (extras.every((extra) => extra === undefined)) return message;
  const messageExtra = extras.find((extra) => extra?.message != null)?.message;
  const details = extras.find((extra) => extra?.details != null)?.details;
  const calls = message.tool_calls!.map((call, i) => {
    const extra = extras[i]?.call;
    return extra == null ? call : { ...call, extra_content: extra };
  });
  return {
    ...message,
    tool_calls: calls,
    ...(messageExtra != null && { extra_content: messageExtra }),
    ...(details != null && { reasoning_details: details }),
  };
}

function ownerOf(client: Client): string {
  return client.kind === "key" ? `key:${client.key}` : "owner";
}

function namespaceOf(owner: string): string {
  return `signatures:${owner}`;
}

function keyOf(channel: string, { id, function: fn }: ToolCallPart): string {
  const parts = [channel, id, fn?.name, canonicalJson(fn?.arguments)];
  return createHash("sha256").update(JSON.stringify(parts)).digest("base64url");
}

function bucketOf(key: string): string {
  return String(Buffer.from(key, "base64url").readUInt32BE() % BUCKETS);
}

/**
 * Serialises arguments in one canonical form, because clients parse and serialise them with other spaces and another
 * order of members.
 */
function canonicalJson(text: unknown): unknown {
  if (typeof text !== "string") return text ?? null;
  try {
    return JSON.stringify(sortMembers(parseCounted(text === "" ? "{}" : text)));
  } catch {
    return text;
  }
}

function sortMembers(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sortMembers);
  if (!isObject(value)) return value;
  const names = Object.keys(value).sort();
  return Object.fromEntries(names.map((name) => [name, sortMembers(value[name])]));
}

function sizeOf(value: unknown): number {
  return JSON.stringify(value)?.length ?? 0;
}

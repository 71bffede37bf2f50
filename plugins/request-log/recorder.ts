/** Records each request for a model once: at the end of its HTTP response, or else when it is metered. */
import type { Client, EndedRequest } from "portico";
import type { ChatRecord, RequestStory } from "portico/models";
import { mayKeep, settleContent } from "./content.ts";
import { type Entry, type HttpPart, httpPart, sizeOf } from "./entry.ts";
import { Ring, type RingEntries } from "./ring.ts";
import type { ContentConfig, RequestsConfig } from "./schema.ts";

export interface RecorderConfig {
  requests: RequestsConfig;
  content: ContentConfig;
}

/** The recorded requests: plain data, which survives a reload of the plugin. */
export interface RecordedRequests {
  entries: RingEntries<Entry>;
  /** The number of the newest entry. */
  number: number;
}

export function noRequests(): RecordedRequests {
  return { entries: { all: [], first: 0, bytes: 0 }, number: 0 };
}

export class Recorder {
  readonly #ring: Ring<Entry>;
  readonly #recorded: RecordedRequests;
  #config: RecorderConfig;

  constructor(config: RecorderConfig, recorded: RecordedRequests) {
    this.#config = config;
    this.#recorded = recorded;
    this.#ring = new Ring(config.requests, recorded.entries);
  }

  configure(config: RecorderConfig): void {
    this.#config = config;
    this.#ring.configure(config.requests);
  }

  keepsContent(client: Client): boolean {
    return this.#config.requests.keep > 0 && mayKeep(this.#config.content, client);
  }

  /** Records a request that did not come over HTTP: see `ChatMeter`. */
  recordMetered({ story }: ChatRecord): void {
    if (story?.isInternal === true) this.#add(story.requestId, story, undefined);
  }

  /** Records an HTTP request that has ended: see `RequestWatcher`. */
  recordEnded(request: EndedRequest): void {
    if (!isForModel(request)) return;
    this.#add(request.id, request.subject as RequestStory | undefined, httpPart(request));
  }

  newest(): Generator<Entry> {
    return this.#ring.newest(Date.now());
  }

  expire(): void {
    this.#ring.expire(Date.now());
  }

  #add(requestId: string, story: RequestStory | undefined, http: HttpPart | undefined): void {
    if (this.#config.requests.keep === 0) return;
    const contentBytes = story === undefined ? 0 : settleContent(this.#config.content, story);
    const bytes = sizeOf(story, contentBytes);
    const number = ++this.#recorded.number;
    this.#ring.add({ number, endedAt: Date.now(), bytes, requestId, story, http });
  }
}

/** Returns true for requests to models, and for refused requests to other client routes, which need an explanation, too. */
function isForModel({ access, path, status, subject }: EndedRequest): boolean {
  if (subject !== undefined) return true;
  if (access !== "client" && !(access === undefined && path.startsWith("/v1/"))) return false;
  return status >= 400;
}

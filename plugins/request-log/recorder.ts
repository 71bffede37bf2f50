/** Takes every request for a model that has ended, once: over HTTP at the end of its response, else when it is metered. */
import type { Client, EndedRequest } from "portico";
import type { ChatRecord, RequestStory } from "portico/models";
import { mayKeep, settleContent } from "./content.ts";
import { type Entry, type HttpPart, httpPart, sizeOf } from "./entry.ts";
import { Ring } from "./ring.ts";
import type { ContentConfig, RequestsConfig } from "./schema.ts";

export interface RecorderConfig {
  requests: RequestsConfig;
  content: ContentConfig;
}

export class Recorder {
  readonly #ring: Ring<Entry>;
  #config: RecorderConfig;
  #number = 0;

  constructor(config: RecorderConfig) {
    this.#config = config;
    this.#ring = new Ring(config.requests);
  }

  configure(config: RecorderConfig): void {
    this.#config = config;
    this.#ring.configure(config.requests);
  }

  keepsContent(client: Client): boolean {
    return this.#config.requests.keep > 0 && mayKeep(this.#config.content, client);
  }

  /** See `ChatMeter`. */
  metered({ story }: ChatRecord): void {
    if (story?.isInternal === true) this.#add(story.requestId, story, undefined);
  }

  /** See `RequestWatcher`. */
  ended(request: EndedRequest): void {
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
    const number = ++this.#number;
    this.#ring.add({ number, endedAt: Date.now(), bytes, requestId, story, http });
  }
}

/** Lists of models are no requests for one, but a client that is refused there may ask why. */
function isForModel({ access, path, status, subject }: EndedRequest): boolean {
  if (subject !== undefined) return true;
  if (access !== "client" && !(access === undefined && path.startsWith("/v1/"))) return false;
  return status >= 400;
}

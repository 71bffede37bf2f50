/**
 * Connects an upstream with its caller: settles the promise of the response's beginning, and keeps what was received
 * before the caller began to read.
 */
import type { PorticoError } from "portico";
import type { ChatResponse } from "../../chat-response.ts";
import { FlowQueue, type FlowSource } from "../../streams/flow.ts";

/** As long as only comments were received, an error may still become an HTTP error; after this the headers go out. */
const COMMENTS_ONLY_MS = 2000;

/** The response that is delivered. */
export interface Delivered extends FlowSource {
  /** The beginning of a stream, for its caller. */
  beginning(): ChatResponse;
}

/** How the promise of a response is settled. */
export interface Settle {
  resolve(response: ChatResponse): void;
  reject(error: unknown): void;
}

export class Delivery<T> {
  readonly queue: FlowQueue<T>;
  readonly #from: Delivered;
  #settle: Settle | undefined;
  #commentsTimer: NodeJS.Timeout | undefined;

  constructor(from: Delivered, settle: Settle) {
    this.#from = from;
    this.#settle = settle;
    this.queue = new FlowQueue(from);
  }

  /** Nothing has been promised yet: an error may become an HTTP error. */
  get open(): boolean {
    return this.#settle !== undefined;
  }

  /** More of a stream. `weight`: the bytes that it came from; `onlyComments`: an error may still follow as an HTTP error. */
  write(items: readonly T[], weight: number, onlyComments: boolean): void {
    this.queue.push(items, weight);
    if (this.#settle === undefined) return;
    if (onlyComments) this.#commentsTimer ??= setTimeout(() => this.begin(), COMMENTS_ONLY_MS);
    else this.begin();
  }

  /** The caller's headers may go out. */
  begin(): void {
    if (this.#settle !== undefined) this.#take().resolve(this.#from.beginning());
  }

  /** A whole response. */
  resolve(response: ChatResponse): void {
    this.#take().resolve(response);
  }

  /** What went wrong before the response began. */
  reject(error: unknown): void {
    this.#take().reject(error);
  }

  /** Nothing more comes of a stream that has begun. */
  end(error?: PorticoError): void {
    this.queue.end(error);
  }

  #take(): Settle {
    const settle = this.#settle!;
    this.#settle = undefined;
    clearTimeout(this.#commentsTimer);
    return settle;
  }
}

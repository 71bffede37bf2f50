/**
 * Connects an upstream with its caller: settles the promise of the response's beginning, and buffers what is received
 * before the caller begins to read.
 */
import type { PorticoError } from "portico";
import type { ChatResponse } from "../../chat-response.ts";
import { FlowQueue, type FlowSource } from "../../streams/flow.ts";

/** While only comments were received, an error can still become an HTTP error. After this time the headers are sent. */
const COMMENTS_ONLY_MS = 2000;

/** The source of the delivered response. */
export interface DeliverySource extends FlowSource {
  /** Returns the beginning of a stream for its caller. */
  beginning(): ChatResponse;
}

/** Settles the promise of a response. */
export interface Settler {
  resolve(response: ChatResponse): void;
  reject(error: unknown): void;
}

export class Delivery<T> {
  readonly queue: FlowQueue<T>;
  readonly #source: DeliverySource;
  #settler: Settler | undefined;
  #commentsTimer: NodeJS.Timeout | undefined;

  constructor(source: DeliverySource, settler: Settler) {
    this.#source = source;
    this.#settler = settler;
    this.queue = new FlowQueue(source);
  }

  /** Whether the promise is not settled yet, so that an error can become an HTTP error. */
  get open(): boolean {
    return this.#settler !== undefined;
  }

  /**
   * Delivers items of a stream. `weight`: the number of bytes from which they were read. `onlyComments`: an error may
   * still become an HTTP error.
   */
  write(items: readonly T[], weight: number, onlyComments: boolean): void {
    this.queue.push(items, weight);
    if (this.#settler === undefined) return;
    if (onlyComments) this.#commentsTimer ??= setTimeout(() => this.begin(), COMMENTS_ONLY_MS);
    else this.begin();
  }

  /** Resolves the promise with the beginning of the stream, so that the caller can send its headers. */
  begin(): void {
    if (this.#settler !== undefined) this.#takeSettler().resolve(this.#source.beginning());
  }

  /** Delivers a whole response. */
  resolve(response: ChatResponse): void {
    this.#takeSettler().resolve(response);
  }

  /** Delivers an error that occurred before the response began. */
  reject(error: unknown): void {
    this.#takeSettler().reject(error);
  }

  /** Ends a stream that has begun. */
  end(error?: PorticoError): void {
    this.queue.end(error);
  }

  #takeSettler(): Settler {
    const settler = this.#settler!;
    this.#settler = undefined;
    clearTimeout(this.#commentsTimer);
    return settler;
  }
}

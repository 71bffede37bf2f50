/**
 * Passes a response on as lists, each with the parts of one read from the upstream. A slow reader gets more parts in a
 * list, and pauses the upstream when too many are waiting.
 */
import type { PorticoError } from "portico";
import type { StreamPart, Usage } from "portico/provider";

export interface Flow<T> extends AsyncIterable<readonly T[]> {
  /** Ends the upstream request. Waiting readers get the error that the client has disconnected. */
  cancel(): void;
}

/** The parts of a model's response. */
export type PartStream = Flow<StreamPart>;

/** Bytes that are passed through: those of routes other than chat, and of responses that are too large for memory. */
export interface ByteStream extends Flow<Buffer> {
  /** The usage that the upstream reported so far. */
  readonly usage: Usage | undefined;
}

/** The upstream side of a queue. */
export interface FlowSource {
  pauseUpstream(): void;
  resumeUpstream(): void;
  cancel(): void;
}

/** The number of the upstream's bytes that may wait before it is paused. */
const MAX_WAITING_BYTES = 64 * 1024;

/** A queue between an upstream that pushes and a caller that reads. */
export class FlowQueue<T> implements Flow<T>, AsyncIterator<readonly T[], undefined> {
  readonly #source: FlowSource;
  #items: T[] = [];
  #weight = 0;
  #isPaused = false;
  #ending: { error: PorticoError | undefined } | undefined;
  #wake: (() => void) | undefined;

  constructor(source: FlowSource) {
    this.#source = source;
  }

  /** Adds items. `weight`: the number of bytes from which they were read. */
  push(items: readonly T[], weight: number): void {
    for (const item of items) this.#items.push(item);
    this.#weight += weight;
    if (this.#weight > MAX_WAITING_BYTES && !this.#isPaused) {
      this.#isPaused = true;
      this.#source.pauseUpstream();
    }
    this.#wakeReader();
  }

  /** Ends the queue after its waiting items, with an error if one is given. */
  end(error?: PorticoError): void {
    this.#ending ??= { error };
    this.#wakeReader();
  }

  cancel(): void {
    this.#source.cancel();
  }

  [Symbol.asyncIterator](): AsyncIterator<readonly T[], undefined> {
    return this;
  }

  async next(): Promise<IteratorResult<readonly T[], undefined>> {
    while (this.#items.length === 0 && this.#ending === undefined) {
      this.#resume();
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    if (this.#items.length > 0) return { done: false, value: this.#take() };
    const error = this.#ending?.error;
    if (error !== undefined) throw error;
    return { done: true, value: undefined };
  }

  /** Cancels the source, because the caller does not read the rest. */
  async return(): Promise<IteratorResult<readonly T[], undefined>> {
    this.#source.cancel();
    return { done: true, value: undefined };
  }

  #take(): readonly T[] {
    const items = this.#items;
    this.#items = [];
    this.#weight = 0;
    return items;
  }

  #resume(): void {
    if (!this.#isPaused) return;
    this.#isPaused = false;
    this.#source.resumeUpstream();
  }

  #wakeReader(): void {
    const wake = this.#wake;
    this.#wake = undefined;
    wake?.();
  }
}

/** Creates a stream from another one. Cancelling it cancels the source. */
export function wrapFlow<T>(
  source: Pick<Flow<unknown>, "cancel">,
  read: () => AsyncIterator<readonly T[]>,
): Flow<T> {
  return { cancel: () => source.cancel(), [Symbol.asyncIterator]: read };
}

/** Creates a stream of parts that are already there. */
export function partStream(parts: readonly StreamPart[]): PartStream {
  return {
    cancel() {},
    async *[Symbol.asyncIterator]() {
      yield parts;
    },
  };
}

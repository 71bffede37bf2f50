/**
 * Passes a response on as lists: each list holds the parts of one read from the upstream. A slow reader gets more parts in
 * a list, and slows the upstream down when too many are waiting.
 */
import type { PorticoError } from "portico";
import type { StreamPart, Usage } from "portico/provider";

export interface Flow<T> extends AsyncIterable<readonly T[]> {
  /** Ends the upstream request; readers that wait for more get the error that the client has disconnected. */
  cancel(): void;
}

/** The parts of a model's response. */
export type PartStream = Flow<StreamPart>;

/** Bytes that go on as they are: of routes beside chat, and of responses that are too large to be held. */
export interface ByteStream extends Flow<Buffer> {
  /** The upstream's numbers so far. */
  readonly usage: Usage | undefined;
}

/** What feeds a queue. */
export interface FlowSource {
  pauseUpstream(): void;
  resumeUpstream(): void;
  cancel(): void;
}

/** How many of the upstream's bytes may wait before it is paused. */
const MOST_WAITING = 64 * 1024;

/** A queue between an upstream that pushes and a caller that reads. */
export class FlowQueue<T> implements Flow<T>, AsyncIterator<readonly T[], undefined> {
  readonly #source: FlowSource;
  #waiting: T[] = [];
  #weight = 0;
  #paused = false;
  #ended: { error: PorticoError | undefined } | undefined;
  #wake: (() => void) | undefined;

  constructor(source: FlowSource) {
    this.#source = source;
  }

  /** `weight`: the bytes that the items came from. */
  push(items: readonly T[], weight: number): void {
    for (const item of items) this.#waiting.push(item);
    this.#weight += weight;
    if (this.#weight > MOST_WAITING && !this.#paused) {
      this.#paused = true;
      this.#source.pauseUpstream();
    }
    this.#wakeReader();
  }

  /** Nothing more comes. */
  end(error?: PorticoError): void {
    this.#ended ??= { error };
    this.#wakeReader();
  }

  cancel(): void {
    this.#source.cancel();
  }

  [Symbol.asyncIterator](): AsyncIterator<readonly T[], undefined> {
    return this;
  }

  async next(): Promise<IteratorResult<readonly T[], undefined>> {
    while (this.#waiting.length === 0 && this.#ended === undefined) {
      this.#resume();
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    if (this.#waiting.length > 0) return { done: false, value: this.#take() };
    const error = this.#ended?.error;
    if (error !== undefined) throw error;
    return { done: true, value: undefined };
  }

  /** The caller does not read the rest. */
  async return(): Promise<IteratorResult<readonly T[], undefined>> {
    this.#source.cancel();
    return { done: true, value: undefined };
  }

  #take(): readonly T[] {
    const items = this.#waiting;
    this.#waiting = [];
    this.#weight = 0;
    return items;
  }

  #resume(): void {
    if (!this.#paused) return;
    this.#paused = false;
    this.#source.resumeUpstream();
  }

  #wakeReader(): void {
    const wake = this.#wake;
    this.#wake = undefined;
    wake?.();
  }
}

/** A stream that a feature makes of another one. */
export function through<T>(
  source: Pick<Flow<unknown>, "cancel">,
  read: () => AsyncIterator<readonly T[]>,
): Flow<T> {
  return { cancel: () => source.cancel(), [Symbol.asyncIterator]: read };
}

/** Parts that are there already. */
export function partStream(parts: readonly StreamPart[]): PartStream {
  return {
    cancel() {},
    async *[Symbol.asyncIterator]() {
      yield parts;
    },
  };
}

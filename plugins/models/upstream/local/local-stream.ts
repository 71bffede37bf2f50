/** Reads the stream of a provider in this process as fast as the caller reads, and limits the wait for each item. */
import { isPorticoError, type PorticoError } from "portico";
import {
  CallIds,
  type ChatChunk,
  ChunkReader,
  errorIn,
  isObject,
  PartWriter,
  type StreamPart,
  upstreamError,
} from "portico/provider";
import { type Deadline, startDeadline, type DeadlineListener } from "../deadline.ts";
import { clientDisconnected } from "../../job.ts";
import type { LocalAttempt } from "../attempt.ts";
import { PartMask } from "portico/secrets";
import type { PartStream } from "../../streams/flow.ts";
import { providerFailure } from "./provider-failed.ts";

/** One item of a provider's stream: parts, a chunk, or a text. */
export type StreamItem = readonly StreamPart[] | ChatChunk | string;

/** Reads items as parts. Repairs the structure of the stream as for an upstream. */
export class LocalStream implements PartStream, DeadlineListener {
  readonly #attempt: LocalAttempt;
  readonly #items: AsyncIterator<StreamItem>;
  readonly #out: PartWriter;
  readonly #chunks: ChunkReader;
  readonly #ids: CallIds;
  readonly #mask: PartMask | undefined;
  #deadline: Deadline | undefined;
  #firstParts: readonly StreamPart[] | undefined;
  /** Rejects the promise of the caller that waits for parts if an error occurs first. */
  #reject: ((error: unknown) => void) | undefined;
  /** The response has begun. */
  #hasBegun = false;
  /** The provider has no more items. */
  #isFinished = false;
  /** The attempt has ended, and nobody waits for more items. */
  #isClosed = false;

  constructor(attempt: LocalAttempt, items: AsyncIterator<StreamItem>) {
    const { target, job } = attempt;
    this.#attempt = attempt;
    this.#items = items;
    const head = { id: target.id, created: target.created, model: target.model };
    this.#out = new PartWriter(head);
    this.#chunks = new ChunkReader(this.#out, head);
    this.#ids = new CallIds(job.request);
    this.#mask = target.mask.watchesContent ? new PartMask(target.mask) : undefined;
    job.onCancel(this);
  }

  /** Resolves when the first parts are there. Rejects at once when the client disconnects, whatever the provider does. */
  async readFirst(): Promise<void> {
    this.#firstParts = (await this.#next(this.#attempt.timeoutMs)) ?? this.#last();
    this.#hasBegun = true;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<readonly StreamPart[], void> {
    try {
      let parts = this.#firstParts;
      while (parts !== undefined) {
        if (parts.length > 0) yield parts;
        parts = await this.#next(this.#attempt.idleTimeoutMs);
      }
      const last = this.#last();
      if (last.length > 0) yield last;
      this.#close();
    } finally {
      if (!this.#isClosed) this.#abandon();
    }
  }

  cancel(): void {
    if (this.#isClosed) return;
    const reject = this.#reject;
    this.#abandon();
    reject?.(clientDisconnected());
  }

  onDeadline(): void {
    const { provider, timeoutMs, idleTimeoutMs, target } = this.#attempt;
    const message = this.#hasBegun
      ? `The provider \`${provider.name}\` sent nothing for ${idleTimeoutMs} ms.`
      : `The provider \`${provider.name}\` did not begin to respond within ${timeoutMs} ms.`;
    const error = upstreamError({ kind: "timeout", message }, 0);
    target.stop(error);
    const reject = this.#reject;
    this.#abandon();
    reject?.(error);
  }

  /** Resolves to the next parts; undefined after the last item. */
  async #next(withinMs: number | undefined): Promise<readonly StreamPart[] | undefined> {
    if (this.#isClosed) throw clientDisconnected();
    try {
      return await new Promise((resolve, reject) => {
        this.#reject = reject;
        this.#read(withinMs).then(resolve, reject);
      });
    } catch (error) {
      throw this.#closeWithError(error);
    } finally {
      this.#reject = undefined;
    }
  }

  async #read(withinMs: number | undefined): Promise<readonly StreamPart[] | undefined> {
    while (!this.#isFinished) {
      if (withinMs !== undefined) this.#startDeadline(withinMs);
      const { done, value } = await this.#items.next();
      this.#deadline?.stop();
      if (this.#isClosed) return undefined;
      if (done === true) {
        this.#isFinished = true;
        return undefined;
      }
      this.#readItem(value);
      const parts = this.#claimAndMask(this.#out.take());
      if (parts.length > 0) return parts;
    }
    return undefined;
  }

  #startDeadline(ms: number): void {
    if (this.#deadline === undefined) this.#deadline = startDeadline(ms, this);
    else this.#deadline.set(ms);
  }

  #readItem(item: StreamItem): void {
    if (typeof item === "string") {
      if (item !== "") this.#out.text(item);
      return;
    }
    // A plugin may be written without types.
    if (Array.isArray(item) && item.every(isPart)) {
      for (const part of item) this.#out.adopt(part);
      return;
    }
    if (!isObject(item))
      throw new TypeError("it returned something other than a string, a chunk or a list of parts");
    const error = errorIn(item);
    if (error !== undefined) throw error;
    // Reading repairs the chunk in place, and the provider may use it again.
    this.#chunks.read(structuredClone(item));
  }

  /** Completes a stream that has ended, and returns the missing parts. */
  #last(): readonly StreamPart[] {
    this.#chunks.close();
    const parts = this.#claimAndMask(this.#out.take());
    return this.#mask === undefined ? parts : [...parts, ...this.#mask.end()];
  }

  #claimAndMask(parts: StreamPart[]): StreamPart[] {
    const claimed = this.#ids.claimParts(parts);
    return this.#mask === undefined ? claimed : this.#mask.push(claimed);
  }

  #closeWithError(thrown: unknown): PorticoError {
    const error = this.#attempt.target.maskError(thrown);
    this.#abandon();
    if (!this.#hasBegun) return error as PorticoError;
    const failure = isPorticoError(error)
      ? error
      : providerFailure(this.#attempt.provider.name, error);
    // A response that is collected as a whole fails as an attempt.
    const isCancelled = this.#attempt.job.cancelled;
    if (this.#attempt.job.stream && !isCancelled) this.#attempt.watcher.broken(failure);
    return failure;
  }

  /**
   * Ends the attempt and lets the provider's `finally` blocks run. The provider may wait for something that only the
   * signal ends.
   */
  #abandon(): void {
    if (this.#isClosed) return;
    this.#close();
    void this.#items.return?.(undefined)?.then?.(undefined, () => {});
  }

  #close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#deadline?.stop();
    this.#attempt.job.offCancel(this);
    this.#attempt.watcher.closed();
  }
}

function isPart(value: unknown): value is StreamPart {
  return isObject(value) && typeof value["type"] === "string";
}

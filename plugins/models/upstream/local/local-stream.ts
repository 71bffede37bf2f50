/** The stream of a provider in this process: takes its pieces as fast as the caller reads, and limits the wait for each. */
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
import { type Deadline, startDeadline, type Waiting } from "../deadline.ts";
import { clientDisconnected } from "../../job.ts";
import type { LocalAttempt } from "../attempt.ts";
import { PartMask } from "portico/secrets";
import type { PartStream } from "../../streams/flow.ts";
import { providerFailure } from "./provider-failed.ts";

/** Parts, a chunk, or some text. */
export type Piece = readonly StreamPart[] | ChatChunk | string;

/** Reads pieces as parts. The stream's shape is repaired as an upstream's would be. */
export class LocalStream implements PartStream, Waiting {
  readonly #a: LocalAttempt;
  readonly #pieces: AsyncIterator<Piece>;
  readonly #out: PartWriter;
  readonly #chunks: ChunkReader;
  readonly #ids: CallIds;
  readonly #mask: PartMask | undefined;
  #deadline: Deadline | undefined;
  #early: readonly StreamPart[] | undefined;
  /** Rejects the promise of the caller that waits for parts when an error occurs first. */
  #reject: ((error: unknown) => void) | undefined;
  /** The response has begun. */
  #begun = false;
  /** The provider has no more pieces. */
  #finished = false;
  /** Nobody waits for more. */
  #over = false;

  constructor(attempt: LocalAttempt, pieces: AsyncIterator<Piece>) {
    const { target, job } = attempt;
    this.#a = attempt;
    this.#pieces = pieces;
    const head = { id: target.id, created: target.created, model: target.model };
    this.#out = new PartWriter(head);
    this.#chunks = new ChunkReader(this.#out, head);
    this.#ids = new CallIds(job.request);
    this.#mask = target.mask.watchesContent ? new PartMask(target.mask) : undefined;
    job.onCancel(this);
  }

  /** Resolves once the first parts are there; rejects at once when the client disconnects, whatever the provider does. */
  async first(): Promise<void> {
    this.#early = (await this.#next(this.#a.timeoutMs)) ?? this.#last();
    this.#begun = true;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<readonly StreamPart[], void> {
    try {
      let parts = this.#early;
      while (parts !== undefined) {
        if (parts.length > 0) yield parts;
        parts = await this.#next(this.#a.idleTimeoutMs);
      }
      const last = this.#last();
      if (last.length > 0) yield last;
      this.#close();
    } finally {
      if (!this.#over) this.#abandon();
    }
  }

  cancel(): void {
    if (this.#over) return;
    const reject = this.#reject;
    this.#abandon();
    reject?.(clientDisconnected());
  }

  late(): void {
    const { provider, timeoutMs, idleTimeoutMs, target } = this.#a;
    const message = this.#begun
      ? `The provider \`${provider.name}\` sent nothing for ${idleTimeoutMs} ms.`
      : `The provider \`${provider.name}\` did not begin to respond within ${timeoutMs} ms.`;
    const error = upstreamError({ kind: "timeout", message }, 0);
    target.stop(error);
    const reject = this.#reject;
    this.#abandon();
    reject?.(error);
  }

  /** The next parts; undefined behind the last piece. */
  async #next(withinMs: number | undefined): Promise<readonly StreamPart[] | undefined> {
    if (this.#over) throw clientDisconnected();
    try {
      return await new Promise((resolve, reject) => {
        this.#reject = reject;
        this.#read(withinMs).then(resolve, reject);
      });
    } catch (error) {
      throw this.#failure(error);
    } finally {
      this.#reject = undefined;
    }
  }

  async #read(withinMs: number | undefined): Promise<readonly StreamPart[] | undefined> {
    while (!this.#finished) {
      if (withinMs !== undefined) this.#await(withinMs);
      const { done, value } = await this.#pieces.next();
      this.#deadline?.stop();
      if (this.#over) return undefined;
      if (done === true) {
        this.#finished = true;
        return undefined;
      }
      this.#piece(value);
      const parts = this.#own(this.#out.take());
      if (parts.length > 0) return parts;
    }
    return undefined;
  }

  #await(ms: number): void {
    if (this.#deadline === undefined) this.#deadline = startDeadline(ms, this);
    else this.#deadline.set(ms);
  }

  #piece(piece: Piece): void {
    if (typeof piece === "string") {
      if (piece !== "") this.#out.text(piece);
      return;
    }
    // A plugin may be written without types.
    if (Array.isArray(piece) && piece.every(isPart)) {
      for (const part of piece) this.#out.adopt(part);
      return;
    }
    if (!isObject(piece))
      throw new TypeError("it returned something other than a string, a chunk or a list of parts");
    const error = errorIn(piece);
    if (error !== undefined) throw error;
    // It is repaired in place, and the provider may use it again.
    this.#chunks.read(structuredClone(piece));
  }

  /** What is missing at the end of a stream that is complete. */
  #last(): readonly StreamPart[] {
    this.#chunks.close();
    const parts = this.#own(this.#out.take());
    return this.#mask === undefined ? parts : [...parts, ...this.#mask.end()];
  }

  #own(parts: StreamPart[]): StreamPart[] {
    const claimed = this.#ids.claimParts(parts);
    return this.#mask === undefined ? claimed : this.#mask.push(claimed);
  }

  #failure(what: unknown): PorticoError {
    const error = this.#a.target.hide(what);
    this.#abandon();
    if (!this.#begun) return error as PorticoError;
    const known = isPorticoError(error) ? error : providerFailure(this.#a.provider.name, error);
    // A gathered response fails as a whole.
    const isCancelled = this.#a.job.cancelled;
    if (this.#a.job.stream && !isCancelled) this.#a.watcher.broken(known);
    return known;
  }

  /** The provider's `finally` blocks run; it may be waiting for something that ends with the signal only. */
  #abandon(): void {
    if (this.#over) return;
    this.#close();
    void this.#pieces.return?.(undefined)?.then?.(undefined, () => {});
  }

  #close(): void {
    if (this.#over) return;
    this.#over = true;
    this.#deadline?.stop();
    this.#a.job.offCancel(this);
    this.#a.watcher.closed();
  }
}

function isPart(value: unknown): value is StreamPart {
  return isObject(value) && typeof value["type"] === "string";
}

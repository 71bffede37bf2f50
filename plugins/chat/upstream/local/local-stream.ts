/** The stream of a provider in this process: takes its pieces as fast as the caller reads, and waits only so long for each. */
import { isPorticoError, type PorticoError } from "portico";
import { type ChatChunk, createChunkWriter, upstreamError } from "portico/chat";
import { type Deadline, startDeadline, type Waiting } from "../deadline.ts";
import { type ResponseStream, clientDisconnected, type Sink } from "../../job.ts";
import type { LocalAttempt } from "../attempt.ts";
import { MaskedStream } from "../../secrets/masked-stream.ts";
import { isObject } from "../../openai/fields.ts";
import { OpenAiStream } from "../../openai/stream.ts";
import { providerFailure } from "./provider-failed.ts";

/** Text, a chunk, or bytes of chunks. */
export type Piece = string | ChatChunk | Buffer;

/** Turns pieces into bytes. The stream's shape is mended as an upstream's would be. */
export class LocalStream implements ResponseStream, Waiting {
  readonly #a: LocalAttempt;
  readonly #pieces: AsyncIterator<Piece>;
  readonly #mender: OpenAiStream;
  readonly #masked: MaskedStream | undefined;
  readonly #writer: ReturnType<typeof createChunkWriter>;
  #deadline: Deadline | undefined;
  #early: Buffer | undefined;
  #sink: Sink | undefined;
  /** Whoever waits for the first piece hears of what goes wrong before it. */
  #reject: ((error: unknown) => void) | undefined;
  /** The provider has no more pieces. */
  #finished = false;
  /** Nobody waits for more. */
  #over = false;
  #wake: (() => void) | undefined;

  constructor(attempt: LocalAttempt, pieces: AsyncIterator<Piece>) {
    const { target, job } = attempt;
    this.#a = attempt;
    this.#pieces = pieces;
    const head = { id: target.id, created: target.created, model: target.model };
    this.#mender = new OpenAiStream({
      ...head,
      includeUsage: job.includeUsage,
      capture: job.capture,
    });
    this.#masked = target.mask.watchesContent ? new MaskedStream(target.mask) : undefined;
    this.#writer = createChunkWriter(head);
    job.onCancel(this);
  }

  get usage() {
    return this.#mender.usage;
  }
  get finishReason() {
    return this.#mender.finishReason;
  }
  get text() {
    return this.#a.target.mask.text(this.#mender.text);
  }

  /** Resolves once the first bytes are there; rejects at once when the client disconnects, whatever the provider does. */
  first(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#reject = reject;
      this.#next(this.#a.timeoutMs)
        .then((bytes) => {
          this.#early = bytes ?? (this.#over ? undefined : this.#last());
          this.#reject = undefined;
          resolve();
        })
        .catch((error: unknown) => this.#broken(error));
    });
  }

  start(sink: Sink): void {
    this.#sink = sink;
    this.#run(sink).catch((error: unknown) => this.#broken(error));
  }

  async #run(sink: Sink): Promise<void> {
    for (
      let bytes = this.#early;
      bytes !== undefined;
      bytes = await this.#next(this.#a.idleTimeoutMs)
    ) {
      if (!sink.write(bytes)) await new Promise<void>((resolve) => (this.#wake = resolve));
      if (this.#over) return;
    }
    if (this.#over) return;
    const rest = this.#last();
    if (rest !== undefined) sink.write(rest);
    this.#close();
    sink.end();
  }

  resume(): void {
    const wake = this.#wake;
    this.#wake = undefined;
    wake?.();
  }

  cancel(): void {
    if (this.#over) return;
    const reject = this.#reject;
    this.#abandon();
    reject?.(clientDisconnected());
  }

  /** The next bytes; undefined behind the last piece, and where nobody waits any more. */
  async #next(withinMs: number | undefined): Promise<Buffer | undefined> {
    while (!this.#finished && !this.#over) {
      if (withinMs !== undefined) this.#await(withinMs);
      const { done, value } = await this.#pieces.next();
      this.#deadline?.stop();
      if (this.#over) return undefined;
      if (done === true) {
        this.#finished = true;
        return undefined;
      }
      const mended = this.#mender.push(this.#bytesOf(value));
      const out = mended === undefined ? undefined : (this.#masked?.push(mended) ?? mended);
      if (this.#mender.failure !== undefined) throw this.#mender.failure;
      if (out !== undefined && out.length > 0) return out;
    }
    return undefined;
  }

  #await(ms: number): void {
    if (this.#deadline === undefined) this.#deadline = startDeadline(ms, this);
    else this.#deadline.set(ms);
  }

  late(): void {
    const { provider, timeoutMs, idleTimeoutMs, target } = this.#a;
    const message =
      this.#reject !== undefined
        ? `The provider \`${provider.name}\` did not begin to answer within ${timeoutMs} ms.`
        : `The provider \`${provider.name}\` fell silent for ${idleTimeoutMs} ms.`;
    const error = upstreamError({ kind: "timeout", message }, 0);
    target.stop(error);
    this.#broken(error);
  }

  #last(): Buffer | undefined {
    const last = this.#mender.done ? undefined : this.#mender.end();
    return last === undefined ? undefined : (this.#masked?.push(last) ?? last);
  }

  #bytesOf(piece: Piece): Buffer {
    if (Buffer.isBuffer(piece)) return piece;
    if (isObject(piece)) return Buffer.from(`data: ${JSON.stringify(piece)}\n\n`);
    // A plugin may be written without types.
    if (typeof piece !== "string") throw new TypeError("it gave neither a text nor a chunk");
    this.#writer.text(piece);
    return this.#writer.take()!;
  }

  #broken(what: unknown): void {
    if (this.#over) return;
    const error = this.#a.target.hide(what);
    const reject = this.#reject;
    this.#abandon();
    if (reject !== undefined) {
      reject(error);
      return;
    }
    const known: PorticoError = isPorticoError(error)
      ? error
      : providerFailure(this.#a.provider.name, error);
    // A gathered response fails as a whole.
    if (this.#a.job.stream) this.#a.watcher.broken(known);
    this.#sink?.fail(known);
  }

  /** The provider's `finally` blocks run; it may be waiting for something that ends with the signal only. */
  #abandon(): void {
    this.#close();
    this.resume();
    void this.#pieces.return?.(undefined)?.then?.(undefined, () => {});
  }

  #close(): void {
    this.#over = true;
    this.#reject = undefined;
    this.#deadline?.stop();
    this.#a.job.offCancel(this);
    this.#a.watcher.closed();
  }
}

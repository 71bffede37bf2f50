/**
 * The server's class for requests. A body that is requested as a whole bypasses the stream, which would cost more than
 * the rest of the request together.
 */
import { IncomingMessage } from "node:http";
import type { PorticoError } from "../../errors.ts";
import { errors } from "../errors.ts";

interface BodyReader {
  readonly maxBytes: number;
  resolve(body: Buffer): void;
  reject(error: PorticoError): void;
}

/** A client must deliver this many bytes within each `timeoutMs`, so that a trickle counts as a stall. */
const PROGRESS_BYTES = 64 * 1024;

export class HttpRequest extends IncomingMessage {
  /** The whole body has arrived, and none of it is left in the stream. */
  isRead = false;
  /** The caller that waits for the whole body. */
  #reader: BodyReader | undefined = undefined;
  #timer: NodeJS.Timeout | undefined = undefined;
  #parts: Buffer[] = [];
  #size = 0;
  #nextProgress = PROGRESS_BYTES;

  /** Resolves to the whole body, including the part that has arrived before. */
  readWhole(maxBytes: number, timeoutMs: number): Promise<Buffer> {
    return new Promise((resolve, reject) => {
      this.#reader = { maxBytes, resolve, reject };
      const chunk = this.read() as Buffer | null;
      if (chunk !== null) this.#collect(chunk);
      if (this.destroyed) this.#failDisconnected();
      else if (this.complete) this.#finish();
      else queueMicrotask(() => this.#startTimeout(timeoutMs));
    });
  }

  /** Receives the next part from Node's parser, and `null` at the end. */
  override push(part: Buffer | null): boolean {
    if (part === null) {
      this.isRead = this.readableLength === 0;
      if (this.isRead) this._read(0); // marks the stream as read: otherwise Node would drain the empty stream
      this.#finish();
    } else if (this.#reader !== undefined) {
      this.#collect(part);
      return true;
    }
    return super.push(part);
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    if (this.#reader !== undefined) this.#failDisconnected();
    super._destroy(error, done);
  }

  /** Called when the response was sent: listeners for the end of an unread body are called now. */
  settle(): void {
    if (this.isRead && (this.listenerCount("end") > 0 || this.listenerCount("close") > 0))
      this.resume();
  }

  /**
   * Starts the timeout, except for the many bodies that arrive with the head: there a timer would cost as much as all
   * the rest.
   */
  #startTimeout(timeoutMs: number): void {
    if (
      this.#reader === undefined ||
      timeoutMs === 0 ||
      this.#size === Number(this.headers["content-length"])
    )
      return;
    this.#timer = setTimeout(() => this.#fail(errors.bodyTooSlow()), timeoutMs).unref();
  }

  #collect(part: Buffer): void {
    const { maxBytes } = this.#reader!;
    this.#size += part.length;
    // Mostly this is the only part. An array that grows by `push` reserves room for seventeen.
    if (this.#size === part.length) this.#parts = [part];
    else this.#parts.push(part);
    if (this.#size > maxBytes) this.#fail(errors.bodyTooLarge({ maxBytes }));
    else if (this.#size >= this.#nextProgress) {
      this.#nextProgress = this.#size + PROGRESS_BYTES;
      this.#timer?.refresh();
    }
  }

  #finish(): void {
    const parts = this.#parts;
    this.#detachReader()?.resolve(
      parts.length === 1 ? parts[0]! : Buffer.concat(parts, this.#size),
    );
  }

  #failDisconnected(): void {
    this.#fail(errors.clientDisconnected());
  }

  #fail(error: PorticoError): void {
    this.#detachReader()?.reject(error);
    this.resume(); // the rest is read and discarded
  }

  #detachReader(): BodyReader | undefined {
    const reader = this.#reader;
    this.#reader = undefined;
    clearTimeout(this.#timer);
    return reader;
  }
}

/** Node reads this property to decide when a request is finished. */
Object.defineProperty(HttpRequest.prototype, "readableEnded", {
  get(this: HttpRequest): boolean {
    return this.isRead || Reflect.get(IncomingMessage.prototype, "readableEnded", this);
  },
});

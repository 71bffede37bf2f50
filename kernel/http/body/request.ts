/** A request as the server makes it: a body that is asked for as a whole goes past the stream, which costs more than all else of it. */
import { IncomingMessage } from "node:http";
import type { PorticoError } from "../../errors.ts";
import { errors } from "../errors.ts";

interface Taker {
  readonly maxBytes: number;
  resolve(body: Buffer): void;
  reject(error: PorticoError): void;
}

/** A client must deliver this much within each `timeoutMs`: a trickle is as good as a stall. */
const STRIDE = 64 * 1024;

export class HttpRequest extends IncomingMessage {
  /** All of the body has come, and nothing of it is left in the stream. */
  isRead = false;
  /** The caller that waits for the whole body. */
  #taker: Taker | undefined = undefined;
  #timer: NodeJS.Timeout | undefined = undefined;
  #parts: Buffer[] = [];
  #size = 0;
  #nextStride = STRIDE;

  /** The body with what has come of it before. */
  whole(maxBytes: number, timeoutMs: number): Promise<Buffer> {
    return new Promise((resolve, reject) => {
      this.#taker = { maxBytes, resolve, reject };
      const chunk = this.read() as Buffer | null;
      if (chunk !== null) this.#take(chunk);
      if (this.destroyed) this.#left();
      else if (this.complete) this.#end();
      else queueMicrotask(() => this.#wait(timeoutMs));
    });
  }

  /** Receives the next part from Node's parser, and `null` at the end. */
  override push(part: Buffer | null): boolean {
    if (part === null) {
      this.isRead = this.readableLength === 0;
      if (this.isRead) this._read(0); // as if somebody had: else Node would have the empty stream read away
      this.#end();
    } else if (this.#taker !== undefined) {
      this.#take(part);
      return true;
    }
    return super.push(part);
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    if (this.#taker !== undefined) this.#left();
    super._destroy(error, done);
  }

  /** The response was sent, so listeners for the end of an unread body are called now. */
  settle(): void {
    if (this.isRead && (this.listenerCount("end") > 0 || this.listenerCount("close") > 0))
      this.resume();
  }

  /** Most bodies have come with the head: for those a timer would cost as much as all the rest. */
  #wait(timeoutMs: number): void {
    if (
      this.#taker === undefined ||
      timeoutMs === 0 ||
      this.#size === Number(this.headers["content-length"])
    )
      return;
    this.#timer = setTimeout(() => this.#fail(errors.bodyTooSlow()), timeoutMs).unref();
  }

  #take(part: Buffer): void {
    const { maxBytes } = this.#taker!;
    this.#size += part.length;
    // Mostly it is the only one: a list that has grown to it has room for seventeen.
    if (this.#size === part.length) this.#parts = [part];
    else this.#parts.push(part);
    if (this.#size > maxBytes) this.#fail(errors.bodyTooLarge({ maxBytes }));
    else if (this.#size >= this.#nextStride) {
      this.#nextStride = this.#size + STRIDE;
      this.#timer?.refresh();
    }
  }

  #end(): void {
    const parts = this.#parts;
    this.#leave()?.resolve(parts.length === 1 ? parts[0]! : Buffer.concat(parts, this.#size));
  }

  #left(): void {
    this.#fail(errors.clientDisconnected());
  }

  #fail(error: PorticoError): void {
    this.#leave()?.reject(error);
    this.resume(); // the rest is read away
  }

  #leave(): Taker | undefined {
    const taker = this.#taker;
    this.#taker = undefined;
    clearTimeout(this.#timer);
    return taker;
  }
}

/** By this, Node knows when to let go of a request. */
Object.defineProperty(HttpRequest.prototype, "readableEnded", {
  get(this: HttpRequest): boolean {
    return this.isRead || Reflect.get(IncomingMessage.prototype, "readableEnded", this);
  },
});

/**
 * Writes the body of a streamed response. Writes the bytes of one turn of the event loop as one chunk in one write:
 * node:http takes four writes and a tick of its own for each chunk, a third of the cost of a short stream.
 */
import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { inBurst } from "portico";
import { type KeepAlive, keepAlive } from "./keep-alive.ts";
import type { LastWords } from "./last-words.ts";

export class ResponseWriter {
  readonly #res: ServerResponse;
  readonly #onDrain: () => void;
  readonly #comments: KeepAlive | undefined;
  readonly #lastWords: LastWords | undefined;
  /**
   * Whether this class frames the chunks. node:http does it for HTTP/1.0, HEAD, a response with a length, or one that
   * waits for another response.
   */
  readonly #frames: boolean;
  #pending: (Buffer | string)[] = [];
  #isScheduled = false;
  #hasBegun = false;
  #isBlocked = false;
  #hasEnded = false;

  /**
   * Call it after `writeHead`. `hasComments`: comments are written during silence. `onDrain` is called when the client has
   * caught up.
   */
  constructor(
    res: ServerResponse,
    hasComments: boolean,
    onDrain: () => void,
    lastWords?: LastWords,
  ) {
    this.#res = res;
    this.#onDrain = onDrain;
    this.#lastWords = lastWords;
    this.#comments = hasComments ? keepAlive(res) : undefined;
    const { httpVersion, method } = res.req;
    this.#frames =
      httpVersion === "1.1" &&
      method !== "HEAD" &&
      res.socket !== null &&
      !res.hasHeader("content-length");
    if (!this.#frames) res.on("drain", onDrain);
  }

  /** Returns false if the caller must wait until `onDrain` is called. */
  write(bytes: Buffer | string): boolean {
    this.#comments?.touch();
    if (bytes.length === 0) return true;
    if (!this.#frames) return this.#res.write(bytes);
    this.#pending.push(bytes);
    this.#schedule();
    return !this.#isBlocked;
  }

  end(last?: Buffer | string): void {
    if (!this.#frames) {
      this.#res.end(last);
      return;
    }
    if (last !== undefined && last.length > 0) this.#pending.push(last);
    this.#hasEnded = true;
    this.#schedule();
  }

  /** Releases the timers after the response has closed. */
  stop(): void {
    this.#comments?.stop();
    this.#lastWords?.end();
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    inBurst(() => this.#flush());
  }

  #begin(): void {
    this.#hasBegun = true;
    this.#res.flushHeaders();
    this.#lastWords?.begin(this.#res);
  }

  #flush(): void {
    this.#isScheduled = false;
    const res = this.#res;
    const { socket } = res;
    const pending = this.#pending;
    this.#pending = [];
    if (socket === null || res.destroyed) return;
    socket.cork();
    if (!this.#hasBegun) this.#begin();
    if (pending.length > 0 && !writeChunk(socket, pending) && !this.#isBlocked) {
      this.#isBlocked = true;
      socket.once("drain", () => {
        this.#isBlocked = false;
        this.#onDrain();
      });
    }
    if (this.#hasEnded) res.end();
    socket.uncork();
  }
}

/** Up to this size, a copy is cheaper than further writes. */
const ONE_WRITE_BYTES = 16 * 1024;

/** Writes all parts as one chunk (RFC 9112, section 7.1) to a corked socket. */
function writeChunk(socket: Socket, parts: readonly (Buffer | string)[]): boolean {
  let size = 0;
  for (const part of parts)
    size += typeof part === "string" ? Buffer.byteLength(part) : part.length;
  const head = `${size.toString(16)}\r\n`;
  if (size > ONE_WRITE_BYTES) {
    socket.write(head, "latin1");
    for (const part of parts) socket.write(part);
    return socket.write("\r\n", "latin1");
  }
  const out = Buffer.allocUnsafe(head.length + size + 2);
  let offset = out.write(head, 0, "latin1");
  for (const part of parts)
    offset += typeof part === "string" ? out.write(part, offset) : part.copy(out, offset);
  out.write("\r\n", offset, "latin1");
  return socket.write(out);
}

/**
 * Writes the body of a streamed response. The bytes of one turn of the event loop go out as one chunk
 * in one write: node:http takes four writes and a tick of its own for each chunk, a third of what a short stream costs.
 */
import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { inBurst } from "portico";
import { type KeepAlive, keepAlive } from "./keep-alive.ts";
import type { LastWords } from "./last-words.ts";

export class ResponseWriter {
  readonly #res: ServerResponse;
  readonly #drained: () => void;
  readonly #comments: KeepAlive | undefined;
  readonly #lastWords: LastWords | undefined;
  /** Chunks are framed here. Else node:http knows better: HTTP/1.0, HEAD, a length, or a response that waits for another. */
  readonly #frames: boolean;
  #waiting: (Buffer | string)[] = [];
  #scheduled = false;
  #begun = false;
  #blocked = false;
  #ended = false;

  /** After `writeHead`. `alive`: comments may go out in the silence; `drained`: the client has caught up. */
  constructor(res: ServerResponse, alive: boolean, drained: () => void, lastWords?: LastWords) {
    this.#res = res;
    this.#drained = drained;
    this.#lastWords = lastWords;
    this.#comments = alive ? keepAlive(res) : undefined;
    const { httpVersion, method } = res.req;
    this.#frames =
      httpVersion === "1.1" &&
      method !== "HEAD" &&
      res.socket !== null &&
      !res.hasHeader("content-length");
    if (!this.#frames) res.on("drain", drained);
  }

  /** False: hold on until `drained`. */
  write(bytes: Buffer | string): boolean {
    this.#comments?.touch();
    if (bytes.length === 0) return true;
    if (!this.#frames) return this.#res.write(bytes);
    this.#waiting.push(bytes);
    this.#schedule();
    return !this.#blocked;
  }

  end(last?: Buffer | string): void {
    if (!this.#frames) {
      this.#res.end(last);
      return;
    }
    if (last !== undefined && last.length > 0) this.#waiting.push(last);
    this.#ended = true;
    this.#schedule();
  }

  /** The response has closed. */
  stop(): void {
    this.#comments?.stop();
    this.#lastWords?.end();
  }

  #schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    inBurst(() => this.#flush());
  }

  #begin(): void {
    this.#begun = true;
    this.#res.flushHeaders();
    this.#lastWords?.begin(this.#res);
  }

  #flush(): void {
    this.#scheduled = false;
    const res = this.#res;
    const { socket } = res;
    const waiting = this.#waiting;
    this.#waiting = [];
    if (socket === null || res.destroyed) return;
    socket.cork();
    if (!this.#begun) this.#begin();
    if (waiting.length > 0 && !writeChunk(socket, waiting) && !this.#blocked) {
      this.#blocked = true;
      socket.once("drain", () => {
        this.#blocked = false;
        this.#drained();
      });
    }
    if (this.#ended) res.end();
    socket.uncork();
  }
}

/** Up to here a copy is cheaper than further buffers to write. */
const ONE_WRITE_BYTES = 16 * 1024;

/** One chunk of all parts (RFC 9112, section 7.1), to a socket that is corked. */
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
  let at = out.write(head, 0, "latin1");
  for (const part of parts)
    at += typeof part === "string" ? out.write(part, at) : part.copy(out, at);
  out.write("\r\n", at, "latin1");
  return socket.write(out);
}

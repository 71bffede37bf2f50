/**
 * Copies of the connections of a worker, in the process that runs it. When a worker is killed in the middle of responses,
 * this process sends the clients an error over the copies. It reads nothing from them. A connection ends when the worker and
 * this process have closed it.
 */
import type { Socket } from "node:net";

/** Each copy takes a file descriptor and some memory. Further connections just break when their worker is killed. */
const MAX_COPIES = 4096;

interface ConnectionCopy {
  socket: Socket;
  /** The bytes that the client receives if the worker is killed. */
  lastWords?: Uint8Array | undefined;
}

export class ConnectionCopies {
  readonly #byRef = new Map<number, ConnectionCopy>();

  add(ref: number, socket: Socket): void {
    if (this.#byRef.size < MAX_COPIES) this.#byRef.set(ref, { socket });
    else socket.destroy();
  }

  /** Sets the bytes that the client of a connection receives if its worker is killed. */
  setLastWords(ref: number, lastWords: Uint8Array | undefined): void {
    const connection = this.#byRef.get(ref);
    if (connection) connection.lastWords = lastWords;
  }

  /** Closes the copy of a connection that the worker has closed. */
  close(ref: number): void {
    this.#byRef.get(ref)?.socket.destroy();
    this.#byRef.delete(ref);
  }

  /** Closes all copies after the worker has exited. Only the clients of a killed worker receive their last words. */
  closeAll(wasKilled: boolean): void {
    for (const { socket, lastWords } of this.#byRef.values()) {
      if (wasKilled && lastWords) socket.end(lastWords, () => socket.destroy());
      else socket.destroy();
    }
    this.#byRef.clear();
  }
}

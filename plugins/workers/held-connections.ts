/**
 * Copies of the connections that a worker has. A worker that is killed leaves its clients in the middle of what they
 * read: the copies serve to send them an error. Nothing is read from them, and a connection ends when both copies are closed.
 */
import type { Socket } from "node:net";

/** Each takes a descriptor and some memory here. Connections beyond are the worker's alone, and are cut with it. */
const MOST = 4096;

interface Held {
  socket: Socket;
  lastWords?: Uint8Array | undefined;
}

export class HeldConnections {
  readonly #byRef = new Map<number, Held>();

  hold(ref: number, socket: Socket): void {
    if (this.#byRef.size < MOST) this.#byRef.set(ref, { socket });
    else socket.destroy();
  }

  /** What is still said over a connection where its worker is killed. */
  note(ref: number, lastWords: Uint8Array | undefined): void {
    const connection = this.#byRef.get(ref);
    if (connection) connection.lastWords = lastWords;
  }

  /** The worker has closed it. */
  close(ref: number): void {
    this.#byRef.get(ref)?.socket.destroy();
    this.#byRef.delete(ref);
  }

  /** The worker has exited. One that was not killed has logged the reason itself. */
  end(wasKilled: boolean): void {
    for (const { socket, lastWords } of this.#byRef.values()) {
      if (wasKilled && lastWords) socket.end(lastWords, () => socket.destroy());
      else socket.destroy();
    }
    this.#byRef.clear();
  }
}

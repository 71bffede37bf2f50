/** Ends a stream whose worker is killed: the process that accepted its connection writes the last event. */
import type { ServerResponse } from "node:http";
import type { PorticoError, Workers } from "portico";
import type {} from "portico/command-line";
import { errors } from "../../errors.ts";

/** Shorter streams end before, and need not pay for it. */
const AFTER_MS = 50;
const KILLED = errors.workerKilled();

export class LastWords {
  readonly #workers: Workers;
  readonly #say: (error: PorticoError) => string | Buffer;
  #timer: NodeJS.Timeout | undefined;
  #undo: (() => void) | undefined;

  private constructor(workers: Workers, say: (error: PorticoError) => string | Buffer) {
    this.#workers = workers;
    this.#say = say;
  }

  /** `say`: an error as an event of the stream; called at any time, it changes nothing. */
  static of(
    workers: Workers | undefined,
    say: ((error: PorticoError) => string | Buffer) | undefined,
  ) {
    return workers && say && new LastWords(workers, say);
  }

  /** The response, in chunks, is on its way. */
  begin({ socket }: ServerResponse): void {
    this.#timer = setTimeout(() => {
      const words = Buffer.from(this.#say(KILLED));
      const chunk = Buffer.concat([
        Buffer.from(`${words.length.toString(16)}\r\n`),
        words,
        Buffer.from("\r\n0\r\n\r\n"),
      ]);
      this.#workers.lastWords(socket, chunk);
      this.#undo = () => this.#workers.lastWords(socket);
    }, AFTER_MS).unref();
  }

  /** It has ended. */
  end(): void {
    clearTimeout(this.#timer);
    this.#undo?.();
  }
}

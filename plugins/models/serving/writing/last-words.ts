/** Ends a stream whose worker is killed: the process that accepted the connection writes the last event. */
import type { ServerResponse } from "node:http";
import type { PorticoError, Workers } from "portico";
import type {} from "portico/command-line";
import { errors } from "../../errors.ts";

/** Shorter streams end before this time, and avoid the cost. */
const AFTER_MS = 50;
const KILLED = errors.workerKilled();

export class LastWords {
  readonly #workers: Workers;
  readonly #encode: (error: PorticoError) => string | Buffer;
  #timer: NodeJS.Timeout | undefined;
  #withdraw: (() => void) | undefined;

  private constructor(workers: Workers, encode: (error: PorticoError) => string | Buffer) {
    this.#workers = workers;
    this.#encode = encode;
  }

  /**
   * `encode` encodes an error as an event of the stream. It must have no side effects, because it is called at any
   * time.
   */
  static of(
    workers: Workers | undefined,
    encode: ((error: PorticoError) => string | Buffer) | undefined,
  ) {
    return workers && encode && new LastWords(workers, encode);
  }

  /** Registers the last event once the chunked response has been running for a moment. */
  begin({ socket }: ServerResponse): void {
    this.#timer = setTimeout(() => {
      const event = Buffer.from(this.#encode(KILLED));
      const chunk = Buffer.concat([
        Buffer.from(`${event.length.toString(16)}\r\n`),
        event,
        Buffer.from("\r\n0\r\n\r\n"),
      ]);
      this.#workers.lastWords(socket, chunk);
      this.#withdraw = () => this.#workers.lastWords(socket);
    }, AFTER_MS).unref();
  }

  /** Removes the last event, because the response has ended. */
  end(): void {
    clearTimeout(this.#timer);
    this.#withdraw?.();
  }
}

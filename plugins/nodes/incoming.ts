/** A file that arrives over the connection, part by part. */
import { openConfined, type WhyProtected } from "portico/browser";
import { errors } from "./errors.ts";

export interface Sink {
  write(part: Buffer): Promise<void>;
  /** Completes the file. Resolves with its path. */
  end(): Promise<string>;
  discard(): Promise<void>;
}

/** Writes below `root`. The file gets its final name only when it is complete. */
export async function fileSink(
  root: string,
  name: string,
  whyProtected?: WhyProtected,
): Promise<Sink> {
  const file = await openConfined(root, name, whyProtected);
  return {
    async write(part) {
      await file.handle.writeFile(part);
    },
    end: () => file.commit(),
    discard: () => file.discard(),
  };
}

/** Keeps the content in memory, for answers that are bytes. */
export function memorySink(): Sink & { content(): Buffer } {
  const parts: Buffer[] = [];
  return {
    async write(part) {
      parts.push(Buffer.from(part));
    },
    end: async () => "",
    discard: async () => void parts.splice(0),
    content: () => Buffer.concat(parts),
  };
}

/** A file that is being received. Counts its bytes; `done` resolves with the file's path when the stream has ended. */
export class Incoming {
  readonly done: Promise<string>;
  readonly #sink: Promise<Sink>;
  readonly #size: number;
  #received = 0;
  #lastPart = Date.now();
  #lastWrite: Promise<unknown> = Promise.resolve();
  #resolve!: (path: string) => void;
  #reject!: (error: unknown) => void;
  #isEnded = false;

  constructor(sink: Promise<Sink>, size: number) {
    this.#sink = sink;
    this.#size = size;
    this.done = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    this.done.catch(() => {});
    sink.catch((error) => this.fail(error));
  }

  /** Writes the next part; an empty one ends the file. Never rejects: `done` does. */
  take(part: Buffer): Promise<void> {
    const write = this.#lastWrite.then(() => this.#take(part));
    this.#lastWrite = write;
    return write;
  }

  async #take(part: Buffer): Promise<void> {
    if (this.#isEnded) return;
    try {
      this.#received += part.length;
      this.#lastPart = Date.now();
      const isLast = part.length === 0;
      if (this.#received > this.#size || (isLast && this.#received !== this.#size))
        throw errors.wrongFileSize();
      if (!isLast) return await (await this.#sink).write(part);
      this.#isEnded = true;
      this.#resolve(await (await this.#sink).end());
    } catch (error) {
      await this.fail(error);
    }
  }

  /** Resolves with the file's path. Fails with `stallError` if no part arrives for `ms`. */
  async withoutStall(ms: number, stallError: Error): Promise<string> {
    const timer = setInterval(() => {
      if (Date.now() - this.#lastPart > ms) void this.fail(stallError);
    }, ms / 4);
    this.#lastPart = Date.now();
    return this.done.finally(() => clearInterval(timer));
  }

  /** Rejects `done`, and removes the partial file. */
  async fail(error: unknown): Promise<void> {
    this.#isEnded = true;
    this.#reject(error);
    await this.#sink.then((sink) => sink.discard()).catch(() => {});
  }
}

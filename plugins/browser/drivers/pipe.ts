/** The DevTools protocol over the pipe of a browser that was started here: messages that end in a NUL. */
import type { Readable, Writable } from "node:stream";
import type { Transport } from "./playwright.ts";

/** What the library talks through. A round trip takes a third of a millisecond less than over the debugging socket. */
export class DebuggingPipe implements Transport {
  onmessage?: (message: object) => void;
  /** Is shown each message first, and keeps those for which it returns true. */
  intercept?: (message: object) => boolean;
  /** Called once the browser has exited. */
  ended?: () => void;
  readonly #out: Writable;
  #begun: Buffer[] = [];
  #onclose: ((reason?: string) => void) | undefined;
  #ended = false;

  constructor(out: Writable, incoming: Readable) {
    this.#out = out;
    out.on("error", () => {});
    incoming.on("error", () => {});
    incoming.on("data", (chunk: Buffer) => this.#take(chunk));
    incoming.on("close", () => {
      this.#ended = true;
      this.ended?.();
      this.close();
    });
  }

  /** Called once; at once if the browser has already exited. */
  set onclose(listener: (reason?: string) => void) {
    this.#onclose = listener;
    if (this.#ended) this.close();
  }

  send(message: object): void {
    if (this.#out.writable) this.#out.write(`${JSON.stringify(message)}\0`);
  }

  /** Ends the conversation, not the browser: that lives for as long as the pipe is open. */
  close(): void {
    const listener = this.#onclose;
    this.#onclose = undefined;
    delete this.onmessage;
    listener?.();
  }

  #take(chunk: Buffer): void {
    let from = 0;
    for (let end = chunk.indexOf(0); end !== -1; end = chunk.indexOf(0, from)) {
      const part = chunk.subarray(from, end);
      this.#deliver(this.#begun.length === 0 ? part : Buffer.concat([...this.#begun, part]));
      this.#begun = [];
      from = end + 1;
    }
    if (from < chunk.length) this.#begun.push(chunk.subarray(from));
  }

  /** Each in a turn of its own: what waits for one message runs before the next one comes. */
  #deliver(message: Buffer): void {
    setImmediate(() => {
      const parsed = parse(message);
      if (parsed === undefined) return;
      if (!this.intercept?.(parsed)) this.onmessage?.(parsed);
    });
  }
}

function parse(message: Buffer): object | undefined {
  try {
    return JSON.parse(message.toString()) as object;
  } catch {
    // A response that repeats broken text of a request may not be JSON, and then no caller can receive it.
    return undefined;
  }
}

/** Reads one body. An object whose listeners all share: closures would live as long as the request, and the collector would move them about. */
import type { IncomingMessage } from "node:http";
import { PorticoError } from "../../errors.ts";

/** A client must deliver this much within each `timeoutMs`: a trickle is as good as a stall. */
const STRIDE = 64 * 1024;
const TICK_MS = 100;

const READER = Symbol("reader");
type Read = IncomingMessage & { [READER]?: BodyReader | undefined };

const waiting: BodyReader[] = [];
let clock: NodeJS.Timeout | undefined;

export class BodyReader {
  #chunks: Buffer[] = [];
  #size = 0;
  #nextStride = STRIDE;
  #ticksLeft: number;
  #place: number;

  constructor(
    readonly req: Read,
    readonly limits: { maxBytes: number; timeoutMs: number },
    readonly resolve: (body: Buffer) => void,
    readonly reject: (error: PorticoError) => void,
  ) {
    this.#ticksLeft = ticksOf(limits.timeoutMs);
    this.#place = waiting.push(this) - 1;
    clock ??= setInterval(BodyReader.#tick, TICK_MS).unref();
    req[READER] = this;
    // Listeners stay until the request goes: taking them off costs more than calls that do nothing.
    // A request without a listener for "error" emits none.
    req.on("data", onData).on("end", onEnd).on("close", onClose);
    if (req.destroyed) onClose.call(req);
  }

  take(chunk: Buffer): void {
    const { maxBytes, timeoutMs } = this.limits;
    this.#size += chunk.length;
    // Mostly it is the only one: a list that has grown to it has room for seventeen.
    if (this.#size === chunk.length) this.#chunks = [chunk];
    else this.#chunks.push(chunk);
    if (this.#size > maxBytes) this.fail(tooLarge(maxBytes));
    else if (this.#size >= this.#nextStride) {
      this.#nextStride = this.#size + STRIDE;
      this.#ticksLeft = ticksOf(timeoutMs);
    }
  }

  end(): void {
    this.#leave();
    this.resolve(this.#chunks.length === 1 ? this.#chunks[0]! : Buffer.concat(this.#chunks, this.#size));
  }

  fail(error: PorticoError): void {
    this.#leave();
    this.reject(error);
  }

  #leave(): void {
    this.req[READER] = undefined;
    // The last takes the place of whoever goes. (A Set would keep whole requests in its old tables until the next full
    // garbage collection.)
    const last = waiting.pop()!;
    last.#place = this.#place;
    if (last !== this) waiting[this.#place] = last;
  }

  /** One clock for all: a timer for each costs a microsecond of the thirty that a small request takes. */
  static #tick(): void {
    for (const one of [...waiting]) if (--one.#ticksLeft <= 0) one.fail(late());
    if (waiting.length > 0) return;
    clearInterval(clock);
    clock = undefined;
  }
}

/** Never early: the running one may be nearly over. */
const ticksOf = (ms: number): number => Math.ceil(ms / TICK_MS) + 1;

function onData(this: Read, chunk: Buffer): void {
  this[READER]?.take(chunk);
}

function onEnd(this: Read): void {
  this[READER]?.end();
}

function onClose(this: Read): void {
  this[READER]?.fail(clientClosed());
}

function late(): PorticoError {
  return new PorticoError("request_timeout", "The request body did not arrive in time. Send it without long pauses.");
}

function clientClosed(): PorticoError {
  return new PorticoError("client_closed", "The client left before its request was complete.", { status: 499 });
}

export function tooLarge(maxBytes: number): PorticoError {
  const message = `The request body is larger than the ${maxBytes} bytes that this route takes.`;
  return new PorticoError("body_too_large", message);
}

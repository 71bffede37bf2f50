/** Holds a response that is read as a whole before it is passed on, and the end of one that is too large for that. */
import { type Usage, withoutMark } from "portico/provider";
import { usageIn } from "../openai/usage.ts";
import { type Limits, ResponseExtent, WHOLE_RESPONSE } from "./response-extent.ts";

/** Error responses are read up to this size. */
export const MAX_ERROR_BYTES = 1024 * 1024;
/** A whole response larger than this is passed through as it is received, if that is possible. */
export const HOLD_BYTES = 1024 * 1024;
/** The values of a smaller response are not counted, because it costs little to parse. */
const UNCOUNTED_BYTES = 256 * 1024;
/** The length of the end of a large response that is searched for its usage. */
const TAIL_BYTES = 4096;

/** The bytes received so far. Most responses arrive in one read, and need no list. */
export class HeldResponse {
  size = 0;
  #first: Buffer | undefined;
  #rest: Buffer[] | undefined;
  readonly #limits: Limits;
  #extent: ResponseExtent | undefined;

  constructor(limits = WHOLE_RESPONSE) {
    this.#limits = limits;
  }

  push(bytes: Buffer): void {
    this.size += bytes.length;
    if (this.#first === undefined) this.#first = bytes;
    else if (this.#rest === undefined) this.#rest = [bytes];
    else this.#rest.push(bytes);
    if (this.size <= UNCOUNTED_BYTES) return;
    if (this.#extent !== undefined) this.#extent.push(bytes);
    else {
      this.#extent = new ResponseExtent(this.#limits);
      for (const part of this.#parts()) this.#extent.push(part);
    }
  }

  /** Why the response is too large to be held; undefined as long as it is not. */
  get excess(): string | undefined {
    return this.#extent?.excess;
  }

  #parts(): Buffer[] {
    return this.#first === undefined ? [] : [this.#first, ...(this.#rest ?? [])];
  }

  /** Returns the parts in their order and releases them. */
  take(): Buffer[] {
    const parts = this.#parts();
    this.#first = undefined;
    this.#rest = undefined;
    this.size = 0;
    return parts;
  }

  /** Returns the whole response without a byte order mark, and releases it. */
  takeWhole(): Buffer {
    const first = this.#first;
    if (first === undefined || this.#rest !== undefined)
      return withoutMark(Buffer.concat(this.take()));
    this.#first = undefined;
    this.size = 0;
    return withoutMark(first);
  }

  /** Whether it begins like a response in OpenAI's format, and not like an error with a status of success. */
  beginsAsCompletion(): boolean {
    const head = this.#first;
    if (head === undefined || head[0] !== 123) return false;
    const choices = head.indexOf('"choices"');
    if (choices === -1 || head.subarray(0, choices).includes('"error"')) return false;
    // An id of another kind must be replaced.
    return /^\{\s*"id"\s*:\s*"chatcmpl-./.test(head.toString("latin1", 0, 64));
  }
}

/** Keeps the end of a response that passes through, because its usage is there. */
export class ResponseTail {
  #bytes: Buffer | undefined;

  push(bytes: Buffer): void {
    const all =
      bytes.length >= TAIL_BYTES || this.#bytes === undefined
        ? bytes
        : Buffer.concat([this.#bytes, bytes]);
    this.#bytes = all.subarray(-TAIL_BYTES);
  }

  get usage(): Usage | undefined {
    return this.#bytes === undefined ? undefined : usageIn(this.#bytes.toString("latin1"));
  }
}

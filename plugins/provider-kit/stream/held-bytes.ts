/**
 * Stores the bytes of one event of a stream that has not arrived completely, in one growing buffer. It counts the JSON values
 * in them as they arrive, because the event is parsed only later.
 */
import { JsonExtent } from "../json/json-extent.ts";
import { ResponseTooLarge } from "./response-too-large.ts";

/** Smaller events cost little to parse, whatever their content. */
const UNCOUNTED_BYTES = 64 * 1024;
/** About ten times the largest events of any provider. */
const MAX_VALUES = 100_000;
const MAX_DEPTH = 500;
/** A channel may set a lower limit: `maxEventBytes`. */
const MAX_BYTES = 64 * 1024 * 1024;
const NOTHING = Buffer.alloc(0);

export class HeldBytes {
  #bytes: Buffer = NOTHING;
  #size = 0;
  /** True if the buffer was allocated here and may be written into. False if it belongs to a caller of `push`. */
  #isOwn = false;
  #extent: JsonExtent | undefined;

  get size(): number {
    return this.#size;
  }

  /** Adds bytes. Throws `ResponseTooLarge` if the event exceeds a limit. */
  push(bytes: Buffer): void {
    if (this.#size === 0) {
      this.#bytes = bytes;
      this.#isOwn = false;
    } else this.#append(bytes);
    this.#size += bytes.length;
    if (this.#size > MAX_BYTES) throw tooMuch(`more than ${MAX_BYTES >> 20} MiB`);
    if (this.#size > UNCOUNTED_BYTES) this.#count(bytes);
  }

  /** Returns all bytes in one buffer, and becomes empty. */
  take(): Buffer {
    const bytes = this.#bytes.subarray(0, this.#size);
    this.#bytes = NOTHING;
    this.#size = 0;
    this.#extent = undefined;
    return bytes;
  }

  #append(bytes: Buffer): void {
    const needed = this.#size + bytes.length;
    if (!this.#isOwn || needed > this.#bytes.length) {
      const larger = Buffer.allocUnsafeSlow(Math.max(2 * needed, 4096));
      this.#bytes.copy(larger, 0, 0, this.#size);
      this.#bytes = larger;
      this.#isOwn = true;
    }
    bytes.copy(this.#bytes, this.#size);
  }

  #count(bytes: Buffer): void {
    if (this.#extent === undefined) {
      this.#extent = new JsonExtent();
      this.#extent.push(this.#bytes.subarray(0, this.#size));
    } else this.#extent.push(bytes);
    const { values, depth } = this.#extent;
    if (values > MAX_VALUES) throw tooMuch(`more than ${MAX_VALUES} values`);
    if (depth > MAX_DEPTH)
      throw tooMuch(`objects and lists nested more than ${MAX_DEPTH} levels deep`);
  }
}

function tooMuch(what: string): Error {
  return new ResponseTooLarge(`The upstream sent an event that contains ${what}.`);
}

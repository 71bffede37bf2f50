/**
 * The bytes of one event of a stream that has not arrived completely. One growing buffer stores them, however many reads
 * they take, and counts the JSON values in them on arrival, because the reader of the event parses it later.
 */
import { JsonExtent } from "../json/json-extent.ts";
import { ResponseTooLarge } from "./response-too-large.ts";

/** Smaller events cost little to read, whatever they hold. */
const UNCOUNTED_BYTES = 64 * 1024;
/** Some ten times the largest events of any provider. */
const MOST_VALUES = 100_000;
const MOST_DEPTH = 500;
/** A channel may allow less: `maxEventBytes`. */
const MOST_BYTES = 64 * 1024 * 1024;
const NOTHING = Buffer.alloc(0);

export class HeldBytes {
  #bytes: Buffer = NOTHING;
  #size = 0;
  /** The bytes are ours to write into, and not somebody's who pushed them. */
  #isOwn = false;
  #extent: JsonExtent | undefined;

  get size(): number {
    return this.#size;
  }

  /** Throws `ResponseTooLarge` where the event holds more than is read. */
  push(bytes: Buffer): void {
    if (this.#size === 0) {
      this.#bytes = bytes;
      this.#isOwn = false;
    } else this.#append(bytes);
    this.#size += bytes.length;
    if (this.#size > MOST_BYTES) throw tooMuch(`more than ${MOST_BYTES >> 20} MiB`);
    if (this.#size > UNCOUNTED_BYTES) this.#count(bytes);
  }

  /** All of them in one piece; none is held any more. */
  take(): Buffer {
    const all = this.#bytes.subarray(0, this.#size);
    this.#bytes = NOTHING;
    this.#size = 0;
    this.#extent = undefined;
    return all;
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
    if (values > MOST_VALUES) throw tooMuch(`more than ${MOST_VALUES} values`);
    if (depth > MOST_DEPTH)
      throw tooMuch(`objects and lists nested more than ${MOST_DEPTH} levels deep`);
  }
}

function tooMuch(what: string): Error {
  return new ResponseTooLarge(`The upstream sent one event that contains ${what}.`);
}

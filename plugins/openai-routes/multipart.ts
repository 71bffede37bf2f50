/**
 * Finds the small fields of a `multipart/form-data` body (RFC 7578) while it streams, and the positions of their values;
 * files are skipped. It holds only the head of a part or a small value. The body is forwarded unchanged, to servers that may
 * be more lenient, so everything that they could read in another way is refused.
 */
import { errors } from "./errors.ts";
import { readHead } from "./part-head.ts";

/** A part of the body. The value of a file is empty. */
export interface Field {
  name: string;
  file: boolean;
  value: string;
  /** The offset of the first byte of its value in the body, and in `end` the offset behind the last one. */
  start: number;
  end: number;
}

export interface MultipartReader {
  push(bytes: Buffer): void;
  /** Returns the fields. Throws 400 if the body did not end with its last boundary. */
  end(): Field[];
}

const MAX_HEAD = 16 * 1024;
/** The bytes that are searched at a time; more than the head of a part. */
const WINDOW = 64 * 1024;
const MAX_VALUE = 256 * 1024;
const MAX_PARTS = 1000;
const HEAD_END = Buffer.from("\r\n\r\n");

/** Returns the boundary; undefined for another content type, or one with no boundary or with two. */
export function boundaryOf(contentType: string): string | undefined {
  if (contentType.length > 1000 || !/^\s{0,9}multipart\/form-data\s{0,9};/i.test(contentType))
    return undefined;
  const match =
    /;\s{0,9}boundary=(?:"([\w'()+,./:=? -]{1,200})"|([\w'()+,./:=?-]{1,200}))\s{0,9}(;|$)/i.exec(
      contentType,
    );
  const isAmbiguous = contentType.split(/boundary\*?(?:\d+\*?)?\s{0,9}=/i).length > 2;
  return isAmbiguous ? undefined : (match?.[1] ?? match?.[2]);
}

interface Part {
  name: string;
  start: number;
  /** The bytes of a field so far; undefined for a file. */
  value: Buffer[] | undefined;
  size: number;
}

const CRLF = Buffer.from("\r\n");

export function createMultipartReader(boundary: string): MultipartReader {
  return new WindowReader(boundary);
}

class WindowReader implements MultipartReader {
  readonly #delimiter: Buffer;
  readonly #dashed: Buffer;
  readonly #fields: Field[] = [];
  /** All chunks are copied into this buffer: new buffers would create as much garbage as the body is large. */
  readonly #window = Buffer.allocUnsafeSlow(WINDOW);
  /** The bytes of the window that are not processed yet. */
  #pending: Buffer;
  /** The offset of `#pending` in the body; negative for the line break that the constructor adds. */
  #offset = -2;
  #state: "before" | "delimited" | "head" | "value" | "over" = "before";
  #part: Part | undefined;
  #parts = 0;

  constructor(boundary: string) {
    this.#delimiter = Buffer.from(`\r\n--${boundary}`, "latin1");
    this.#dashed = this.#delimiter.subarray(2);
    // A line break is added, since the first delimiter needs none before it.
    this.#pending = this.#window.subarray(0, CRLF.copy(this.#window));
  }

  push(bytes: Buffer): void {
    for (let from = 0; from < bytes.length; ) {
      from += this.#fill(bytes, from);
      while (this.#step());
    }
  }

  end(): Field[] {
    if (this.#state !== "over") throw errors.incomplete();
    return this.#fields;
  }

  #step(): boolean {
    switch (this.#state) {
      case "before":
      case "value":
        return this.#readToDelimiter();
      case "delimited":
        return this.#readAfterDelimiter();
      case "head":
        return this.#beginPart();
      default:
        if (this.#pending.includes(this.#dashed)) throw errors.textAfterEnd();
        this.#drop(Math.max(0, this.#pending.length - this.#dashed.length));
        return false;
    }
  }

  /** Appends as many bytes as the window has room for, and returns their count. */
  #fill(bytes: Buffer, from: number): number {
    if (this.#pending.byteOffset + this.#pending.length === WINDOW)
      this.#pending = this.#window.subarray(0, this.#pending.copy(this.#window));
    const end = this.#pending.byteOffset + this.#pending.length;
    const count = bytes.copy(this.#window, end, from);
    this.#pending = this.#window.subarray(this.#pending.byteOffset, end + count);
    return count;
  }

  #drop(length: number): void {
    this.#pending = this.#pending.subarray(length);
    this.#offset += length;
  }

  #readToDelimiter(): boolean {
    const dashes = this.#pending.indexOf(this.#dashed);
    const at = dashes === -1 ? -1 : dashes - CRLF.length;
    if (dashes !== -1 && (at < 0 || this.#pending.compare(CRLF, 0, CRLF.length, at, dashes) !== 0))
      throw errors.boundaryInLine();
    // Bytes that may be the beginning of a delimiter wait for the next chunk.
    const length = at < 0 ? Math.max(0, this.#pending.length - this.#delimiter.length + 1) : at;
    if (this.#part !== undefined) this.#appendValue(this.#part, this.#pending.subarray(0, length));
    this.#drop(length);
    if (at < 0) return false;
    if (this.#part !== undefined) this.#endPart(this.#part);
    this.#drop(this.#delimiter.length);
    this.#state = "delimited";
    return true;
  }

  #appendValue(part: Part, bytes: Buffer): void {
    part.size += bytes.length;
    if (part.value === undefined) return;
    if (part.size > MAX_VALUE)
      throw errors.fieldTooLarge({ name: part.name, kib: MAX_VALUE >> 10 });
    // The bytes are copied, since the window is overwritten.
    if (bytes.length > 0) part.value.push(Buffer.from(bytes));
  }

  #endPart({ name, value, start, size }: Part): void {
    const text = value === undefined ? "" : Buffer.concat(value).toString("utf8");
    this.#fields.push({ name, file: value === undefined, value: text, start, end: start + size });
    this.#part = undefined;
  }

  #readAfterDelimiter(): boolean {
    if (this.#pending.length < 2) return false;
    if (this.#pending[0] === 45 && this.#pending[1] === 45) {
      this.#drop(2);
      this.#state = "over";
      return true;
    }
    if (this.#pending[0] !== 13 || this.#pending[1] !== 10) throw errors.textAfterBoundary();
    if (++this.#parts > MAX_PARTS) throw errors.tooManyParts({ most: MAX_PARTS });
    // The line break stays in the window: with an empty head, it is the beginning of the head's end.
    this.#state = "head";
    return true;
  }

  #beginPart(): boolean {
    const headEnd = this.#pending.indexOf(HEAD_END);
    if (headEnd === -1 ? this.#pending.length > MAX_HEAD : headEnd > MAX_HEAD)
      throw errors.partHeadTooLarge();
    if (headEnd === -1) return false;
    const { name, file } = readHead(
      this.#pending.toString("utf8", CRLF.length, Math.max(headEnd, CRLF.length)),
    );
    this.#drop(headEnd + HEAD_END.length);
    this.#part = { name, start: this.#offset, value: file ? undefined : [], size: 0 };
    // The delimiter may follow at once, after an empty value.
    this.#state = "value";
    return true;
  }
}

/**
 * Finds the small fields of a `multipart/form-data` body (RFC 7578) while it goes by, and where their values stand; files
 * are skipped. Nothing but the head of a part or a small value is held. The body goes on as it is, to servers that may be
 * more generous: whatever they could read in another way is refused.
 */
import { errors } from "./errors.ts";
import { readHead } from "./part-head.ts";

/** A part of the body; of a file only its name is known. */
export interface Field {
  name: string;
  file: boolean;
  value: string;
  /** The range of its value in the body: from the first byte to after the last. */
  start: number;
  end: number;
}

export interface MultipartReader {
  push(bytes: Buffer): void;
  /** Throws 400 where the body did not end as it should. */
  end(): Field[];
}

const MAX_HEAD = 16 * 1024;
/** More than the head of a part: what is looked at at a time. */
const WINDOW = 64 * 1024;
const MAX_VALUE = 256 * 1024;
const MAX_PARTS = 1000;
const HEAD_END = Buffer.from("\r\n\r\n");

/** Undefined for another type, or one without a boundary, or with two. */
export function boundaryOf(contentType: string): string | undefined {
  if (contentType.length > 1000 || !/^\s{0,9}multipart\/form-data\s{0,9};/i.test(contentType))
    return undefined;
  const found =
    /;\s{0,9}boundary=(?:"([\w'()+,./:=? -]{1,200})"|([\w'()+,./:=?-]{1,200}))\s{0,9}(;|$)/i.exec(
      contentType,
    );
  const twice = contentType.split(/boundary\*?(?:\d+\*?)?\s{0,9}=/i).length > 2;
  return twice ? undefined : (found?.[1] ?? found?.[2]);
}

interface Part {
  name: string;
  start: number;
  /** Of a field; undefined for a file. */
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
  /** All that comes is looked at in here: a buffer of its own for each chunk would be as much garbage as the body is large. */
  readonly #window = Buffer.allocUnsafeSlow(WINDOW);
  #held: Buffer;
  /** Where `#held` begins in the body. */
  #at = -2;
  #state: "before" | "delimited" | "head" | "value" | "over" = "before";
  #part: Part | undefined;
  #parts = 0;

  constructor(boundary: string) {
    this.#delimiter = Buffer.from(`\r\n--${boundary}`, "latin1");
    this.#dashed = this.#delimiter.subarray(2);
    // The first delimiter needs no line break before it.
    this.#held = this.#window.subarray(0, CRLF.copy(this.#window));
  }

  push(bytes: Buffer): void {
    for (let from = 0; from < bytes.length; ) {
      from += this.#take(bytes, from);
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
        return this.#toDelimiter();
      case "delimited":
        return this.#afterDelimiter();
      case "head":
        return this.#partBegins();
      default:
        if (this.#held.includes(this.#dashed)) throw errors.textAfterEnd();
        this.#drop(Math.max(0, this.#held.length - this.#dashed.length));
        return false;
    }
  }

  /** Appends as many bytes as the window has room for, and returns their count. */
  #take(bytes: Buffer, from: number): number {
    if (this.#held.byteOffset + this.#held.length === WINDOW)
      this.#held = this.#window.subarray(0, this.#held.copy(this.#window));
    const end = this.#held.byteOffset + this.#held.length;
    const taken = bytes.copy(this.#window, end, from);
    this.#held = this.#window.subarray(this.#held.byteOffset, end + taken);
    return taken;
  }

  #drop(length: number): void {
    this.#held = this.#held.subarray(length);
    this.#at += length;
  }

  #toDelimiter(): boolean {
    const dashes = this.#held.indexOf(this.#dashed);
    const found = dashes === -1 ? -1 : dashes - CRLF.length;
    if (
      dashes !== -1 &&
      (found < 0 || this.#held.compare(CRLF, 0, CRLF.length, found, dashes) !== 0)
    )
      throw errors.boundaryInLine();
    // What may be the beginning of a delimiter waits for the rest of it.
    const length = found < 0 ? Math.max(0, this.#held.length - this.#delimiter.length + 1) : found;
    if (this.#part !== undefined) this.#keep(this.#part, this.#held.subarray(0, length));
    this.#drop(length);
    if (found < 0) return false;
    if (this.#part !== undefined) this.#finish(this.#part);
    this.#drop(this.#delimiter.length);
    this.#state = "delimited";
    return true;
  }

  #keep(current: Part, bytes: Buffer): void {
    current.size += bytes.length;
    if (current.value === undefined) return;
    if (current.size > MAX_VALUE)
      throw errors.fieldTooLarge({ name: current.name, kib: MAX_VALUE >> 10 });
    // A copy: the window is filled again.
    if (bytes.length > 0) current.value.push(Buffer.from(bytes));
  }

  #finish({ name, value, start, size }: Part): void {
    const text = value === undefined ? "" : Buffer.concat(value).toString("utf8");
    this.#fields.push({ name, file: value === undefined, value: text, start, end: start + size });
    this.#part = undefined;
  }

  #afterDelimiter(): boolean {
    if (this.#held.length < 2) return false;
    if (this.#held[0] === 45 && this.#held[1] === 45) {
      this.#drop(2);
      this.#state = "over";
      return true;
    }
    if (this.#held[0] !== 13 || this.#held[1] !== 10) throw errors.textAfterBoundary();
    if (++this.#parts > MAX_PARTS) throw errors.tooManyParts({ most: MAX_PARTS });
    // The line break stays: a part may have no head at all.
    this.#state = "head";
    return true;
  }

  #partBegins(): boolean {
    const found = this.#held.indexOf(HEAD_END);
    if (found === -1 ? this.#held.length > MAX_HEAD : found > MAX_HEAD)
      throw errors.partHeadTooLarge();
    if (found === -1) return false;
    const { name, file } = readHead(
      this.#held.toString("utf8", CRLF.length, Math.max(found, CRLF.length)),
    );
    this.#drop(found + HEAD_END.length);
    this.#part = { name, start: this.#at, value: file ? undefined : [], size: 0 };
    // An empty value is followed by its delimiter at once.
    this.#state = "value";
    return true;
  }
}

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
  /** Where its value stands in the body: from the first byte, to behind the last. */
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
  const delimiter = Buffer.from(`\r\n--${boundary}`, "latin1");
  const dashed = delimiter.subarray(2);
  const fields: Field[] = [];
  /** All that comes is looked at in here: a buffer of its own for each chunk would be as much garbage as the body is large. */
  const window = Buffer.allocUnsafeSlow(WINDOW);
  // The first delimiter needs no line break before it.
  let held = window.subarray(0, CRLF.copy(window));
  /** Where `held` begins in the body. */
  let at = -2;
  let state: "before" | "delimited" | "head" | "value" | "over" = "before";
  let part: Part | undefined;
  let parts = 0;

  function step(): boolean {
    switch (state) {
      case "before":
      case "value":
        return toDelimiter();
      case "delimited":
        return afterDelimiter();
      case "head":
        return partBegins();
      default:
        if (held.includes(dashed)) throw errors.textAfterEnd();
        drop(Math.max(0, held.length - dashed.length));
        return false;
    }
  }

  /** Puts as much behind what is held as has room there. Returns how much. */
  function take(bytes: Buffer, from: number): number {
    if (held.byteOffset + held.length === WINDOW) held = window.subarray(0, held.copy(window));
    const end = held.byteOffset + held.length;
    const taken = bytes.copy(window, end, from);
    held = window.subarray(held.byteOffset, end + taken);
    return taken;
  }

  function drop(length: number): void {
    held = held.subarray(length);
    at += length;
  }

  function toDelimiter(): boolean {
    const dashes = held.indexOf(dashed);
    const found = dashes === -1 ? -1 : dashes - CRLF.length;
    if (dashes !== -1 && (found < 0 || held.compare(CRLF, 0, CRLF.length, found, dashes) !== 0))
      throw errors.boundaryInLine();
    // What may be the beginning of a delimiter waits for the rest of it.
    const length = found < 0 ? Math.max(0, held.length - delimiter.length + 1) : found;
    if (part !== undefined) keep(part, held.subarray(0, length));
    drop(length);
    if (found < 0) return false;
    if (part !== undefined) finish(part);
    drop(delimiter.length);
    state = "delimited";
    return true;
  }

  function keep(current: Part, bytes: Buffer): void {
    current.size += bytes.length;
    if (current.value === undefined) return;
    if (current.size > MAX_VALUE)
      throw errors.fieldTooLarge({ name: current.name, kib: MAX_VALUE >> 10 });
    // A copy: the window is filled again.
    if (bytes.length > 0) current.value.push(Buffer.from(bytes));
  }

  function finish({ name, value, start, size }: Part): void {
    const text = value === undefined ? "" : Buffer.concat(value).toString("utf8");
    fields.push({ name, file: value === undefined, value: text, start, end: start + size });
    part = undefined;
  }

  function afterDelimiter(): boolean {
    if (held.length < 2) return false;
    if (held[0] === 45 && held[1] === 45) {
      drop(2);
      state = "over";
      return true;
    }
    if (held[0] !== 13 || held[1] !== 10) throw errors.textAfterBoundary();
    if (++parts > MAX_PARTS) throw errors.tooManyParts({ most: MAX_PARTS });
    // The line break stays: a part may have no head at all.
    state = "head";
    return true;
  }

  function partBegins(): boolean {
    const found = held.indexOf(HEAD_END);
    if (found === -1 ? held.length > MAX_HEAD : found > MAX_HEAD) throw errors.partHeadTooLarge();
    if (found === -1) return false;
    const { name, file } = readHead(
      held.toString("utf8", CRLF.length, Math.max(found, CRLF.length)),
    );
    drop(found + HEAD_END.length);
    part = { name, start: at, value: file ? undefined : [], size: 0 };
    // An empty value is followed by its delimiter at once.
    state = "value";
    return true;
  }

  return {
    push(bytes) {
      for (let from = 0; from < bytes.length; ) {
        from += take(bytes, from);
        while (step());
      }
    },
    end() {
      if (state !== "over") throw errors.incomplete();
      return fields;
    },
  };
}

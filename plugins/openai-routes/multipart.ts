/**
 * Finds the small fields of a `multipart/form-data` body (RFC 7578) while it goes by, and where their values stand; files
 * are skipped. Nothing but the head of a part or a small value is held.
 */
import { PorticoError } from "portico";

/** A field that is no file. */
export interface Field {
  name: string;
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
const MAX_VALUE = 256 * 1024;
const MAX_PARTS = 1000;
const HEAD_END = Buffer.from("\r\n\r\n");

/** Undefined for another type, or one without a boundary. */
export function boundaryOf(contentType: string): string | undefined {
  if (!/^\s*multipart\/form-data\s*;/i.test(contentType.slice(0, 100))) return undefined;
  const found = /;\s*boundary=(?:"([^"]{1,200})"|([^\s;"]{1,200}))/i.exec(contentType.slice(0, 1000));
  return found?.[1] ?? found?.[2];
}

interface Part {
  name: string | undefined;
  start: number;
  /** Of a field; undefined for a file. */
  value: Buffer[] | undefined;
  size: number;
}

export function createMultipartReader(boundary: string): MultipartReader {
  const delimiter = Buffer.from(`\r\n--${boundary}`, "latin1");
  const fields: Field[] = [];
  // The first delimiter needs no line break before it.
  let held: Buffer = Buffer.from("\r\n");
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
        return readHead();
      default:
        drop(held.length);
        return false;
    }
  }

  function drop(length: number): void {
    held = held.subarray(length);
    at += length;
  }

  function toDelimiter(): boolean {
    const found = held.indexOf(delimiter);
    // What may be the beginning of a delimiter waits for the rest of it.
    const length = found === -1 ? Math.max(0, held.length - delimiter.length + 1) : found;
    if (part !== undefined) keep(part, held.subarray(0, length));
    drop(length);
    if (found === -1) return false;
    if (part !== undefined) finish(part);
    drop(delimiter.length);
    state = "delimited";
    return true;
  }

  function keep(current: Part, bytes: Buffer): void {
    current.size += bytes.length;
    if (current.value === undefined) return;
    if (current.size > MAX_VALUE)
      throw malformed(`the field \`${current.name}\` is larger than ${MAX_VALUE >> 10} KiB`);
    // A copy: the bytes share their memory with what was received.
    if (bytes.length > 0) current.value.push(Buffer.from(bytes));
  }

  function finish({ name, value, start, size }: Part): void {
    if (name !== undefined && value !== undefined)
      fields.push({ name, value: Buffer.concat(value).toString("utf8"), start, end: start + size });
    part = undefined;
  }

  function afterDelimiter(): boolean {
    if (held.length < 2) return false;
    if (held[0] === 45 && held[1] === 45) {
      state = "over";
      return true;
    }
    if (++parts > MAX_PARTS) throw malformed(`it has more than ${MAX_PARTS} parts`);
    // The line break stays: a part may have no head at all.
    state = "head";
    return true;
  }

  function readHead(): boolean {
    const found = held.indexOf(HEAD_END);
    if (found === -1 ? held.length > MAX_HEAD : found > MAX_HEAD) throw malformed("the head of a part is too large");
    if (found === -1) return false;
    const { name, file } = readDisposition(held.toString("utf8", 0, found));
    drop(found + HEAD_END.length);
    part = { name, start: at, value: file ? undefined : [], size: 0 };
    // An empty value is followed by its delimiter at once.
    state = "value";
    return true;
  }

  return {
    push(bytes) {
      held = held.length === 0 ? bytes : Buffer.concat([held, bytes]);
      while (step());
    },
    end() {
      if (state !== "over") throw malformed("it ends before its last boundary");
      return fields;
    },
  };
}

function readDisposition(head: string): { name: string | undefined; file: boolean } {
  const line = head.split("\r\n").find((one) => /^content-disposition:/i.test(one)) ?? "";
  const name = /;\s{0,20}name=(?:"([^"]{0,1000})"|([^\s;]{1,1000}))/i.exec(line);
  return { name: name?.[1] ?? name?.[2], file: /;\s{0,20}filename\*?=/i.test(line) };
}

function malformed(why: string): PorticoError {
  return new PorticoError("invalid_request_error", `The multipart body cannot be read: ${why}.`, {
    type: "invalid_request_error",
  });
}

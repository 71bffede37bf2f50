/** Parses server-sent events from bytes that may be cut anywhere (WHATWG "event stream" format). */

import { markLength } from "./byte-order-mark.ts";
import { HeldBytes } from "./held-bytes.ts";

const LF = 10;
const CR = 13;
const COLON = 58;
const SPACE = 32;
const BRACE = 123;
const DATA = Buffer.from("data");
const EVENT = Buffer.from("event");
const NEWLINE = Buffer.from("\n");

/**
 * Gets each event's `data` (several `data` lines joined by `\n`) and its `event` name (`message` by default).
 * The buffer may share memory with the pushed bytes: copy data that must outlive the call.
 */
export type SseHandler = (data: Buffer, event: string) => void;

/** Parses the bytes of one event stream. */
export interface SseParser {
  push(bytes: Buffer): void;
  /** Ends the stream. Also emits a last event that no blank line has ended. */
  end(): void;
}

/**
 * Creates an incremental parser. It supports LF, CRLF and CR line ends, comments, a byte order mark, and several `data`
 * lines. A JSON object among the events without a field name counts as data, because some servers write errors like that.
 * The work is linear in the bytes however they are cut, and memory holds one event. `push` throws the errors of the handler,
 * and `ResponseTooLarge` for an event that exceeds a limit of `HeldBytes`.
 */
export function createSseParser(
  onEvent: SseHandler,
  onComment?: (comment: Buffer) => void,
): SseParser {
  return new EventStreamParser(onEvent, onComment);
}

class EventStreamParser implements SseParser {
  readonly #onEvent: SseHandler;
  readonly #onComment: ((comment: Buffer) => void) | undefined;
  /** A line whose end has not arrived yet. */
  readonly #line = new HeldBytes();
  #data: Buffer | undefined;
  /** The data if it has several lines, used instead of `#data`. */
  #lines: HeldBytes | undefined;
  #name = "";
  /** True while the lines of a JSON object without a field name are read. */
  #isBare = false;
  /** True if the last byte was a CR. An LF that follows belongs to the same line end. */
  #skipsLf = false;
  #isFirst = true;

  constructor(onEvent: SseHandler, onComment: ((comment: Buffer) => void) | undefined) {
    this.#onEvent = onEvent;
    this.#onComment = onComment;
  }

  push(bytes: Buffer): void {
    let at = this.#firstLine(bytes);
    let lf = bytes.indexOf(LF, at);
    let cr = bytes.indexOf(CR, at);
    while (at < bytes.length) {
      // Each search resumes only after its last result has been passed, so that every byte is searched once.
      if (lf !== -1 && lf < at) lf = bytes.indexOf(LF, at);
      if (cr !== -1 && cr < at) cr = bytes.indexOf(CR, at);
      const end = firstOf(lf, cr);
      if (end === -1) {
        this.#line.push(bytes.subarray(at));
        return;
      }
      this.#endLine(bytes, at, end);
      at = this.#nextLine(bytes, end);
    }
  }

  end(): void {
    if (this.#line.size > 0) {
      const line = this.#line.take();
      this.#readLine(line, 0, line.length);
    }
    this.#dispatch();
  }

  /** Returns the index at which the first line of these bytes begins. */
  #firstLine(bytes: Buffer): number {
    let at = 0;
    if (this.#isFirst && bytes.length > 0) {
      // A mark that is cut between reads is not recognised, and makes its line an unknown field.
      at = markLength(bytes);
      this.#isFirst = false;
    }
    if (this.#skipsLf && bytes.length > at) {
      if (bytes[at] === LF) at++;
      this.#skipsLf = false;
    }
    return at;
  }

  #endLine(bytes: Buffer, from: number, end: number): void {
    if (this.#line.size === 0) {
      this.#readLine(bytes, from, end);
      return;
    }
    this.#line.push(bytes.subarray(from, end));
    const line = this.#line.take();
    this.#readLine(line, 0, line.length);
  }

  /** Returns the index at which the next line begins. */
  #nextLine(bytes: Buffer, end: number): number {
    const next = end + 1;
    if (bytes[end] === LF) return next;
    if (next === bytes.length) {
      this.#skipsLf = true;
      return next;
    }
    return bytes[next] === LF ? next + 1 : next;
  }

  #readLine(bytes: Buffer, start: number, end: number): void {
    if (start === end) {
      this.#dispatch();
      return;
    }
    const first = bytes[start];
    if (first === COLON) this.#onComment?.(bytes.subarray(start + 1, end));
    else if (isField(bytes, start, end, DATA))
      this.#addData(valueIn(bytes, start + DATA.length, end));
    else if (isField(bytes, start, end, EVENT))
      this.#name = valueIn(bytes, start + EVENT.length, end).toString("utf8");
    else if (this.#isBare || (first === BRACE && this.#data === undefined)) {
      this.#isBare = true;
      this.#addData(bytes.subarray(start, end));
    }
  }

  #addData(value: Buffer): void {
    if (this.#data === undefined) {
      this.#data = value;
      return;
    }
    if (this.#lines === undefined) {
      this.#lines = new HeldBytes();
      this.#lines.push(this.#data);
    }
    this.#lines.push(NEWLINE);
    this.#lines.push(value);
  }

  #dispatch(): void {
    const data = this.#lines?.take() ?? this.#data;
    const name = this.#name === "" ? "message" : this.#name;
    this.#isBare = false;
    this.#data = undefined;
    this.#lines = undefined;
    this.#name = "";
    if (data !== undefined) this.#onEvent(data, name);
  }
}

/** Returns the smaller of two indexes, where -1 means none. */
function firstOf(lf: number, cr: number): number {
  if (lf === -1) return cr;
  if (cr === -1) return lf;
  return Math.min(lf, cr);
}

/** True if the line is the field name alone or the name and a colon. Hot path: it runs for every line of every stream. */
function isField(bytes: Buffer, start: number, end: number, name: Buffer): boolean {
  const nameEnd = start + name.length;
  if (nameEnd > end || (nameEnd < end && bytes[nameEnd] !== COLON)) return false;
  for (let i = 0; i < name.length; i++) if (bytes[start + i] !== name[i]) return false;
  return true;
}

/** Returns the value after the colon and an optional space. */
function valueIn(bytes: Buffer, colon: number, end: number): Buffer {
  if (colon >= end) return bytes.subarray(end, end);
  const hasSpace = bytes[colon + 1] === SPACE && colon + 1 < end;
  return bytes.subarray(hasSpace ? colon + 2 : colon + 1, end);
}

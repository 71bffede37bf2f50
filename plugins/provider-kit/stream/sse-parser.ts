/** Reads server-sent events out of bytes that may be cut anywhere (WHATWG "event stream" format). */

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
 * The buffer may share memory with what was pushed: copy what must outlive the call.
 */
export type SseHandler = (data: Buffer, event: string) => void;

/** Takes the bytes of one event stream. */
export interface SseParser {
  push(bytes: Buffer): void;
  /** Ends the stream. An event without its blank line is returned too. */
  end(): void;
}

/**
 * An incremental parser: LF, CRLF and CR line ends, comments, a byte order mark, several `data` lines. A JSON object that
 * stands among the events without a field's name counts as data: some servers write their errors so. Work is linear in
 * the bytes however they are cut; memory holds one event. Errors thrown by the handler come out of `push`, and so does
 * `ResponseTooLarge` for a large event that holds more than can be read: see `HeldBytes`.
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
  /** A line whose end has not come yet. */
  readonly #line = new HeldBytes();
  #data: Buffer | undefined;
  /** Data of several lines, in place of `#data`. */
  #lines: HeldBytes | undefined;
  #name = "";
  /** Lines of a bare object are being read. */
  #isBare = false;
  /** The last byte was a CR: an LF that follows it belongs to the same line end. */
  #skipsLf = false;
  #isFirst = true;

  constructor(onEvent: SseHandler, onComment: ((comment: Buffer) => void) | undefined) {
    this.#onEvent = onEvent;
    this.#onComment = onComment;
  }

  push(bytes: Buffer): void {
    let at = this.#start(bytes);
    let lf = bytes.indexOf(LF, at);
    let cr = bytes.indexOf(CR, at);
    while (at < bytes.length) {
      // Each is looked for again only once it has been passed, so that every byte is looked at once.
      if (lf !== -1 && lf < at) lf = bytes.indexOf(LF, at);
      if (cr !== -1 && cr < at) cr = bytes.indexOf(CR, at);
      const end = firstOf(lf, cr);
      if (end === -1) {
        this.#line.push(bytes.subarray(at));
        return;
      }
      this.#endLine(bytes, at, end);
      at = this.#behind(bytes, end);
    }
  }

  end(): void {
    if (this.#line.size > 0) {
      const whole = this.#line.take();
      this.#readLine(whole, 0, whole.length);
    }
    this.#dispatch();
  }

  /** Where the first line of these bytes begins. */
  #start(bytes: Buffer): number {
    let at = 0;
    if (this.#isFirst && bytes.length > 0) {
      // A mark that is itself cut in three is not worth the code: its line is then an unknown field.
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
    const whole = this.#line.take();
    this.#readLine(whole, 0, whole.length);
  }

  /** Where the next line begins. */
  #behind(bytes: Buffer, end: number): number {
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
    else if (isField(bytes, start, end, DATA)) this.#add(valueIn(bytes, start + DATA.length, end));
    else if (isField(bytes, start, end, EVENT))
      this.#name = valueIn(bytes, start + EVENT.length, end).toString("utf8");
    else if (this.#isBare || (first === BRACE && this.#data === undefined)) {
      this.#isBare = true;
      this.#add(bytes.subarray(start, end));
    }
  }

  #add(value: Buffer): void {
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

/** The smaller of two places, of which -1 is none. */
function firstOf(lf: number, cr: number): number {
  if (lf === -1) return cr;
  if (cr === -1) return lf;
  return Math.min(lf, cr);
}

/** The line is the field's name alone, or continues with a colon. This runs for every line of every stream. */
function isField(bytes: Buffer, start: number, end: number, name: Buffer): boolean {
  const behind = start + name.length;
  if (behind > end || (behind < end && bytes[behind] !== COLON)) return false;
  for (let i = 0; i < name.length; i++) if (bytes[start + i] !== name[i]) return false;
  return true;
}

/** The value behind the colon and one space. */
function valueIn(bytes: Buffer, colon: number, end: number): Buffer {
  if (colon >= end) return bytes.subarray(end, end);
  const hasSpace = bytes[colon + 1] === SPACE && colon + 1 < end;
  return bytes.subarray(hasSpace ? colon + 2 : colon + 1, end);
}

/** Reads server-sent events out of bytes that may be cut anywhere (WHATWG "event stream" format). */

import { markLength } from "./byte-order-mark.ts";

const LF = 10;
const CR = 13;
const COLON = 58;
const SPACE = 32;
const BRACE = 123;

/**
 * Gets each event's `data` (several `data` lines joined by `\n`) and its `event` name (`message` where none was given).
 * The buffer may share memory with what was pushed: copy what must outlive the call.
 */
export type SseHandler = (data: Buffer, event: string) => void;

/** Takes the bytes of one event stream. */
export interface SseParser {
  push(bytes: Buffer): void;
  /** The stream ended: an event that its blank line never reached is handed on too. */
  end(): void;
}

/**
 * An incremental parser: LF, CRLF and CR line ends, comments, a byte order mark, several `data` lines. A JSON object that
 * stands among the events without a field's name counts as data: some servers write their errors so. Work is linear in
 * the bytes however they are cut; memory holds one event. Errors thrown by the handler come out of `push`.
 */
export function createSseParser(
  onEvent: SseHandler,
  onComment?: (comment: Buffer) => void,
): SseParser {
  /** Pieces of a line whose end has not come yet. */
  let partial: Buffer[] = [];
  let data: Buffer | undefined;
  let more: Buffer[] | undefined;
  let name = "";
  /** Lines of a bare object are being read. */
  let bare = false;
  let skipLf = false;
  let first = true;

  function add(value: Buffer): void {
    if (data === undefined) data = value;
    else if (more === undefined) more = [data, NEWLINE, value];
    else more.push(NEWLINE, value);
  }

  function dispatch(): void {
    bare = false;
    if (data !== undefined) {
      const whole = more === undefined ? data : Buffer.concat(more);
      const event = name === "" ? "message" : name;
      data = undefined;
      more = undefined;
      name = "";
      onEvent(whole, event);
    } else {
      name = "";
    }
  }

  function line(bytes: Buffer, start: number, end: number): void {
    if (start === end) {
      dispatch();
      return;
    }
    // "data" and "event" are told by length and two letters: this runs once per line of every stream.
    const c0 = bytes[start];
    if (c0 === COLON) {
      onComment?.(bytes.subarray(start + 1, end));
      return;
    }
    if (
      c0 === 100 &&
      isField(bytes, start, end, 4) &&
      bytes[start + 1] === 97 &&
      bytes[start + 2] === 116 &&
      bytes[start + 3] === 97
    ) {
      add(bytes.subarray(valueStart(bytes, start + 4, end), end));
      return;
    }
    if (
      c0 === 101 &&
      isField(bytes, start, end, 5) &&
      bytes.toString("latin1", start, start + 5) === "event"
    ) {
      name = bytes.toString("utf8", valueStart(bytes, start + 5, end), end);
    } else if (bare || (c0 === BRACE && data === undefined)) {
      bare = true;
      add(bytes.subarray(start, end));
    }
  }

  return {
    push(bytes) {
      let at = 0;
      if (first) {
        if (bytes.length === 0) return;
        // A mark that is itself cut in three is not worth the code: its line is then an unknown field.
        at = markLength(bytes);
        first = false;
      }
      if (skipLf && bytes.length > at) {
        if (bytes[at] === LF) at++;
        skipLf = false;
      }
      let cr = bytes.indexOf(CR, at);
      while (at < bytes.length) {
        const lf = bytes.indexOf(LF, at);
        if (cr !== -1 && cr < at) cr = bytes.indexOf(CR, at);
        const end = lf === -1 ? cr : cr === -1 ? lf : Math.min(lf, cr);
        if (end === -1) {
          partial.push(bytes.subarray(at));
          return;
        }
        let next = end + 1;
        if (end === cr) {
          if (next === bytes.length) skipLf = true;
          else if (bytes[next] === LF) next++;
        }
        if (partial.length > 0) {
          partial.push(bytes.subarray(at, end));
          const whole = Buffer.concat(partial);
          partial = [];
          line(whole, 0, whole.length);
        } else {
          line(bytes, at, end);
        }
        at = next;
      }
    },
    end() {
      if (partial.length > 0) {
        const whole = Buffer.concat(partial);
        partial = [];
        line(whole, 0, whole.length);
      }
      dispatch();
    },
  };
}

const NEWLINE = Buffer.from("\n");

function isField(bytes: Buffer, start: number, end: number, length: number): boolean {
  return end - start === length || (end - start > length && bytes[start + length] === COLON);
}

function valueStart(bytes: Buffer, colon: number, end: number): number {
  if (colon >= end) return end;
  return bytes[colon + 1] === SPACE && colon + 1 < end ? colon + 2 : colon + 1;
}

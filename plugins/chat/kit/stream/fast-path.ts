/**
 * The fast path through a stream of text deltas: events that are like a learned one are not parsed, and the literal of
 * their string is handed on as it stands. All else, and everything in doubt, goes to the parser.
 */
import { EventPattern } from "./event-pattern.ts";

const LF = 10;
const CR = 13;

/** What a format's common events look like, and who reads the others. */
export interface FastPathOptions {
  /** The key before the string; in a pattern it stands once. */
  key: string;
  /** What ends an event: a blank line (SSE, ended by LF or CRLF) or each line. */
  events: "blocks" | "lines";
  /** Reads what is not like the pattern. Takes bytes cut anywhere. */
  parser: { push(bytes: Buffer): void; end(): void };
  /** The escaped string without its quotes, as a range of the bytes. */
  onText(bytes: Buffer, start: number, end: number): void;
  /** The events themselves, those that follow each other as one range, behind their texts: for who passes them through. */
  onEvents?(bytes: Buffer, start: number, end: number): void;
  /** Digits before the string may differ too (a time): only where no number there means anything. */
  digitsBefore?: boolean;
}

/** Takes the bytes of one stream. */
export interface FastPath {
  push(bytes: Buffer): void;
  end(): void;
  /**
   * Called by the parser's handler: the event that it is handling is a pattern for those to come. Whatever else is in
   * the event must mean nothing by itself, beyond the numbers after the string. `written`: it is one only if it came so.
   */
  learn(written?: Buffer): void;
  /** A copy of the JSON of the event taken last, its string left empty, for the numbers in it; undefined if none since. */
  takeLast(): Buffer | undefined;
}

/** See {@link FastPath}. */
export function createFastPath(options: FastPathOptions): FastPath {
  const { parser, onText } = options;
  const key = Buffer.from(JSON.stringify(options.key));
  const eventEnd = options.events === "blocks" ? blockEnd : lineEnd;
  const loose = options.digitsBefore === true ? "all" : "behind";
  let pattern: EventPattern | undefined;
  /** The parser holds no part of an event. */
  let between = true;
  let learning = false;
  let learnedAs: Buffer | undefined;
  /** The event taken last: its bytes (which nobody writes to any more), and where its string and itself end. */
  let last: Buffer | undefined;
  let lastQuote = 0;
  let lastEnd = 0;
  let lastPrefix: Buffer | undefined;

  /** The end of the events from `at` on that are like the pattern. */
  function take(bytes: Buffer, at: number, like: EventPattern): number {
    if (!like.match(bytes, at)) return at;
    do if (like.stringEnd > like.stringStart) onText(bytes, like.stringStart, like.stringEnd);
    while (like.matchNext(bytes));
    last = bytes;
    lastQuote = like.stringEnd;
    lastEnd = like.eventEnd;
    lastPrefix = like.prefix;
    options.onEvents?.(bytes, at, lastEnd);
    return lastEnd;
  }

  function parse(bytes: Buffer, at: number, end: number): void {
    const event = at === 0 && end === bytes.length ? bytes : bytes.subarray(at, end);
    const whole = between;
    learning = false;
    parser.push(event);
    if (!learning || !whole || learnedAs?.equals(event) === false) return;
    pattern = EventPattern.of(event, key, loose);
  }

  return {
    push(bytes) {
      let at = 0;
      while (at < bytes.length) {
        if (between && pattern !== undefined) at = take(bytes, at, pattern);
        if (at === bytes.length) return;
        const end = eventEnd(bytes, at);
        if (end === -1) {
          parse(bytes, at, bytes.length);
          between = false;
          return;
        }
        parse(bytes, at, end);
        between = true;
        at = end;
      }
    },
    end: () => parser.end(),
    learn(written) {
      learning = true;
      learnedAs = written;
    },
    takeLast() {
      if (last === undefined || lastPrefix === undefined) return undefined;
      const rest = last.subarray(lastQuote, lastEnd);
      last = undefined;
      return Buffer.concat([lastPrefix.subarray(Math.max(0, lastPrefix.indexOf("{"))), rest]);
    },
  };
}

/** After the first blank line, or -1. */
function blockEnd(bytes: Buffer, from: number): number {
  for (let at = bytes.indexOf(LF, from); at !== -1; at = bytes.indexOf(LF, at + 1)) {
    if (bytes[at + 1] === LF) return at + 2;
    if (bytes[at + 1] === CR && bytes[at + 2] === LF) return at + 3;
  }
  return -1;
}

function lineEnd(bytes: Buffer, from: number): number {
  return bytes.indexOf(LF, from) + 1 || -1;
}

/**
 * The fast way through a stream of text deltas. Nearly all events of such a stream differ in one string only: they are
 * told by comparing bytes with one that was parsed before, and the string's JSON literal is handed on as it stands. All
 * else, and everything in doubt, goes to the parser.
 */

const LF = 10;
const CR = 13;
const SPACE = 32;
const QUOTE = 34;
const ZERO = 48;
const COLON = 58;
const BACKSLASH = 92;

export interface FastPathOptions {
  /** The key before the string; in a pattern it stands once. */
  key: string;
  /** What ends an event: a blank line (SSE, ended by LF or CRLF) or each line. */
  events: "blocks" | "lines";
  /** Reads what is not like the pattern. Takes bytes cut anywhere. */
  parser: { push(bytes: Buffer): void; end(): void };
  /** The escaped string without its quotes, as a range of the bytes. */
  onText(bytes: Buffer, start: number, end: number): void;
  /** Digits before the string may differ too (a time): only where no number there means anything. */
  digitsBefore?: boolean;
}

export interface FastPath {
  push(bytes: Buffer): void;
  end(): void;
  /**
   * Called by the parser's handler: the event that it is handling is a pattern for those to come. Whatever else is in
   * the event must mean nothing by itself, beyond the numbers after the string.
   */
  learn(): void;
  /** A copy of the JSON of the event taken last, its string left empty, for the numbers in it; undefined if none since. */
  takeLast(): Buffer | undefined;
}

interface Pattern {
  /** Up to and with the opening quote. */
  prefix: Buffer;
  /** From the closing quote to the event's end, without spaces, each run of digits as one `0`. */
  suffix: Buffer;
}

/** See {@link FastPath}. */
export function createFastPath(options: FastPathOptions): FastPath {
  const { parser, onText } = options;
  const key = Buffer.from(JSON.stringify(options.key));
  const eventEnd = options.events === "blocks" ? blockEnd : lineEnd;
  let pattern: Pattern | undefined;
  /** The parser holds no part of an event. */
  let between = true;
  let learning = false;
  /** The event taken last: its bytes (which nobody writes to any more), and where its string and itself end. */
  let last: Buffer | undefined;
  let lastQuote = 0;
  let lastEnd = 0;
  let lastPrefix: Buffer | undefined;

  /** The end of the event at `at` if it is like the pattern, else -1. */
  function take(bytes: Buffer, at: number, { prefix, suffix }: Pattern): number {
    const start = options.digitsBefore === true ? afterLoose(bytes, at, prefix) : afterExact(bytes, at, prefix);
    if (start === -1) return -1;
    const quote = closingQuote(bytes, start);
    if (quote === -1) return -1;
    const end = afterSuffix(bytes, quote, suffix);
    if (end === -1) return -1;
    if (quote > start) onText(bytes, start, quote);
    last = bytes;
    lastQuote = quote;
    lastEnd = end;
    lastPrefix = prefix;
    return end;
  }

  function parse(bytes: Buffer, at: number, end: number): void {
    const event = at === 0 && end === bytes.length ? bytes : bytes.subarray(at, end);
    const whole = between;
    learning = false;
    parser.push(event);
    if (learning && whole) pattern = patternOf(event, key);
  }

  return {
    push(bytes) {
      let at = 0;
      while (at < bytes.length) {
        if (between && pattern !== undefined) {
          const end = take(bytes, at, pattern);
          if (end !== -1) {
            at = end;
            continue;
          }
        }
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
    learn() {
      learning = true;
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

function patternOf(event: Buffer, key: Buffer): Pattern | undefined {
  const start = stringAfter(event, key);
  if (start === -1 || event.indexOf(key, start) !== -1) return undefined;
  const quote = closingQuote(event, start);
  if (quote === -1) return undefined;
  const suffix: number[] = [];
  for (let i = quote; i < event.length; i++) {
    const byte = event[i] as number;
    if (byte === SPACE || (isDigit(byte) && suffix.at(-1) === ZERO)) continue;
    suffix.push(isDigit(byte) ? ZERO : byte);
  }
  return { prefix: Buffer.from(event.subarray(0, start)), suffix: Buffer.from(suffix) };
}

/** The index after the opening quote of the string that is the value of the (quoted) key, or -1. */
function stringAfter(event: Buffer, key: Buffer): number {
  // Inside a string the key's quotes would be escaped, so what is found is a key (or a whole string, without a colon).
  for (let at = event.indexOf(key); at !== -1; at = event.indexOf(key, at + 1)) {
    let i = skipSpaces(event, at + key.length);
    if (event[i] !== COLON) continue;
    i = skipSpaces(event, i + 1);
    return event[i] === QUOTE ? i + 1 : -1;
  }
  return -1;
}

function skipSpaces(event: Buffer, from: number): number {
  let i = from;
  while (event[i] === SPACE) i++;
  return i;
}

/** The index of the quote that ends the string which begins at `start`; -1 where the string is not whole or not JSON. */
function closingQuote(bytes: Buffer, start: number): number {
  for (let i = start; i < bytes.length; i++) {
    const byte = bytes[i] as number;
    if (byte === QUOTE) return i;
    if (byte === BACKSLASH) i++;
    else if (byte < SPACE) return -1;
  }
  return -1;
}

/** Where the prefix ends if it stands at `at`, else -1. Compared from behind, where events differ first. */
function afterExact(bytes: Buffer, at: number, prefix: Buffer): number {
  const length = prefix.length;
  if (at + length >= bytes.length) return -1;
  for (let i = length - 1; i >= 0; i--) if (bytes[at + i] !== prefix[i]) return -1;
  return at + length;
}

/** The same with runs of digits standing for each other. */
function afterLoose(bytes: Buffer, at: number, prefix: Buffer): number {
  let i = at;
  let j = 0;
  while (i < bytes.length && j < prefix.length) {
    const a = bytes[i] as number;
    const b = prefix[j] as number;
    if (isDigit(a) && isDigit(b)) {
      while (i < bytes.length && isDigit(bytes[i] as number)) i++;
      while (j < prefix.length && isDigit(prefix[j] as number)) j++;
    } else if (a === b) {
      i++;
      j++;
    } else {
      return -1;
    }
  }
  return j === prefix.length ? i : -1;
}

/** The end of the event whose rest is like the suffix, or -1. */
function afterSuffix(bytes: Buffer, from: number, suffix: Buffer): number {
  let i = from;
  for (let j = 0; j < suffix.length; j++) {
    const wanted = suffix[j] as number;
    if (wanted === ZERO) {
      const start = i;
      while (isDigit(bytes[i] as number)) i++;
      if (i > start) continue;
    } else if (bytes[i] === wanted) {
      i++;
      continue;
    }
    // Anthropic pads its events so that their lengths tell nothing.
    if (bytes[i] !== SPACE) return -1;
    i++;
    j--;
  }
  return i;
}

function isDigit(byte: number): boolean {
  return byte >= 48 && byte <= 57;
}

/**
 * What the common events of a stream look like: nearly all differ in one JSON string only. They are told by comparing
 * bytes with one event that was parsed before; a match says where the string's literal stands, which can then go on
 * without being parsed.
 */

const SPACE = 32;
const QUOTE = 34;
const COLON = 58;
const BACKSLASH = 92;

/**
 * Which numbers of an event may differ from the learned one's: none, those behind the string (counts, and spaces that
 * pad an event), or all of them (a time before it too). Only where no number there means anything by itself.
 */
export type LooseNumbers = "none" | "behind" | "all";

/** One kind of common event. */
export class EventPattern {
  /** Of the event that matched last: its string's literal without the quotes, and where the event ends. */
  stringStart = 0;
  stringEnd = 0;
  eventEnd = 0;
  /** Up to and with the opening quote. */
  readonly prefix: Buffer;
  /** From the closing quote to the event's end. */
  readonly #suffix: Buffer;
  /** What stands between the strings of two events that follow each other, and the same in words. */
  readonly #joint: Buffer;
  readonly #words: Float64Array;
  readonly #loose: LooseNumbers;
  /** Where the string of the event behind the one that matched last begins; -1: not known. */
  #next = -1;
  /** Its numbers have differed before. */
  #changing = false;

  private constructor(prefix: Buffer, suffix: Buffer, loose: LooseNumbers) {
    const joint = Buffer.concat([suffix, prefix]);
    this.prefix = joint.subarray(suffix.length);
    this.#suffix = joint.subarray(0, suffix.length);
    this.#joint = joint;
    this.#words = wordsOf(joint);
    this.#loose = loose;
  }

  /** The pattern of a whole event whose one string is the value of `key` (quoted), first found behind `from`. */
  static of(event: Buffer, key: Buffer, loose: LooseNumbers, from = 0): EventPattern | undefined {
    const start = stringAfter(event, key, from);
    if (start === -1 || event.indexOf(key, start) !== -1) return undefined;
    const quote = closingQuote(event, start);
    if (quote === -1) return undefined;
    return new EventPattern(event.subarray(0, start), event.subarray(quote), loose);
  }

  /** Whether the event at `at` is like the learned one; then the three numbers above tell of it. */
  match(bytes: Buffer, at: number): boolean {
    let start = afterExact(bytes, at, this.prefix);
    if (start === -1 && this.#loose === "all") start = afterLoose(bytes, at, this.prefix);
    return start !== -1 && this.#matchFrom(bytes, start);
  }

  /** The same of the event behind the one that has just matched in these bytes: all between two strings is compared at once. */
  matchNext(bytes: Buffer): boolean {
    if (this.eventEnd === bytes.length) return false;
    return this.#next === -1
      ? this.match(bytes, this.eventEnd)
      : this.#matchFrom(bytes, this.#next);
  }

  #matchFrom(bytes: Buffer, start: number): boolean {
    const quote = closingQuote(bytes, start);
    if (quote === -1) return false;
    const next = this.#changing ? -1 : afterWords(bytes, quote, this.#joint, this.#words);
    const end = next === -1 ? this.#endFrom(bytes, quote) : next - this.prefix.length;
    if (end === -1) return false;
    this.#next = next;
    this.stringStart = start;
    this.stringEnd = quote;
    this.eventEnd = end;
    return true;
  }

  #endFrom(bytes: Buffer, quote: number): number {
    const exact = this.#changing ? -1 : afterExact(bytes, quote, this.#suffix);
    if (exact !== -1 || this.#loose === "none") return exact;
    const end = afterLoose(bytes, quote, this.#suffix);
    this.#changing ||= end !== -1;
    return end;
  }
}

/** What stands around the one string of an event. */
export interface EventFrame {
  prefix: Buffer;
  suffix: Buffer;
}

/** The frame of the string that is the value of the (quoted) key, which stands once in the event. */
export function frameOf(event: Buffer, key: Buffer): EventFrame | undefined {
  const start = stringAfter(event, key, 0);
  const quote = start === -1 || event.indexOf(key, start) !== -1 ? -1 : closingQuote(event, start);
  return quote === -1
    ? undefined
    : { prefix: event.subarray(0, start), suffix: event.subarray(quote) };
}

/** The index after the opening quote of the string that is the value of the (quoted) key, or -1. */
function stringAfter(event: Buffer, key: Buffer, from: number): number {
  // Inside a string the key's quotes would be escaped, so what is found is a key (or a whole string, without a colon).
  for (let at = event.indexOf(key, from); at !== -1; at = event.indexOf(key, at + 1)) {
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
  // A plain loop: for so few bytes each step into native code costs more than it saves.
  for (let i = start; i < bytes.length; i++) {
    const byte = bytes[i] as number;
    if (byte === QUOTE) return i;
    if (byte === BACKSLASH) i++;
    else if (byte < SPACE) return -1;
  }
  return -1;
}

/** From here on a step into native code costs less than a loop. */
const LONG = 60;

/** Where the part ends if it stands at `at`, else -1. Events differ at the end of a part first. */
function afterExact(bytes: Buffer, at: number, part: Buffer): number {
  const length = part.length;
  const end = at + length;
  if (end > bytes.length || bytes[end - 1] !== part[length - 1]) return -1;
  if (length >= LONG) return part.compare(bytes, at, end) === 0 ? end : -1;
  for (let i = length - 2; i >= 0; i--) if (bytes[at + i] !== part[i]) return -1;
  return end;
}

/**
 * Eight bytes of a part at a time, as numbers: none is zero, so equal ones have the same bits. The part's own memory, which
 * begins at a multiple of eight as all of Node's new buffers do: a list beside it would cost as much as all else of a pattern.
 */
function wordsOf(part: Buffer): Float64Array {
  return new Float64Array(part.buffer, part.byteOffset, part.length >> 3);
}

/** As `afterExact`, for a part that is looked for many times in the same bytes: half the time of a step into native code. */
function afterWords(bytes: Buffer, at: number, part: Buffer, words: Float64Array): number {
  const end = at + part.length;
  if (end > bytes.length || bytes[end - 1] !== part[part.length - 1]) return -1;
  const view = viewOf(bytes);
  let i = at;
  for (let k = 0; k < words.length; k++, i += 8)
    if (view.getFloat64(i, true) !== words[k]) return -1;
  for (; i < end; i++) if (bytes[i] !== part[i - at]) return -1;
  return end;
}

/** Of the bytes that were looked at last. */
let viewed: Buffer | undefined;
let view: DataView = new DataView(new ArrayBuffer(0));

function viewOf(bytes: Buffer): DataView {
  if (viewed === bytes) return view;
  viewed = bytes;
  return (view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length));
}

/** The same with runs of digits standing for each other, and spaces for nothing: Anthropic pads its events with them. */
function afterLoose(bytes: Buffer, at: number, part: Buffer): number {
  let i = at;
  let j = 0;
  while (j < part.length) {
    const a = bytes[i];
    const b = part[j];
    if (a === b) {
      i++;
      j++;
    } else if (a === SPACE) i++;
    else if (b === SPACE) j++;
    else {
      const [from, of] = [i, j];
      if (isDigit(b) || isDigit(part[j - 1])) i = behindDigits(bytes, i);
      if (isDigit(a) || isDigit(bytes[from - 1])) j = behindDigits(part, j);
      if (i === from && j === of) return -1;
    }
  }
  return i;
}

function behindDigits(bytes: Buffer, from: number): number {
  let i = from;
  while (isDigit(bytes[i])) i++;
  return i;
}

function isDigit(byte: number | undefined): boolean {
  return byte !== undefined && byte >= 48 && byte <= 57;
}

/**
 * Encodes one request as a line: fields that are separated by spaces, with a line feed at the end. A field whose value is
 * unknown is empty. The first line of a block is the base time, to which the times of its lines are relative.
 *
 * The encoder writes bytes directly, since it runs for every response: a string that is concatenated from a dozen parts keeps
 * them alive until it is written, and the garbage collector has to move them.
 */
import type { ChatRecord } from "portico/models";
import type { RequestBlock } from "portico/store";
import { count } from "../prices.ts";

/** The fields in the order in which they are written. */
const FIELDS = [
  "at",
  "requestId",
  "status",
  "attempts",
  "stream",
  "ms",
  "firstByteMs",
  "promptTokens",
  "completionTokens",
  "cachedTokens",
  "nanoUsd",
  "channel",
  "model",
  "key",
  "estimated",
  "tags",
] as const;
type Field = (typeof FIELDS)[number];

const LONGEST_NAME = 200;
/** The bytes that a line may need: five names with up to nine bytes per character, and eleven numbers. */
export const LONGEST_LINE = 5 * LONGEST_NAME * 9 + 512;

/** The members of a line that are not in the record. */
export interface Entry {
  at: number;
  /** Empty for the owner. */
  key: string;
  /** US dollars; undefined if the cost is unknown. */
  cost: number | undefined;
}

/** Writes the first line of a block. Returns the index of its end. */
export function writeHead(bytes: Uint8Array, base: number): number {
  const end = putNumber(bytes, 0, base);
  bytes[end - 1] = LINE_FEED;
  return end;
}

/** Writes a line from `start` on; there must be room for the longest one. Returns the index of its end. */
export function writeLine(
  bytes: Uint8Array,
  start: number,
  base: number,
  record: ChatRecord,
  entry: Entry,
): number {
  const { usage, firstByteMs } = record;
  let end = putNumber(bytes, start, entry.at - base);
  end = putText(bytes, end, record.requestId);
  end = putNumber(bytes, end, record.status);
  end = putNumber(bytes, end, record.attempts);
  end = putNumber(bytes, end, record.stream ? 1 : 0);
  end = putNumber(bytes, end, Math.round(record.ms));
  end =
    firstByteMs === undefined
      ? putEmpty(bytes, end)
      : putNumber(bytes, end, Math.round(firstByteMs));
  if (usage === undefined) {
    end = putEmpty(bytes, putEmpty(bytes, putEmpty(bytes, putEmpty(bytes, end))));
  } else {
    end = putNumber(bytes, end, count(usage.prompt_tokens));
    end = putNumber(bytes, end, count(usage.completion_tokens));
    end = putNumber(bytes, end, count(usage.prompt_tokens_details?.cached_tokens));
    end =
      entry.cost === undefined
        ? putEmpty(bytes, end)
        : putNumber(bytes, end, Math.round(entry.cost * 1e9));
  }
  end = putText(bytes, end, record.channel);
  end = putText(bytes, end, record.model);
  end = putText(bytes, end, entry.key);
  end = usage?.estimated === true ? putNumber(bytes, end, 1) : putEmpty(bytes, end);
  end = putText(bytes, end, joinTags(record.tags));
  bytes[end - 1] = LINE_FEED;
  return end;
}

/** Joins as many whole tags as a field can hold. */
function joinTags(tags: readonly string[] = []): string {
  let text = "";
  for (const tag of tags) {
    const longer = text === "" ? tag : `${text},${tag}`;
    if (longer.length > LONGEST_NAME) break;
    text = longer;
  }
  return text;
}

const SPACE = 32;
const LINE_FEED = 10;
const PERCENT = 37;
const DIGIT_0 = 48;

function putEmpty(bytes: Uint8Array, start: number): number {
  bytes[start] = SPACE;
  return start + 1;
}

function putNumber(bytes: Uint8Array, start: number, value: number): number {
  let rest = value >>> 0;
  if (rest !== value) return putText(bytes, start, String(value));
  let end = start + 1;
  for (let digits = rest; digits >= 10; digits = (digits / 10) >>> 0) end++;
  for (let at = end; at > start; ) {
    const tenth = (rest / 10) >>> 0;
    bytes[--at] = DIGIT_0 + rest - tenth * 10;
    rest = tenth;
  }
  bytes[end] = SPACE;
  return end + 1;
}

function putText(bytes: Uint8Array, start: number, text: string): number {
  const length = Math.min(text.length, LONGEST_NAME);
  for (let i = 0; i < length; i++) {
    const code = text.charCodeAt(i);
    if (code <= SPACE || code > 126 || code === PERCENT)
      return putEscaped(bytes, start, text.slice(0, length));
    bytes[start + i] = code;
  }
  bytes[start + length] = SPACE;
  return start + length + 1;
}

function putEscaped(bytes: Uint8Array, start: number, text: string): number {
  const escaped = percentEncode(text);
  for (let i = 0; i < escaped.length; i++) bytes[start + i] = escaped.charCodeAt(i);
  bytes[start + escaped.length] = SPACE;
  return start + escaped.length + 1;
}

/** Encodes a name as in a line. */
export function escapeName(name: string): string {
  return /^[!-$&-~]*$/.test(name) ? name : percentEncode(name);
}

function percentEncode(text: string): string {
  // The buffer replaces a lone surrogate, which a cut may leave and for which encodeURIComponent throws.
  return encodeURIComponent(Buffer.from(text).toString());
}

/** A decoded line. */
export interface Line {
  at: number;
  /** The number among all requests of the store. */
  number: number;
  /** The fields of the line, in the order of `FIELDS`. */
  fields: readonly string[];
}

/** Reads the lines of a block, in the order in which they were written. */
export function* readLines(block: RequestBlock): Generator<Line> {
  const [base, ...lines] = block.lines.split("\n");
  for (let i = 0; i < block.requests; i++) {
    const fields = lines[i]!.split(" ");
    yield {
      at: Number(base) + Number(fields[0]),
      number: block.number - block.requests + 1 + i,
      fields,
    };
  }
}

/** Returns a field, still encoded. */
export function fieldOf(line: Line, field: Field): string {
  return line.fields[FIELDS.indexOf(field)] ?? "";
}

/** Returns a field as a number; undefined if it is unknown. */
export function numberIn(line: Line, field: Field): number | undefined {
  const text = fieldOf(line, field);
  return text === "" ? undefined : Number(text);
}

export function nameIn(line: Line, field: Field): string {
  const text = fieldOf(line, field);
  return text.includes("%") ? decodeURIComponent(text) : text;
}

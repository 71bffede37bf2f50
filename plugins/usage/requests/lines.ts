/**
 * The text of one request: fields with a space between and a line feed at the end; what is not known is empty. A block
 * begins with a line of its own: the time that the times of its lines count from.
 *
 * Written straight into bytes, since this runs for every answer: strings that are put together from a dozen parts keep
 * all those parts alive until they are written, and the garbage collector moves them about.
 */
import type { ChatRecord } from "portico/models";
import type { RequestBlock } from "portico/store";
import { count } from "../prices.ts";

/** In the order in which they are written. */
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
/** Bytes that a line may need: five names of which each character takes nine, and eleven numbers. */
export const LONGEST_LINE = 5 * LONGEST_NAME * 9 + 512;

/** What a line says beside the record. */
export interface Entry {
  at: number;
  /** Empty for the owner. */
  key: string;
  /** US dollars; undefined where it is not known. */
  cost: number | undefined;
}

/** Writes the line that begins a block. Answers where it ends. */
export function writeHead(bytes: Uint8Array, base: number): number {
  const end = putNumber(bytes, 0, base);
  bytes[end - 1] = LINE_FEED;
  return end;
}

/** Writes a line from `start` on; there must be room for the longest. Answers where it ends. */
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
      ? putNothing(bytes, end)
      : putNumber(bytes, end, Math.round(firstByteMs));
  if (usage === undefined) {
    end = putNothing(bytes, putNothing(bytes, putNothing(bytes, putNothing(bytes, end))));
  } else {
    end = putNumber(bytes, end, count(usage.prompt_tokens));
    end = putNumber(bytes, end, count(usage.completion_tokens));
    end = putNumber(bytes, end, count(usage.prompt_tokens_details?.cached_tokens));
    end =
      entry.cost === undefined
        ? putNothing(bytes, end)
        : putNumber(bytes, end, Math.round(entry.cost * 1e9));
  }
  end = putText(bytes, end, record.channel);
  end = putText(bytes, end, record.model);
  end = putText(bytes, end, entry.key);
  end = usage?.estimated === true ? putNumber(bytes, end, 1) : putNothing(bytes, end);
  end = putText(bytes, end, joined(record.tags));
  bytes[end - 1] = LINE_FEED;
  return end;
}

/** As many as a field holds, each whole. */
function joined(tags: readonly string[] = []): string {
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

function putNothing(bytes: Uint8Array, start: number): number {
  bytes[start] = SPACE;
  return start + 1;
}

function putNumber(bytes: Uint8Array, start: number, value: number): number {
  let rest = value >>> 0;
  if (rest !== value) return putText(bytes, start, String(value));
  let end = start + 1;
  for (let more = rest; more >= 10; more = (more / 10) >>> 0) end++;
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
  const escaped = encoded(text);
  for (let i = 0; i < escaped.length; i++) bytes[start + i] = escaped.charCodeAt(i);
  bytes[start + escaped.length] = SPACE;
  return start + escaped.length + 1;
}

/** A name in the form of a line. */
export function escapeName(name: string): string {
  return /^[!-$&-~]*$/.test(name) ? name : encoded(name);
}

function encoded(text: string): string {
  // half a character, as cut off by a length, would make encodeURIComponent throw
  return encodeURIComponent(Buffer.from(text).toString());
}

/** A line that was read. */
export interface Line {
  at: number;
  /** Of all requests of the store. */
  number: number;
  /** The fields of the line, in the order of `FIELDS`. */
  fields: readonly string[];
}

/** The lines of a block as they were written. */
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

/** A field in the form of the line. */
export function fieldOf(line: Line, field: Field): string {
  return line.fields[FIELDS.indexOf(field)] ?? "";
}

/** Undefined where it was not known. */
export function numberIn(line: Line, field: Field): number | undefined {
  const text = fieldOf(line, field);
  return text === "" ? undefined : Number(text);
}

export function nameIn(line: Line, field: Field): string {
  const text = fieldOf(line, field);
  return text.includes("%") ? decodeURIComponent(text) : text;
}

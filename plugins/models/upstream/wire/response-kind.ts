/** Decides how an upstream's response is read. */
import type { IncomingHttpHeaders } from "node:http";
import { markLength } from "portico/provider";

/** `sniff`: its first byte decides. */
export type ResponseKind = "error" | "collect" | "sniff" | "stream";

/** Decides by the head of a response. `stream`: the request asked for a stream. */
export function kindOf(
  status: number,
  headers: IncomingHttpHeaders,
  stream: boolean,
): ResponseKind {
  if (status >= 300) return "error";
  if (!stream) return "collect";
  const type = headers["content-type"]?.toLowerCase() ?? "";
  // The first byte decides only for these types: JSON lines and binary events may begin with the same bytes.
  return type === "" || type.startsWith("application/json") || type.startsWith("text/")
    ? "sniff"
    : "stream";
}

/**
 * Decides by the beginning of the body of a response to a stream request. Returns undefined while only white space has
 * been received.
 */
export function sniff(bytes: Buffer): "collect" | "stream" | undefined {
  let index = markLength(bytes);
  while (
    index < bytes.length &&
    (bytes[index] === 32 || bytes[index] === 10 || bytes[index] === 13 || bytes[index] === 9)
  )
    index++;
  if (index === bytes.length) return undefined;
  const first = bytes[index];
  // `{`, `[` or `<`: JSON or a page instead of a stream.
  return first === 123 || first === 91 || first === 60 ? "collect" : "stream";
}

/** Returns the last byte of white space, which is all that matters of it: whether a line has begun. */
export function endOfBlank(bytes: Buffer): Buffer {
  return Buffer.from(bytes.subarray(Math.max(markLength(bytes), bytes.length - 1)));
}

/** The length of a beginning that is examined, comments included. */
const MAX_BEGINNING_BYTES = 4096;
const ERROR =
  '\\{\\s{0,64}(?:"error"\\s{0,8}:\\s{0,8}[{"[]|"(?:type|object)"\\s{0,8}:\\s{0,8}"error")';
const ERROR_BODY = new RegExp(`^\\s{0,64}${ERROR}`);
const ERROR_EVENT = new RegExp(`^data: ?${ERROR}`);
/** Lines of an event before its data, and lines that belong to no event. */
const BEFORE_DATA = /^(?:[\r\n]|:[^\r\n]*[\r\n]|(?:event|id|retry):[^\r\n]*[\r\n])*/;
const NAMED_ERROR = /(?:^|[\r\n])event: ?error[\r\n]/;
const EVENT_END = /\n\r?\n|\r\r/;
/** Data whose first member, or first character, shows that it is no error. */
const HARMLESS_DATA =
  /^data: ?(?:[^\s{]|\{\s{0,64}(?:[^\s"]|"[^"]*"\s{0,8}:\s{0,8}(?:[^\s"]|"[^"]*")))/;

/** `unknown`: it may still turn out to be an error; `error`: the error is complete. */
type Beginning = "good" | "unknown" | "error begins" | "error";

/** Examines the beginning of a 2xx response whose bytes are passed through unparsed. */
export class RawBeginning {
  #received: Buffer | undefined;

  push(headers: IncomingHttpHeaders, bytes: Buffer): Beginning {
    if (/^application\/json/i.test(headers["content-type"] ?? ""))
      return ERROR_BODY.test(bytes.toString("latin1", 0, 256)) ? "error begins" : "good";
    if (!isEventStream(headers)) return "good";
    this.#received = this.#received === undefined ? bytes : Buffer.concat([this.#received, bytes]);
    return classifyBeginning(this.#received);
  }
}

/** Classifies the beginning of an event stream. */
function classifyBeginning(received: Buffer): Beginning {
  const text = received.toString("latin1", markLength(received), MAX_BEGINNING_BYTES);
  const [before = ""] = BEFORE_DATA.exec(text) ?? [];
  const data = text.slice(before.length);
  const isError = ERROR_EVENT.test(data) || (data !== "" && NAMED_ERROR.test(before));
  if (received.length >= MAX_BEGINNING_BYTES) return isError ? "error begins" : "good";
  if (isError) return EVENT_END.test(data) ? "error" : "unknown";
  return HARMLESS_DATA.test(data) ? "good" : "unknown";
}

export function isEventStream({ "content-type": type = "" }: IncomingHttpHeaders): boolean {
  return /^text\/event-stream/i.test(type);
}

/** Whether the bytes end an event stream with `[DONE]`, after which nothing can be missing. */
export function endsWithDone(headers: IncomingHttpHeaders, bytes: Buffer): boolean {
  return (
    /data: ?\[DONE\]\s*$/.test(bytes.toString("latin1", Math.max(0, bytes.length - 32))) &&
    isEventStream(headers)
  );
}

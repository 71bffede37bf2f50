/** Decides how an upstream's response is read. */
import type { IncomingHttpHeaders } from "node:http";
import { markLength } from "portico/provider";

/** `sniff`: its first byte decides. */
export type ResponseKind = "error" | "collect" | "sniff" | "stream";

/** Decides by the head of a response. `stream`: the request asked for one. */
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

/** What the body of a response to a stream request begins as; undefined as long as nothing but white space has come. */
export function sniff(bytes: Buffer): "collect" | "stream" | undefined {
  let at = markLength(bytes);
  while (
    at < bytes.length &&
    (bytes[at] === 32 || bytes[at] === 10 || bytes[at] === 13 || bytes[at] === 9)
  )
    at++;
  if (at === bytes.length) return undefined;
  const first = bytes[at];
  // `{`, `[` or `<`: JSON or a page instead of a stream.
  return first === 123 || first === 91 || first === 60 ? "collect" : "stream";
}

/** All that matters of white space, however much there is: whether a line has begun. */
export function endOfBlank(bytes: Buffer): Buffer {
  return Buffer.from(bytes.subarray(Math.max(markLength(bytes), bytes.length - 1)));
}

/** So much of a beginning is looked at, comments included. */
const LOOKED_AT = 4096;
const ERROR =
  '\\{\\s{0,64}(?:"error"\\s{0,8}:\\s{0,8}[{"[]|"(?:type|object)"\\s{0,8}:\\s{0,8}"error")';
const ERROR_BODY = new RegExp(`^\\s{0,64}${ERROR}`);
const ERROR_EVENT = new RegExp(`^data: ?${ERROR}`);
/** Lines of an event before its data, and those of no event. */
const BEFORE_DATA = /^(?:[\r\n]|:[^\r\n]*[\r\n]|(?:event|id|retry):[^\r\n]*[\r\n])*/;
const NAMED_ERROR = /(?:^|[\r\n])event: ?error[\r\n]/;
const EVENT_END = /\n\r?\n|\r\r/;
/** Data whose first member, or first character, is there. */
const KNOWN = /^data: ?(?:[^\s{]|\{\s{0,64}(?:[^\s"]|"[^"]*"\s{0,8}:\s{0,8}(?:[^\s"]|"[^"]*")))/;

/** `unknown`: an error may still come; `error`: it is there whole. */
type Beginning = "good" | "unknown" | "error begins" | "error";

/** The beginning of a 2xx response whose bytes are passed on unread. */
export class RawBeginning {
  #seen: Buffer | undefined;

  push(headers: IncomingHttpHeaders, bytes: Buffer): Beginning {
    if (/^application\/json/i.test(headers["content-type"] ?? ""))
      return ERROR_BODY.test(bytes.toString("latin1", 0, 256)) ? "error begins" : "good";
    if (!isEventStream(headers)) return "good";
    this.#seen = this.#seen === undefined ? bytes : Buffer.concat([this.#seen, bytes]);
    return beginningOf(this.#seen);
  }
}

/** Of an event stream. */
function beginningOf(all: Buffer): Beginning {
  const text = all.toString("latin1", markLength(all), LOOKED_AT);
  const [before = ""] = BEFORE_DATA.exec(text) ?? [];
  const data = text.slice(before.length);
  const error = ERROR_EVENT.test(data) || (data !== "" && NAMED_ERROR.test(before));
  if (all.length >= LOOKED_AT) return error ? "error begins" : "good";
  if (error) return EVENT_END.test(data) ? "error" : "unknown";
  return KNOWN.test(data) ? "good" : "unknown";
}

export function isEventStream({ "content-type": type = "" }: IncomingHttpHeaders): boolean {
  return /^text\/event-stream/i.test(type);
}

/** Nothing may be missing behind it. */
export function endsWithDone(headers: IncomingHttpHeaders, bytes: Buffer): boolean {
  return (
    /data: ?\[DONE\]\s*$/.test(bytes.toString("latin1", Math.max(0, bytes.length - 32))) &&
    isEventStream(headers)
  );
}

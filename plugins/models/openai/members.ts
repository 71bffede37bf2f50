/** Parses request bodies in JSON, and finds the members of a JSON text. */
import { type BodyLimits, checkJsonType, type Call, parseJson } from "portico";

const QUOTE = 34;
const COLON = 58;
const BACKSLASH = 92;

/**
 * Reads the JSON body of a request. Integers beyond 2^53 keep their digits. Throws `unsupported_media_type`,
 * `invalid_json`, or 400 for a body beyond the limits.
 */
export async function jsonBody(call: Call): Promise<unknown> {
  checkJsonType(call.req);
  return parseBody(await call.body(), call.limits);
}

/** Parses a body in the same way as `jsonBody`. */
export function parseBody(bytes: Buffer, limits: BodyLimits, raw: RawBody = bytes): unknown {
  const latin1 = typeof raw === "string" ? { latin1: raw } : {};
  return parseJson(bytes, { ...latin1, limits });
}

/**
 * The bytes of a caller. Short ones are a string with one character per byte, which is faster to search, cut and send.
 */
export type RawBody = Buffer | string;

/** Longer bodies as strings would be copied too often. */
const SHORT_BYTES = 16 * 1024;

export function rawBody(bytes: Buffer): RawBody {
  return bytes.length <= SHORT_BYTES ? bytes.toString("latin1") : bytes;
}

/** Returns a string with one character per byte. */
export function latin1Of(raw: RawBody): string {
  return typeof raw === "string" ? raw : raw.toString("latin1");
}

/**
 * Calls `visit` with the position of each member's name in the text, and the depth of its object (1: the body itself).
 * The text may be undecoded bytes, and need not be JSON.
 */
export function eachMember(
  text: string,
  visit: (from: number, to: number, depth: number) => void,
): void {
  let depth = 0;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    // `{` and `[`, `}` and `]` differ in one bit
    if ((code | 32) === 123) depth++;
    else if ((code | 32) === 125) depth--;
    else if (code === QUOTE) {
      const end = stringEnd(text, i);
      if (isName(text, end)) visit(i, end, depth);
      i = end - 1;
    }
  }
}

/** Returns the position after the closing quote. */
function stringEnd(text: string, start: number): number {
  // Most strings have no escaped quote, and for those the engine's own search is many times faster.
  const quote = text.indexOf('"', start + 1);
  if (quote === -1) return text.length;
  if (text.charCodeAt(quote - 1) !== BACKSLASH) return quote + 1;
  for (let at = start + 1; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === BACKSLASH) at++;
    else if (code === QUOTE) return at + 1;
  }
  return text.length;
}

function isName(text: string, from: number): boolean {
  let i = from;
  let code = text.charCodeAt(i);
  while (code === 32 || code === 10 || code === 13 || code === 9) code = text.charCodeAt(++i);
  return code === COLON;
}

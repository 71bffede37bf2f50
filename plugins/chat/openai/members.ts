/** The members of a JSON text, found before anything is parsed: what is wide costs more to read than to count. */
import { checkJsonType, type Call, parseJson, PorticoError } from "portico";

/** In smaller bodies there are not so many members that it matters. */
const LARGE_BYTES = 256 * 1024;
/** Of the body itself, which no client comes near to. */
export const MOST_OWN_MEMBERS = 10_000;
/** Of all objects together: a second of work at the most, were they all of different names. */
const MOST_MEMBERS = 200_000;
const QUOTE = 34;
const COLON = 58;
const BACKSLASH = 92;

/** The body of a request in JSON. Throws `unsupported_media_type`, `invalid_json`, or 400 for one that is too wide. */
export async function jsonBody(call: Call): Promise<unknown> {
  checkJsonType(call.req);
  return parseBody(await call.body());
}

/** The value of a body. Throws as `jsonBody` does. */
export function parseBody(bytes: Buffer, raw: RawBody = bytes): unknown {
  if (bytes.length >= LARGE_BYTES) checkWidth(latin1Of(raw));
  return parseJson(bytes, typeof raw === "string" ? { latin1: raw } : {});
}

/** A caller's own bytes; short ones as a text with a character for each, which is quicker to search, cut and send. */
export type RawBody = Buffer | string;

/** Longer ones are copied too often as texts. */
const SHORT_BYTES = 16 * 1024;

export function rawBody(bytes: Buffer): RawBody {
  return bytes.length <= SHORT_BYTES ? bytes.toString("latin1") : bytes;
}

/** A character for each byte. */
export function latin1Of(raw: RawBody): string {
  return typeof raw === "string" ? raw : raw.toString("latin1");
}

function checkWidth(text: string): void {
  let own = 0;
  let all = 0;
  eachMember(text, (_from, _to, depth) => {
    all++;
    if (depth === 1 && ++own > MOST_OWN_MEMBERS) throw tooMany(MOST_OWN_MEMBERS);
    if (all > MOST_MEMBERS) throw tooMany(MOST_MEMBERS);
  });
}

export function tooMany(most: number): PorticoError {
  return new PorticoError("invalid_request_error", `The body has more than ${most} members.`);
}

/**
 * Tells each member's name by where its quotes stand in the text, and how deep its object lies (1: the body itself). The
 * text may be the bytes as they are, and need not be JSON.
 */
export function eachMember(
  text: string,
  tell: (from: number, to: number, depth: number) => void,
): void {
  let depth = 0;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    // `{` and `[`, `}` and `]` differ in one bit
    if ((code | 32) === 123) depth++;
    else if ((code | 32) === 125) depth--;
    else if (code === QUOTE) {
      const end = stringEnd(text, i);
      if (isName(text, end)) tell(i, end, depth);
      i = end - 1;
    }
  }
}

/** Behind the closing quote. */
function stringEnd(text: string, start: number): number {
  for (let at = text.indexOf('"', start + 1); at !== -1; at = text.indexOf('"', at + 1)) {
    let escapes = 0;
    while (text.charCodeAt(at - 1 - escapes) === BACKSLASH) escapes++;
    if (escapes % 2 === 0) return at + 1;
  }
  return text.length;
}

function isName(text: string, from: number): boolean {
  let i = from;
  let code = text.charCodeAt(i);
  while (code === 32 || code === 10 || code === 13 || code === 9) code = text.charCodeAt(++i);
  return code === COLON;
}

/** The head of an HTTP/1.1 response: its status line and header lines (RFC 9112, sections 4 and 5). */
import type { IncomingHttpHeaders } from "node:http";

/** The bytes are no HTTP/1.1 response. */
export class ProtocolError extends Error {
  readonly code = "EBADMSG";
}

/** Of a list such as that of `Connection`, in small letters. */
export function hasToken(list: string, token: string): boolean {
  return list === token || list.split(",").some((item) => item.trim() === token);
}

/** A repeated length is a length; two different lengths are an error. */
export function lengthOf(text: string): number {
  if (/^\d{1,15}$/.test(text)) return Number(text);
  const [first = "", ...others] = text.split(",").map((item) => item.trim());
  if (!/^\d{1,15}$/.test(first) || others.some((other) => other !== first))
    throw new ProtocolError("a response whose length is not a number");
  return Number(first);
}

export interface Head {
  status: number;
  minor: number;
  headers: IncomingHttpHeaders;
}

/** What may not stand in a line: a bare CR or LF is where two readers would part (RFC 9112, 2.2). */
const CONTROL = /[\0-\x08\x0a-\x1f\x7f]/;
const STATUS_LINE = /^HTTP\/1\.[01] [1-9]\d\d(?: |$)/;
const TOKEN = /^[!#$%&'*+.^_`|~0-9a-z-]+$/;

/** Names as servers write them, and in lower case: a server sends the same ones in every response. */
const known = new Map<string, string>();
const MOST_KNOWN = 500;

/** Of a header's or trailer's line, in small letters. */
export function nameOf(line: string): string {
  const written = line.slice(0, Math.max(0, line.indexOf(":")));
  const name = known.get(written);
  if (name !== undefined) return name;
  const lower = written.toLowerCase();
  if (!TOKEN.test(lower)) throw new ProtocolError("a response with a broken header line");
  // A copy: a part of a string keeps the whole of it.
  if (known.size < MOST_KNOWN)
    known.set(Buffer.from(written).toString(), Buffer.from(lower).toString());
  return lower;
}

/** Lines without the empty one at the end. Throws `ProtocolError`. */
export function parseHead(text: string): Head {
  let at = text.indexOf("\r\n");
  const line = at === -1 ? text : text.slice(0, at);
  if (!STATUS_LINE.test(line) || CONTROL.test(line))
    throw new ProtocolError("not an HTTP/1.1 response");
  const headers: Record<string, string> = Object.create(null);
  while (at !== -1) {
    const from = at + 2;
    at = text.indexOf("\r\n", from);
    const field = text.slice(from, at === -1 ? text.length : at);
    const name = nameOf(field);
    const rawValue = field.slice(name.length + 1);
    // before it is trimmed, which would take off line ends too
    if (CONTROL.test(rawValue)) throw new ProtocolError("a head with a control character");
    const value = rawValue.trim();
    const before = headers[name];
    headers[name] = before === undefined ? value : `${before}, ${value}`;
  }
  return {
    status: Number(line.slice(9, 12)),
    minor: Number(line[7]),
    headers: headers as IncomingHttpHeaders,
  };
}

/** Parses the head of an HTTP/1.1 response: its status line and header lines (RFC 9112, sections 4 and 5). */
import type { IncomingHttpHeaders } from "node:http";

/** The bytes are not a valid HTTP/1.1 response. */
export class ProtocolError extends Error {
  readonly code = "EBADMSG";
}

/** Whether a list such as that of `Connection`, in lower case, contains a token. */
export function hasToken(list: string, token: string): boolean {
  return list === token || list.split(",").some((item) => item.trim() === token);
}

/** Parses a `Content-Length`. The same value may be repeated; different values are an error. Throws `ProtocolError`. */
export function parseLength(text: string): number {
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

/** Characters that a line must not contain: two readers would disagree about a bare CR or LF (RFC 9112, 2.2). */
const CONTROL = /[\0-\x08\x0a-\x1f\x7f]/;
const STATUS_LINE = /^HTTP\/1\.[01] [1-9]\d\d(?: |$)/;
const TOKEN = /^[!#$%&'*+.^_`|~0-9a-z-]+$/;

/** Names as servers write them → names in lower case: a server sends the same ones in every response. */
const lowerNames = new Map<string, string>();
const MAX_NAMES = 500;

/** Returns the name of a header or trailer line, in lower case. Throws `ProtocolError`. */
export function parseFieldName(line: string): string {
  const rawName = line.slice(0, Math.max(0, line.indexOf(":")));
  const name = lowerNames.get(rawName);
  if (name !== undefined) return name;
  const lower = rawName.toLowerCase();
  if (!TOKEN.test(lower)) throw new ProtocolError("a response with a broken header line");
  // Stores copies, because a substring keeps the whole string in memory.
  if (lowerNames.size < MAX_NAMES)
    lowerNames.set(Buffer.from(rawName).toString(), Buffer.from(lower).toString());
  return lower;
}

/** Parses the lines of a head, without the empty one at the end. Throws `ProtocolError`. */
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
    const name = parseFieldName(field);
    const rawValue = field.slice(name.length + 1);
    // Checked before trimming, which would also remove line ends.
    if (CONTROL.test(rawValue)) throw new ProtocolError("a head with a control character");
    const value = rawValue.trim();
    const previous = headers[name];
    headers[name] = previous === undefined ? value : `${previous}, ${value}`;
  }
  return {
    status: Number(line.slice(9, 12)),
    minor: Number(line[7]),
    headers: headers as IncomingHttpHeaders,
  };
}

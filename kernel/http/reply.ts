/** Answers as values: a handler returns one, the server writes it. */
import type { ServerResponse } from "node:http";

const MARK = Symbol.for("portico.reply");

export type ReplyHeaders = Record<string, string | number | readonly string[]>;

export interface Reply {
  readonly status: number;
  readonly body: unknown;
  readonly headers: ReplyHeaders | undefined;
}

// The mark is a registered symbol because plugins may bundle a second copy of this module.
const prototype = { [MARK]: true };

/**
 * An answer with a status of its own. Body: a string is `text/plain`, a Buffer `application/octet-stream` (unless
 * `headers` names a content type, in lower case), `undefined` empty, anything else JSON.
 */
export function reply(status: number, body?: unknown, headers?: ReplyHeaders): Reply {
  return Object.assign(Object.create(prototype), { status, body, headers });
}

export function isReply(value: unknown): value is Reply {
  return typeof value === "object" && value !== null && (value as Record<symbol, unknown>)[MARK] === true;
}

export const JSON_TYPE = "application/json; charset=utf-8";

/** JSON with the given status. Throws before anything is written when the value does not go into JSON. */
export function sendJson(res: ServerResponse, status: number, value: unknown): void {
  const text = toJson(value);
  res.writeHead(status, { "content-type": JSON_TYPE, "content-length": Buffer.byteLength(text) });
  res.end(text);
}

/** Writes a reply on top of the headers that are set already. */
export function sendReply(res: ServerResponse, { status, body, headers }: Reply): void {
  const [type, bytes] = encode(body);
  for (const name in headers) res.setHeader(name, headers[name] as string);
  if (status === 204 || status === 304 || status < 200) {
    res.writeHead(status);
    res.end();
    return;
  }
  if (type !== undefined && !res.hasHeader("content-type")) res.setHeader("content-type", type);
  res.setHeader("content-length", typeof bytes === "string" ? Buffer.byteLength(bytes) : bytes.length);
  res.writeHead(status);
  res.end(bytes);
}

function encode(body: unknown): [type: string | undefined, bytes: string | Uint8Array] {
  if (body === undefined) return [undefined, ""];
  if (typeof body === "string") return ["text/plain; charset=utf-8", body];
  if (body instanceof Uint8Array) return ["application/octet-stream", body];
  return [JSON_TYPE, toJson(body)];
}

/** Throws where `JSON.stringify` would give no text. */
export function toJson(value: unknown): string {
  const text = JSON.stringify(value) as string | undefined;
  if (text === undefined) throw new TypeError(`a ${typeof value} cannot be answered as JSON`);
  return text;
}

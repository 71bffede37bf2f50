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

/** An answer ready to be written. */
export interface Outgoing {
  readonly status: number;
  readonly headers: ReplyHeaders | undefined;
  /** Undefined where there is no body, or where `headers` names it. */
  readonly type: string | undefined;
  readonly body: string | Uint8Array;
}

/** What a handler's value comes to. Throws where the value does not go into JSON. */
export function outgoing(value: unknown): Outgoing {
  if (!isReply(value)) return { status: 200, headers: undefined, type: JSON_TYPE, body: toJson(value) };
  const { status, headers, body } = value;
  if (body === undefined || status === 204 || status === 304 || status < 200)
    return { status, headers, type: undefined, body: "" };
  const own = headers?.["content-type"] !== undefined;
  if (typeof body === "string") return { status, headers, type: own ? undefined : "text/plain; charset=utf-8", body };
  if (body instanceof Uint8Array) return { status, headers, type: own ? undefined : "application/octet-stream", body };
  return { status, headers, type: own ? undefined : JSON_TYPE, body: toJson(body) };
}

/** Up to here a copy into one string is cheaper than a second buffer to write. */
const ONE_WRITE_BYTES = 16 * 1024;

/** Writes an answer. Headers that are set on the response already go out too. */
export function writeOutgoing(call: Outlet, { status, headers, type, body }: Outgoing): void {
  const res = call.plain;
  const bodiless = status === 204 || status === 304 || status < 200;
  const length = typeof body === "string" ? Buffer.byteLength(body) : body.length;
  if (call.dressed) {
    for (const name in headers) res.setHeader(name, headers[name] as string);
    if (type !== undefined && !res.hasHeader("content-type")) res.setHeader("content-type", type);
    if (!bodiless) res.setHeader("content-length", length);
    res.writeHead(status);
  } else {
    const lines: (string | readonly string[])[] = ["x-request-id", call.id, "x-content-type-options", "nosniff"];
    for (const name in headers) {
      const value = headers[name]!;
      lines.push(name, typeof value === "number" ? String(value) : value);
    }
    if (type !== undefined) lines.push("content-type", type);
    if (!bodiless) lines.push("content-length", String(length));
    res.writeHead(status, lines as string[]);
  }
  // Latin-1 is bytes as they are: head and body leave in one write.
  if (typeof body === "string" || body.length > ONE_WRITE_BYTES) res.end(body);
  else res.end(Buffer.from(body.buffer, body.byteOffset, body.length).toString("latin1"), "latin1");
}

/** Where an answer goes. */
export interface Outlet {
  readonly id: string;
  readonly plain: ServerResponse;
  readonly dressed: boolean;
}

/** Throws where `JSON.stringify` would give no text. */
export function toJson(value: unknown): string {
  const text = JSON.stringify(value) as string | undefined;
  if (text === undefined) throw new TypeError(`a ${typeof value} cannot be answered as JSON`);
  return text;
}

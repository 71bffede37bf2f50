/** Responses as values: a handler returns one, the server writes it. */
import { exactJson } from "../../text/exact-json.ts";

const MARK = Symbol.for("portico.reply"); // registered: plugins may bundle a second copy of this module

export type ReplyHeaders = Record<string, string | number | readonly string[]>;

export interface Reply {
  readonly status: number;
  readonly body: unknown;
  readonly headers: ReplyHeaders | undefined;
}

type Marked = Reply & { [MARK]?: true };

/**
 * A response with a status of its own. Body: a string is `text/plain`, a Buffer `application/octet-stream` (unless
 * `headers` names a content type, in lower case), `undefined` empty, anything else JSON.
 */
export function reply(status: number, body?: unknown, headers?: ReplyHeaders): Reply {
  const marked: Marked = { status, body, headers };
  marked[MARK] = true; // within the braces it would take the engine's slow way
  return marked;
}

/** The status that a handler's value is sent with. */
export function statusOfResult(value: unknown): number {
  if (value === undefined) return 204;
  const isReply = (value as Marked | null)?.[MARK] === true;
  return isReply ? (value as Marked).status : 200;
}

/** More is no entry that somebody wants to compare. */
const LARGEST_COPY = 256 * 1024;

/** A copy of a handler's value as JSON; undefined where it is something else, or large. */
export function jsonOf(value: unknown): unknown {
  if (value === undefined) return undefined;
  const { type, body, status } = outgoing(value);
  const isJson = type === JSON_TYPE && typeof body === "string";
  return isJson && status < 400 && body.length <= LARGEST_COPY ? JSON.parse(body) : undefined;
}

const JSON_TYPE = "application/json; charset=utf-8";

/** A response ready to be written. */
export interface Outgoing {
  readonly status: number;
  readonly headers: ReplyHeaders | undefined;
  /** Undefined where there is no body, or where `headers` names it. */
  readonly type: string | undefined;
  readonly body: string | Buffer;
}

/** What a handler's value comes to. Throws where the value does not go into JSON. */
export function outgoing(value: unknown): Outgoing {
  if ((value as Marked | null | undefined)?.[MARK] !== true)
    return jsonResponse(200, toJson(value));
  const { status, headers, body: given } = value as Marked;
  const body =
    given instanceof Uint8Array ? Buffer.from(given.buffer, given.byteOffset, given.length) : given;
  if (body === undefined || isBodiless(status))
    return { status, headers, type: undefined, body: "" };
  const text = typeof body === "string" || body instanceof Buffer ? body : toJson(body);
  const type = headers?.["content-type"] === undefined ? typeOf(body) : undefined;
  return { status, headers, type, body: text };
}

function typeOf(body: unknown): string {
  if (typeof body === "string") return "text/plain; charset=utf-8";
  return body instanceof Buffer ? "application/octet-stream" : JSON_TYPE;
}

export function jsonResponse(status: number, body: string, headers?: ReplyHeaders): Outgoing {
  return { status, headers, type: JSON_TYPE, body };
}

export const isBodiless = (status: number): boolean =>
  status === 204 || status === 304 || status < 200;

/** Throws where `JSON.stringify` would give no text. */
function toJson(value: unknown): string {
  const text = exactJson.stringify(value);
  if (text === undefined) throw new TypeError(`a ${typeof value} cannot be sent as JSON`);
  return text;
}

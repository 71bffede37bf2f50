/** Responses as values: a handler returns one, the server writes it. */
import { exactJson } from "../../text/exact-json.ts";

const MARK = Symbol.for("portico.reply"); // a registered symbol, because plugins may bundle a second copy of this module

export type ReplyHeaders = Record<string, string | number | readonly string[]>;

export interface Reply {
  readonly status: number;
  readonly body: unknown;
  readonly headers: ReplyHeaders | undefined;
}

type MarkedReply = Reply & { [MARK]?: true };

/**
 * Creates a response with its own status. A string body is `text/plain`, a Buffer `application/octet-stream` (unless
 * `headers` names a content type, in lower case), `undefined` empty, anything else JSON.
 */
export function reply(status: number, body?: unknown, headers?: ReplyHeaders): Reply {
  const marked: MarkedReply = { status, body, headers };
  marked[MARK] = true; // in the literal, this key would make the engine create the object slowly
  return marked;
}

/** Returns the status with which a handler's value is sent. */
export function getResultStatus(value: unknown): number {
  if (value === undefined) return 204;
  const isReply = (value as MarkedReply | null)?.[MARK] === true;
  return isReply ? (value as MarkedReply).status : 200;
}

/** A larger value is not an entry that anyone wants to compare. */
const MAX_COPY_LENGTH = 256 * 1024;

/** Returns a copy of a handler's value if it is JSON of moderate size, otherwise undefined. */
export function copyJson(value: unknown): unknown {
  if (value === undefined) return undefined;
  const { type, body, status } = toOutgoing(value);
  const isJson = type === JSON_TYPE && typeof body === "string";
  return isJson && status < 400 && body.length <= MAX_COPY_LENGTH ? JSON.parse(body) : undefined;
}

const JSON_TYPE = "application/json; charset=utf-8";

/** A response ready to be written. */
export interface Outgoing {
  readonly status: number;
  readonly headers: ReplyHeaders | undefined;
  /** The content type; undefined if there is no body or `headers` has the type. */
  readonly type: string | undefined;
  readonly body: string | Buffer;
}

/** Converts a handler's value to a response. Throws if the value cannot be represented in JSON. */
export function toOutgoing(value: unknown): Outgoing {
  if ((value as MarkedReply | null | undefined)?.[MARK] !== true)
    return jsonResponse(200, toJson(value));
  const { status, headers, body: rawBody } = value as MarkedReply;
  const body =
    rawBody instanceof Uint8Array
      ? Buffer.from(rawBody.buffer, rawBody.byteOffset, rawBody.length)
      : rawBody;
  if (body === undefined || isBodiless(status))
    return { status, headers, type: undefined, body: "" };
  const text = typeof body === "string" || body instanceof Buffer ? body : toJson(body);
  const type = headers?.["content-type"] === undefined ? chooseType(body) : undefined;
  return { status, headers, type, body: text };
}

function chooseType(body: unknown): string {
  if (typeof body === "string") return "text/plain; charset=utf-8";
  return body instanceof Buffer ? "application/octet-stream" : JSON_TYPE;
}

export function jsonResponse(status: number, body: string, headers?: ReplyHeaders): Outgoing {
  return { status, headers, type: JSON_TYPE, body };
}

export const isBodiless = (status: number): boolean =>
  status === 204 || status === 304 || status < 200;

/** Throws if `JSON.stringify` would return no text. */
function toJson(value: unknown): string {
  const text = exactJson.stringify(value);
  if (text === undefined) throw new TypeError(`a ${typeof value} cannot be sent as JSON`);
  return text;
}

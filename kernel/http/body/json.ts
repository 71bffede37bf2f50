/** Reads bodies in JSON. */
import { isAscii, isUtf8 } from "node:buffer";
import type { IncomingMessage } from "node:http";
import { exactJson } from "../../text/exact-json.ts";
import type { BodyLimits } from "../../contract/index.ts";
import { errors } from "../errors.ts";
import { checkJsonLimits, DEFAULT_BODY_LIMITS } from "./limits.ts";
import { hasBody } from "./read.ts";

/** Throws `unsupported_media_type` unless the body is announced as JSON in UTF-8. */
export function checkJsonType(req: IncomingMessage): void {
  const type = req.headers["content-type"];
  if (type === "application/json") return;
  if (type === undefined && !hasBody(req)) return;
  const [essence = "", ...parameters] = (type ?? "").toLowerCase().split(";");
  if (!/^\s*application\/(json|[\w.!#$&^-]+\+json)\s*$/.test(essence)) throw errors.needsJson();
  for (const parameter of parameters) {
    const charset = /^\s*charset\s*=\s*"?([^"\s]*)"?\s*$/.exec(parameter)?.[1];
    if (charset !== undefined && charset !== "utf-8" && charset !== "utf8")
      throw errors.needsUtf8();
  }
}

export interface ParseOptions {
  /** The bytes as a string with one character per byte, if the caller has it already. */
  latin1?: string;
  /** The limits of the request (`call.limits`), so that the owner's settings apply; otherwise the defaults. */
  limits?: BodyLimits;
}

/**
 * Parses a JSON text in UTF-8, with or without a byte order mark. Whole numbers beyond 2^53 become `ExactNumber`s,
 * which keep their digits (see `exactJson`). Keys called `__proto__` are left out. Throws `invalid_json`, and
 * `invalid_request_error` for a text that breaks one of the limits, which are checked before anything is parsed. The
 * messages name the place, never the text around it, which may be a secret.
 */
export function parseJson(
  bytes: Buffer,
  { latin1, limits = DEFAULT_BODY_LIMITS }: ParseOptions = {},
): unknown {
  if (bytes.length === 0) throw errors.emptyBody();
  const text = latin1 !== undefined && isAscii(bytes) ? latin1 : decodeUtf8(bytes);
  const { longIntegers } = checkJsonLimits(text, limits);
  try {
    if (longIntegers.length === 0)
      return JSON.parse(text, hasProtoKey(text) ? omitProtoKey : undefined);
    const value = exactJson.parse(text, longIntegers);
    return hasProtoKey(text) ? omitProtoKeys(value) : value;
  } catch (error) {
    const position = /at position (\d+)/.exec((error as Error).message)?.[1];
    throw errors.notJson({ place: position ? `: see character ${position}` : "" });
  }
}

function omitProtoKey(key: string, value: unknown): unknown {
  return key === "__proto__" ? undefined : value;
}

/** Removes keys called `__proto__` from a value that is already parsed. */
function omitProtoKeys(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(omitProtoKeys);
  if (typeof value !== "object" || value === null || exactJson.isNumber(value)) return value;
  const members = Object.entries(value).filter(([name]) => name !== "__proto__");
  return Object.fromEntries(members.map(([name, member]) => [name, omitProtoKeys(member)]));
}

function decodeUtf8(bytes: Buffer): string {
  if (!isUtf8(bytes)) throw errors.notUtf8();
  const hasByteOrderMark = bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf;
  return bytes.toString("utf8", hasByteOrderMark ? 3 : 0);
}

const PROTO_KEY =
  /"(?:_|\\u005f){2}(?:p|\\u0070)(?:r|\\u0072)(?:o|\\u006f)(?:t|\\u0074)(?:o|\\u006f)(?:_|\\u005f){2}"/i;

function hasProtoKey(text: string): boolean {
  // The search without quotes fails faster, because bodies are full of quotes.
  if (text.includes("__proto__") && text.includes('"__proto__"')) return true;
  return text.includes("\\u00") && PROTO_KEY.test(text);
}

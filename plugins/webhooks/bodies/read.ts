/** Parses the body of a mapping's request, in the format that the mapping names, or else by the content type. */
import { isUtf8 } from "node:buffer";
import { type BodyLimits, isPorticoError, parseJson } from "portico";
import { decodeText, encodingOf } from "portico/strings";
import { errors } from "../errors.ts";
import { readForm, readMultipart } from "./forms.ts";

/** The formats that a mapping may name, which then replace the `Content-Type`. */
export type BodyKind = "json" | "form" | "text" | "xml";

export interface BodySource {
  bytes: Buffer;
  /** The request's `Content-Type`. */
  type: string | undefined;
  limits: BodyLimits;
}

type Reader = (source: BodySource) => unknown;

/** Parses a body. Throws 415, 400 `invalid_json`, or 400 `invalid_request_error` for a body that exceeds the limits. */
export async function readBody(source: BodySource, kind?: BodyKind): Promise<unknown> {
  if (kind !== undefined) return readers[kind](source);
  const reader = selectReader(source.type);
  return reader ? reader(source) : readUntyped(source);
}

/** Returns whether the bytes are not plain UTF-8 text, so that the log keeps the parsed value instead. */
export function isBinary(type: string | undefined, bytes: Buffer): boolean {
  return parseEssence(type) === "multipart/form-data" || !isUtf8(bytes);
}

const readJsonBody: Reader = ({ bytes, type = "", limits }) => {
  const isUtf8Json = !/charset\s*=\s*"?(?!utf-?8)/i.test(type);
  return parseJson(isUtf8Json ? bytes : Buffer.from(decodeBody(bytes, type)), { limits });
};

const readXmlBody: Reader = async ({ bytes, type = "", limits }) =>
  (await import("./xml.ts")).readXml(decodeBody(bytes, type, true), limits);

const readTextBody: Reader = ({ bytes, type = "" }) => ({ text: decodeBody(bytes, type) });

const readFormBody: Reader = ({ bytes, type = "", limits }) =>
  parseEssence(type) === "multipart/form-data"
    ? readMultipart(bytes, type, limits)
    : readUrlEncoded(bytes, type, limits);

const readers: Record<BodyKind, Reader> = {
  json: readJsonBody,
  form: readFormBody,
  text: readTextBody,
  xml: readXmlBody,
};

/** Returns the reader for a content type, or `undefined` if the type does not determine the format. */
function selectReader(type: string | undefined): Reader | undefined {
  const essence = parseEssence(type);
  if (essence === "application/x-www-form-urlencoded" || essence === "multipart/form-data")
    return readFormBody;
  if (/^(?:application|text)\/(?:x-|.+\+)?json$/.test(essence)) return readJsonBody;
  if (/^(?:application|text)\/(?:.+\+)?xml$/.test(essence) || essence.endsWith("+xml"))
    return readXmlBody;
  // Amazon SNS and others send JSON as text/plain.
  if (essence.startsWith("text/")) return (source) => readObject(source) ?? readTextBody(source);
  return undefined;
}

/** Reads a body as JSON, which most senders send without a type or with one of their own (`application/csp-report`). */
function readUntyped(source: BodySource): unknown {
  if (source.bytes.length === 0) return {};
  const value = readObject(source);
  if (value !== undefined) return value;
  throw errors.unsupportedBody();
}

/** Parses an object or a list in JSON, or returns `undefined` for anything else. Throws if it exceeds the limits. */
function readObject({ bytes, limits }: BodySource): object | undefined {
  if (!/^\s*[[{]/.test(bytes.toString("latin1", 0, 64))) return undefined;
  try {
    return parseJson(bytes, { limits }) as object;
  } catch (error) {
    if (isPorticoError(error) && error.code === "invalid_json") return undefined;
    throw error;
  }
}

/**
 * Returns the field `payload` of a form that has only this field, since GitHub can send its JSON that way. Returns any other
 * body unchanged. The form's reader has already parsed the JSON.
 */
export function unwrapPayload(body: unknown): unknown {
  if (typeof body !== "object" || body === null) return body;
  const { payload, ...otherFields } = body as { payload?: unknown };
  const isWrapped = typeof payload === "object" && payload !== null;
  return isWrapped && Object.keys(otherFields).length === 0 ? payload : body;
}

/** Decodes escapes as bytes of the form's charset. Those of `%`, `&`, `+` and `=` stay escaped, since they separate fields. */
function readUrlEncoded(bytes: Buffer, type: string, limits: BodyLimits): unknown {
  if (!/charset/i.test(type) || /^utf/i.test(encodingOf(bytes, type)))
    return readForm(decodeBody(bytes, type), limits);
  const decodeEscape = (_: string, hex = "25") =>
    /25|26|2b|3d/i.test(hex) ? `%${hex}` : String.fromCharCode(Number.parseInt(hex, 16));
  const raw = bytes.toString("latin1").replace(/%([0-9a-f]{2})?/gi, decodeEscape);
  return readForm(decodeText(Buffer.from(raw, "latin1"), type), limits);
}

function parseEssence(type = ""): string {
  const end = type.indexOf(";");
  return (end < 0 ? type : type.slice(0, end)).trim().toLowerCase();
}

/** Decodes a text in the encoding that its sender or the XML document names. The default is UTF-8. */
function decodeBody(bytes: Buffer, type: string, mayDeclare = false): string {
  const declaredType = mayDeclare || /charset/i.test(type) ? type : "charset=utf-8";
  if (/^utf-?8$/i.test(encodingOf(bytes, declaredType)) && !isUtf8(bytes)) throw errors.notUtf8();
  return decodeText(bytes, declaredType);
}

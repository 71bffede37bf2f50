/** The body of a mapping's request as a value: by what the mapping says of its sender, or else by the content type. */
import { isUtf8 } from "node:buffer";
import { type BodyLimits, isPorticoError, parseJson } from "portico";
import { decodeText, encodingOf } from "portico/strings";
import { errors } from "../errors.ts";
import { readForm, readMultipart } from "./forms.ts";

/** What a mapping may say that its sender sends, whatever the `Content-Type`. */
export type BodyKind = "json" | "form" | "text" | "xml";

export interface BodySource {
  bytes: Buffer;
  /** The request's `Content-Type`. */
  type: string | undefined;
  limits: BodyLimits;
}

type Reader = (source: BodySource) => unknown;

/** Throws 415, 400 `invalid_json`, and 400 `invalid_request_error` for a body that breaks the limits. */
export async function readBody(source: BodySource, kind?: BodyKind): Promise<unknown> {
  if (kind !== undefined) return readers[kind](source);
  const reader = readerOf(source.type);
  return reader ? reader(source) : readUnnamed(source);
}

/** True where the bytes are more than a text in UTF-8, so that the value is kept instead. */
export function isBinary(type: string | undefined, bytes: Buffer): boolean {
  return essenceOf(type) === "multipart/form-data" || !isUtf8(bytes);
}

const readJsonBody: Reader = ({ bytes, type = "", limits }) => {
  const isUtf8Json = !/charset\s*=\s*"?(?!utf-?8)/i.test(type);
  return parseJson(isUtf8Json ? bytes : Buffer.from(textOf(bytes, type)), { limits });
};

const readXmlBody: Reader = async ({ bytes, type = "", limits }) =>
  (await import("./xml.ts")).readXml(textOf(bytes, type, true), limits);

const readTextBody: Reader = ({ bytes, type = "" }) => ({ text: textOf(bytes, type) });

const readFormBody: Reader = ({ bytes, type = "", limits }) =>
  essenceOf(type) === "multipart/form-data"
    ? readMultipart(bytes, type, limits)
    : readUrlEncoded(bytes, type, limits);

const readers: Record<BodyKind, Reader> = {
  json: readJsonBody,
  form: readFormBody,
  text: readTextBody,
  xml: readXmlBody,
};

/** `undefined` for a content type that says nothing about the body. */
function readerOf(type: string | undefined): Reader | undefined {
  const essence = essenceOf(type);
  if (essence === "application/x-www-form-urlencoded" || essence === "multipart/form-data")
    return readFormBody;
  if (/^(?:application|text)\/(?:x-|.+\+)?json$/.test(essence)) return readJsonBody;
  if (/^(?:application|text)\/(?:.+\+)?xml$/.test(essence) || essence.endsWith("+xml"))
    return readXmlBody;
  // Amazon SNS and others send JSON as text/plain.
  if (essence.startsWith("text/")) return (source) => readObject(source) ?? readTextBody(source);
  return undefined;
}

/** Senders that name no type, or one of their own (`application/csp-report`), mostly send JSON. */
function readUnnamed(source: BodySource): unknown {
  if (source.bytes.length === 0) return {};
  const value = readObject(source);
  if (value !== undefined) return value;
  throw errors.unsupportedBody();
}

/** An object or a list in JSON; `undefined` where the bytes are something else. Throws for one that breaks the limits. */
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
 * GitHub can send a form with one field `payload` that holds JSON, which the form's reader has read already: what the
 * form means is that JSON. Returns the body itself where it is no such form.
 */
export function unwrapPayload(body: unknown): unknown {
  if (typeof body !== "object" || body === null) return body;
  const { payload, ...others } = body as { payload?: unknown };
  const isWrapped = typeof payload === "object" && payload !== null;
  return isWrapped && Object.keys(others).length === 0 ? payload : body;
}

/** Escapes are bytes of the form's own charset; those of `%`, `&`, `+` and `=`, which it is taken apart by, stay escaped. */
function readUrlEncoded(bytes: Buffer, type: string, limits: BodyLimits): unknown {
  if (!/charset/i.test(type) || /^utf/i.test(encodingOf(bytes, type)))
    return readForm(textOf(bytes, type), limits);
  const byte = (_: string, hex = "25") =>
    /25|26|2b|3d/i.test(hex) ? `%${hex}` : String.fromCharCode(Number.parseInt(hex, 16));
  const raw = bytes.toString("latin1").replace(/%([0-9a-f]{2})?/gi, byte);
  return readForm(decodeText(Buffer.from(raw, "latin1"), type), limits);
}

function essenceOf(type = ""): string {
  const end = type.indexOf(";");
  return (end < 0 ? type : type.slice(0, end)).trim().toLowerCase();
}

/** Decodes a text in the encoding that its sender names, or an XML document itself. The default is UTF-8. */
function textOf(bytes: Buffer, type: string, declares = false): string {
  const declaredType = declares || /charset/i.test(type) ? type : "charset=utf-8";
  if (/^utf-?8$/i.test(encodingOf(bytes, declaredType)) && !isUtf8(bytes)) throw errors.notUtf8();
  return decodeText(bytes, declaredType);
}

/** The body of a mapping's request as a value, by its content type. */
import { isUtf8 } from "node:buffer";
import {
  type BodyLimits,
  type Call,
  checkJsonType,
  isPorticoError,
  parseJson,
  PorticoError,
} from "portico";
import { decodeText, encodingOf } from "portico/strings";
import { readForm, readMultipart } from "./forms.ts";

/** Throws 415, 400 `invalid_json`, 400 `invalid_request_error`. */
export async function readContent(call: Call): Promise<unknown> {
  const type = call.req.headers["content-type"];
  return readerOf(type) === undefined
    ? readJson(call).catch(refuse)
    : readBytes(await call.body(), type, call.limits);
}

async function readJson(call: Call): Promise<unknown> {
  checkJsonType(call.req);
  return parseJson(await call.body(), { limits: call.limits, exact: true });
}

function refuse(error: unknown): never {
  if (!isPorticoError(error) || error.code !== "unsupported_media_type") throw error;
  throw new PorticoError(
    error.code,
    "Send JSON, a form (multipart too), XML or text, and say which by `Content-Type`.",
  );
}

/** The same for a body that has been read already. Throws 400 for one that breaks the limits. */
export async function readBytes(
  bytes: Buffer,
  type: string | undefined,
  limits: BodyLimits,
): Promise<unknown> {
  const read = readerOf(type);
  return read ? read(bytes, type ?? "", limits) : parseJson(bytes, { limits, exact: true });
}

/** True where the bytes are more than a text in UTF-8, so that the value is kept instead. */
export function isBinary(type: string | undefined, bytes: Buffer): boolean {
  return essenceOf(type) === "multipart/form-data" || !isUtf8(bytes);
}

type Reader = (bytes: Buffer, type: string, limits: BodyLimits) => unknown;

/** `undefined`: JSON in UTF-8, or what is refused as being none. */
function readerOf(type = ""): Reader | undefined {
  const essence = essenceOf(type);
  if (essence === "application/x-www-form-urlencoded") return readUrlEncoded;
  if (essence === "multipart/form-data") return readMultipart;
  if (essence === "application/xml" || essence === "text/xml" || essence.endsWith("+xml"))
    return async (bytes, type, limits) =>
      (await import("./xml.ts")).readXml(textOf(bytes, type, true), limits);
  if (essence.startsWith("text/")) return (bytes, type) => ({ text: textOf(bytes, type) });
  if (/^application\/(.+\+)?json$/.test(essence) && /charset\s*=\s*"?(?!utf-?8)/i.test(type))
    return (bytes, type, limits) =>
      parseJson(Buffer.from(textOf(bytes, type)), { limits, exact: true });
  return undefined;
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

/** In the encoding that its sender names, or an XML document itself; UTF-8 where nothing is said. */
function textOf(bytes: Buffer, type: string, declares = false): string {
  const said = declares || /charset/i.test(type) ? type : "charset=utf-8";
  if (/^utf-?8$/i.test(encodingOf(bytes, said)) && !isUtf8(bytes))
    throw new PorticoError(
      "invalid_request_error",
      "The body is not valid UTF-8: name its charset in `Content-Type`.",
    );
  return decodeText(bytes, said);
}

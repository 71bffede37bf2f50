/** The body of a mapping's request as a value, by its content type. */
import { isUtf8 } from "node:buffer";
import { type Call, isPorticoError, parseJson, PorticoError } from "portico";
import { readForm, readMultipart } from "./forms.ts";

/** Throws 415, 400 `invalid_json`, 400 `invalid_request_error`. */
export async function readContent(call: Call): Promise<unknown> {
  const type = call.req.headers["content-type"];
  return readerOf(type) === undefined ? call.json().catch(refuse) : readBytes(await call.body(), type);
}

function refuse(error: unknown): never {
  if (!isPorticoError(error) || error.code !== "unsupported_media_type") throw error;
  throw new PorticoError(
    error.code,
    "Send JSON, a form (multipart too), XML or text, and say which by `Content-Type`.",
  );
}

/** The same for a body that has been read already. */
export async function readBytes(bytes: Buffer, type: string | undefined): Promise<unknown> {
  const read = readerOf(type);
  return read ? read(bytes, type ?? "") : parseJson(bytes);
}

/** True where the bytes are more than a text, so that the value is kept instead. */
export function isBinary(type: string | undefined): boolean {
  return essenceOf(type) === "multipart/form-data";
}

type Reader = (bytes: Buffer, type: string) => unknown;

/** `undefined`: JSON, or what is refused as being none. */
function readerOf(type: string | undefined): Reader | undefined {
  const essence = essenceOf(type);
  if (essence === "application/x-www-form-urlencoded") return (bytes) => readForm(textOf(bytes));
  if (essence === "multipart/form-data") return readMultipart;
  if (essence === "application/xml" || essence === "text/xml" || essence.endsWith("+xml"))
    return async (bytes) => (await import("./xml.ts")).readXml(textOf(bytes));
  if (essence.startsWith("text/")) return (bytes) => ({ text: textOf(bytes) });
  return undefined;
}

function essenceOf(type = ""): string {
  const end = type.indexOf(";");
  return (end < 0 ? type : type.slice(0, end)).trim().toLowerCase();
}

function textOf(bytes: Buffer): string {
  if (!isUtf8(bytes)) throw new PorticoError("invalid_request_error", "The body is not valid UTF-8.");
  const text = bytes.toString("utf8");
  return text.startsWith("\ufeff") ? text.slice(1) : text;
}

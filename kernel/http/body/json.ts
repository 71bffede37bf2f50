/** Bodies in JSON. */
import { isAscii, isUtf8 } from "node:buffer";
import type { IncomingMessage } from "node:http";
import { PorticoError } from "../../errors.ts";
import { hasBody } from "./read.ts";

const MAX_DEPTH = 1000;

/** Throws `unsupported_media_type` unless the body is announced as JSON in UTF-8. */
export function checkJsonType(req: IncomingMessage): void {
  const type = req.headers["content-type"];
  if (type === "application/json") return;
  if (type === undefined && !hasBody(req)) return;
  const [essence = "", ...parameters] = (type ?? "").toLowerCase().split(";");
  if (!/^\s*application\/(json|[\w.!#$&^-]+\+json)\s*$/.test(essence))
    throw new PorticoError(
      "unsupported_media_type",
      "Send the body as JSON with `Content-Type: application/json`.",
    );
  for (const parameter of parameters) {
    const charset = /^\s*charset\s*=\s*"?([^"\s]*)"?\s*$/.exec(parameter)?.[1];
    if (charset !== undefined && charset !== "utf-8" && charset !== "utf8")
      throw new PorticoError(
        "unsupported_media_type",
        "JSON is taken in UTF-8 only: leave the charset out.",
      );
  }
}

/**
 * The value of a JSON text in UTF-8, with or without a byte order mark. Keys called `__proto__` are left out.
 * Throws `invalid_json`; the message tells the place, never the text around it, which may be a secret.
 * `latin1`: the bytes as a text, a character each, where that is there already.
 */
export function parseJson(bytes: Buffer, { latin1 }: { latin1?: string } = {}): unknown {
  if (bytes.length === 0) throw invalid("The request body is empty. Send a JSON value.");
  const text = latin1 !== undefined && isAscii(bytes) ? latin1 : decoded(bytes);
  let value: unknown;
  try {
    value = JSON.parse(
      text,
      hasProtoKey(text) ? (key, one) => (key === "__proto__" ? undefined : one) : undefined,
    );
  } catch (error) {
    if (error instanceof RangeError) throw tooDeep();
    const place = /at position (\d+)/.exec((error as Error).message)?.[1];
    throw invalid(
      `The request body is not valid JSON${place ? `: look at character ${place}` : ""}.`,
    );
  }
  // Nesting costs two bytes a level, so a short text cannot be too deep.
  if (bytes.length > MAX_DEPTH * 2) checkDepth(value);
  return value;
}

function decoded(bytes: Buffer): string {
  if (!isUtf8(bytes)) throw invalid("The request body is not valid UTF-8.");
  const marked = bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf;
  return bytes.toString("utf8", marked ? 3 : 0);
}

const PROTO_KEY =
  /"(?:_|\\u005f){2}(?:p|\\u0070)(?:r|\\u0072)(?:o|\\u006f)(?:t|\\u0074)(?:o|\\u006f)(?:_|\\u005f){2}"/i;

function hasProtoKey(text: string): boolean {
  // the shorter one is quicker to miss: bodies are full of quotes
  if (text.includes("__proto__") && text.includes('"__proto__"')) return true;
  return text.includes("\\u00") && PROTO_KEY.test(text);
}

/** Whoever walks the value next may do so recursively; a stack overflow must not be the first to notice. */
function checkDepth(root: unknown): void {
  let level: unknown[] = [root];
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > MAX_DEPTH) throw tooDeep();
    const next: unknown[] = [];
    for (const value of level) {
      if (typeof value !== "object" || value === null) continue;
      for (const child of Array.isArray(value) ? value : Object.values(value)) {
        if (typeof child === "object" && child !== null) next.push(child);
      }
    }
    level = next;
  }
}

const tooDeep = (): PorticoError =>
  invalid(`The request body is nested more than ${MAX_DEPTH} levels deep.`);

const invalid = (message: string): PorticoError =>
  new PorticoError("invalid_json", message, { type: "invalid_request_error" });

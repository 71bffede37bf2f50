/** Parses forms into objects. A name that occurs several times has a list of values. */
import { type BodyLimits, isPorticoError, limitError, parseJson } from "portico";
import { errors } from "../errors.ts";

/** Parses a URL-encoded form, and a `payload` that is JSON (GitHub, Slack). Throws 400 for a form that exceeds the limits. */
export function readForm(text: string, limits: BodyLimits): Record<string, unknown> {
  checkCount(text, "&", limits);
  return collectFields(new URLSearchParams(text), limits);
}

/** Parses `multipart/form-data`. A file becomes `{filename, type, bytes, base64}`. */
export async function readMultipart(
  body: Buffer,
  type: string,
  limits: BodyLimits,
): Promise<Record<string, unknown>> {
  checkParts(body, type, limits);
  let form: FormData;
  try {
    // This uses the parser of fetch, which is undici's.
    form = await new Response(body, { headers: { "content-type": type } }).formData();
  } catch (cause) {
    throw errors.unreadableMultipart({ cause });
  }
  const fields = [...form].map(async ([name, value]): Promise<[string, unknown]> => {
    if (typeof value === "string") return [name, value];
    const bytes = Buffer.from(await value.arrayBuffer());
    return [
      name,
      {
        filename: value.name,
        type: value.type,
        bytes: bytes.length,
        base64: bytes.toString("base64"),
      },
    ];
  });
  return collectFields(await Promise.all(fields), limits);
}

/** The limit for the headers of one part, which is more than any sender needs. */
const MAX_PART_HEAD = 16 * 1024;

/** Counts the parts, and measures their heads, before the form is parsed. */
function checkParts(body: Buffer, type: string, limits: BodyLimits): void {
  const match = /;\s*boundary=(?:"([^"]{1,200})"|([^\s;"]{1,200}))/i.exec(type);
  const boundary = match?.[1] ?? match?.[2];
  if (boundary === undefined) throw errors.unreadableMultipart();
  const delimiter = Buffer.from(`--${boundary}`, "latin1");
  let parts = 0;
  for (let at = body.indexOf(delimiter); at !== -1; ) {
    // The last delimiter begins no part.
    if (++parts > limits.maxMembers + 1) throw limitError("maxMembers", limits);
    const head = body.subarray(at, at + delimiter.length + MAX_PART_HEAD);
    const next = body.indexOf(delimiter, at + delimiter.length);
    if (next !== -1 && !head.includes("\r\n\r\n"))
      throw errors.partHeadTooLarge({ bytes: MAX_PART_HEAD });
    at = next;
  }
}

function checkCount(text: string, separator: string, limits: BodyLimits): void {
  let count = 1;
  for (let at = text.indexOf(separator); at !== -1; at = text.indexOf(separator, at + 1))
    if (++count > limits.maxMembers) throw limitError("maxMembers", limits);
}

function collectFields(
  pairs: Iterable<[string, unknown]>,
  limits: BodyLimits,
): Record<string, unknown> {
  const fields = new Map<string, unknown[]>();
  for (const [name, value] of pairs) {
    if (name === "__proto__") continue;
    const values = fields.get(name);
    if (values) values.push(value);
    else fields.set(name, [value]);
  }
  const entries = [...fields].map(([name, values]) => {
    if (values.length > 1) return [name, values];
    return [name, name === "payload" ? readPayload(values[0], limits) : values[0]];
  });
  return Object.fromEntries(entries);
}

/** Parses a field that holds JSON, and returns any other value unchanged. */
function readPayload(value: unknown, limits: BodyLimits): unknown {
  if (typeof value !== "string" || !/^\s*[[{]/.test(value)) return value;
  try {
    return parseJson(Buffer.from(value), { limits });
  } catch (error) {
    if (isPorticoError(error) && error.code === "invalid_json") return value;
    throw error;
  }
}

/** Forms: name → value, a list where a name comes several times. */
import { parseJson, PorticoError } from "portico";

/** A `payload` that is JSON (GitHub, Slack) is taken apart. */
export function readForm(text: string): Record<string, unknown> {
  return collected(new URLSearchParams(text));
}

/** The fields of `multipart/form-data`; a file as `{filename, type, bytes, base64}`. */
export async function readMultipart(body: Buffer, type: string): Promise<Record<string, unknown>> {
  let form: FormData;
  try {
    // undici's reader, the one of fetch
    form = await new Response(body, { headers: { "content-type": type } }).formData();
  } catch (cause) {
    throw new PorticoError(
      "invalid_request_error",
      "The body is not the multipart form that it says it is.",
      {
        cause,
      },
    );
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
  return collected(await Promise.all(fields));
}

function collected(pairs: Iterable<[string, unknown]>): Record<string, unknown> {
  const fields = new Map<string, unknown[]>();
  for (const [name, value] of pairs) {
    if (name === "__proto__") continue;
    const values = fields.get(name);
    if (values) values.push(value);
    else fields.set(name, [value]);
  }
  const entries = [...fields].map(([name, values]) => {
    const [value] = values;
    if (values.length > 1) return [name, values];
    return [
      name,
      name === "payload" && typeof value === "string" && /^\s*[[{]/.test(value)
        ? parsed(value)
        : value,
    ];
  });
  return Object.fromEntries(entries);
}

function parsed(text: string): unknown {
  try {
    return parseJson(Buffer.from(text));
  } catch {
    return text;
  }
}

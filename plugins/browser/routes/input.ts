/** One input from path, query and body: a query holds only text, so numbers and booleans are read from it by schema. */
import type { TSchema } from "portico";

interface Shape extends TSchema {
  type?: string;
  anyOf?: Shape[];
}

const kinds = (schema: Shape): string[] => (schema.anyOf ?? [schema]).map(({ type }) => type ?? "");

/** `"true"` → true, `"12"` → 12, where the schema takes no text there. Anything else stays, for the check to refuse. */
function fromText(text: string, schema: Shape): unknown {
  const allowed = kinds(schema);
  if (allowed.includes("string")) return text;
  if (allowed.includes("boolean")) {
    if (/^(true|1|yes|on|)$/i.test(text)) return true;
    if (/^(false|0|no|off)$/i.test(text)) return false;
  }
  if ((allowed.includes("integer") || allowed.includes("number")) && /^-?\d+(\.\d+)?$/.test(text))
    return Number(text);
  return text;
}

/** The body wins over the query, the path over both. */
export function inputOf(
  properties: Record<string, TSchema>,
  query: Readonly<Record<string, string>>,
  body: Record<string, unknown> | undefined,
  params: Readonly<Record<string, string>>,
): Record<string, unknown> {
  const input: Record<string, unknown> = {};
  for (const [name, text] of Object.entries(query)) {
    const schema = properties[name];
    if (schema !== undefined) input[name] = fromText(text, schema as Shape);
  }
  return { ...input, ...body, ...params };
}

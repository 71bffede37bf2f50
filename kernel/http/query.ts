/** A query holds only text: numbers, booleans and lists are read from it as a schema asks for them. */
import type { TSchema } from "@sinclair/typebox";

type Kind = string | undefined;

/** The types that a schema allows, those of its variants too. */
function kindsOf(schema: TSchema): readonly Kind[] {
  const variants = schema["anyOf"] as readonly TSchema[] | undefined;
  return (variants ?? [schema]).map((variant) => variant["type"] as Kind);
}

/** `"true"` → true, `"12"` → 12, where the schema takes no text there. Anything else stays, for the check to refuse. */
function readText(text: string, schema: TSchema): unknown {
  const kinds = kindsOf(schema);
  if (kinds.includes("string")) return text;
  if (kinds.includes("boolean")) {
    if (/^(true|1|yes|on|)$/i.test(text)) return true;
    if (/^(false|0|no|off)$/i.test(text)) return false;
  }
  const isNumeric = kinds.includes("integer") || kinds.includes("number");
  return isNumeric && /^-?\d+(\.\d+)?$/.test(text) ? Number(text) : text;
}

/** The members of a query that an object schema names. Of a name that is there twice the first counts, but in lists. */
export function readQuery(query: URLSearchParams, schema: TSchema): Record<string, unknown> {
  const fields = (schema["properties"] ?? {}) as Record<string, TSchema>;
  const values: Record<string, unknown> = {};
  for (const [name, field] of Object.entries(fields)) {
    const texts = query.getAll(name);
    if (texts.length === 0) continue;
    const isList = field["type"] === "array";
    const items = isList ? (field["items"] as TSchema) : field;
    const read = texts.map((text) => readText(text, items));
    values[name] = isList ? read : read[0];
  }
  return values;
}

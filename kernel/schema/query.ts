/** Reads queries, which contain only text: converts it to numbers, booleans and lists as a schema requires. */
import type { TSchema } from "@sinclair/typebox";
import type { QueryParameters } from "../contract/index.ts";
import { ExactNumber } from "../text/exact-json.ts";

type Kind = string | undefined;

/** The types that a schema allows, including those of its variants. */
export function listKinds(schema: TSchema): readonly Kind[] {
  const variants = schema["anyOf"] as readonly TSchema[] | undefined;
  return (variants ?? [schema]).map((variant) => variant["type"] as Kind);
}

/**
 * Converts `"true"` to true and `"12"` to 12, unless the schema allows text. Other text stays unchanged, and the check
 * refuses it.
 */
function readText(text: string, schema: TSchema): unknown {
  const kinds = listKinds(schema);
  if (kinds.includes("string")) return text;
  if (kinds.includes("boolean")) {
    if (/^(true|1|yes|on|)$/i.test(text)) return true;
    if (/^(false|0|no|off)$/i.test(text)) return false;
  }
  const isNumeric = kinds.includes("integer") || kinds.includes("number");
  return isNumeric && /^-?\d+(\.\d+)?$/.test(text) ? readNumber(text) : text;
}

/**
 * Reads a number. A whole number that a double cannot hold keeps its digits, as in a JSON body, and the check refuses
 * it.
 */
function readNumber(text: string): unknown {
  const number = Number(text);
  const isRounded = !text.includes(".") && !Number.isSafeInteger(number);
  return isRounded ? new ExactNumber(text) : number;
}

function readTexts(query: QueryParameters, name: string): readonly string[] {
  if (query instanceof URLSearchParams) return query.getAll(name);
  const value = Object.hasOwn(query, name) ? query[name] : undefined;
  if (value === undefined) return [];
  return typeof value === "string" ? [value] : value;
}

/**
 * Returns the members of a query that an object schema names. If a name occurs several times, a list takes all values
 * and any other member the first.
 */
export function readQuery(query: QueryParameters, schema: TSchema): Record<string, unknown> {
  const fields = (schema["properties"] ?? {}) as Record<string, TSchema>;
  const values: Record<string, unknown> = {};
  for (const [name, field] of Object.entries(fields)) {
    const texts = readTexts(query, name);
    if (texts.length === 0) continue;
    const isList = field["type"] === "array";
    const items = isList ? (field["items"] as TSchema) : field;
    const converted = texts.map((text) => readText(text, items));
    values[name] = isList ? converted : converted[0];
  }
  return values;
}

/** Adapts JSON Schemas to constrained decoders. */

const UNSUPPORTED_KEYWORDS = [
  "minimum",
  "maximum",
  "exclusiveMinimum",
  "exclusiveMaximum",
  "multipleOf",
  "minLength",
  "maxLength",
  "maxItems",
  "uniqueItems",
  "minProperties",
  "maxProperties",
];

/**
 * Returns the schema with closed objects and without the limits that Claude's decoder refuses. The description names each
 * limit that was removed, so that the model still sees it. A schema that needs no change is returned equal.
 */
export function strictSchema(schema: Record<string, unknown>): Record<string, unknown> {
  const strict: Record<string, unknown> = {};
  const removed: string[] = [];
  for (const [key, value] of Object.entries(schema)) {
    if (UNSUPPORTED_KEYWORDS.includes(key) && typeof value !== "object")
      removed.push(`${key}: ${String(value)}`);
    else if (key === "minItems" && typeof value === "number" && value > 1)
      removed.push(`minItems: ${value}`);
    else strict[key] = convertKeyword(key, value);
  }
  if (removed.length > 0)
    strict.description = [schema.description, removed.join(", ")].filter(Boolean).join("\n");
  const isObject =
    schema.type === "object" || (schema.type === undefined && schema.properties !== undefined);
  if (isObject && strict.additionalProperties === undefined) strict.additionalProperties = false;
  return strict;
}

function convertKeyword(key: string, value: unknown): unknown {
  if (key === "properties" || key === "$defs" || key === "definitions") {
    if (!isRecord(value)) return value;
    return Object.fromEntries(
      Object.entries(value).map(([name, item]) => [
        name,
        isRecord(item) ? strictSchema(item) : item,
      ]),
    );
  }
  if (key === "items" || key === "anyOf" || key === "allOf" || key === "oneOf") {
    if (Array.isArray(value))
      return value.map((item) => (isRecord(item) ? strictSchema(item) : item));
    return isRecord(value) ? strictSchema(value) : value;
  }
  return value;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

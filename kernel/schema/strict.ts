/** One rule for the configuration and for request bodies: members that a schema does not name are refused. */
import { Kind, type TSchema } from "@sinclair/typebox";
import { isSchema } from "./defaults.ts";

/**
 * A copy of a schema whose objects, at any depth, take only the members that they name. One that says
 * `additionalProperties` is left as it is.
 */
export function strict(schema: TSchema): TSchema {
  // Each part of an intersection describes only some keys of the object, so only the intersection checks for unknown keys.
  if (schema[Kind] === "Intersect") return { unevaluatedProperties: false, ...schema };
  // A larger number has lost its last digits, and no database accepts it as an integer.
  if (schema[Kind] === "Integer") return { maximum: Number.MAX_SAFE_INTEGER, ...schema };
  const copy = mapBelow(schema, strict);
  return isMap(schema)
    ? { ...copy, additionalProperties: copy["additionalProperties"] ?? false }
    : copy;
}

export function isMap(schema: TSchema): boolean {
  return schema[Kind] === "Object" || schema[Kind] === "Record";
}

/** A copy of the schema, with `change` applied to each schema directly below it. */
function mapBelow(schema: TSchema, change: (below: TSchema) => TSchema): TSchema {
  const changed = (below: unknown) => (isSchema(below) ? change(below) : below);
  const copy: Record<string, unknown> & TSchema = { ...schema };
  for (const key of ["items", "anyOf", "allOf", "additionalProperties"]) {
    const below: unknown = schema[key];
    if (below !== undefined)
      Object.assign(copy, { [key]: Array.isArray(below) ? below.map(changed) : changed(below) });
  }
  for (const key of ["properties", "patternProperties"]) {
    const members = Object.entries((schema[key] ?? {}) as object).map(([name, below]) => [
      name,
      changed(below),
    ]);
    if (schema[key]) Object.assign(copy, { [key]: Object.fromEntries(members) });
  }
  return copy;
}

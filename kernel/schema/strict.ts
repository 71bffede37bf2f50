/** Makes schemas strict, for the configuration and request bodies alike: they refuse members that they do not name. */
import { Kind, type TSchema } from "@sinclair/typebox";
import { isSchema } from "./defaults.ts";

/**
 * Returns a copy of a schema whose objects, at any depth, accept only the members that they name. A schema with
 * `additionalProperties` stays unchanged.
 */
export function strict(schema: TSchema): TSchema {
  // Each part of an intersection describes only some keys of the object, so only the intersection checks for unknown keys.
  if (schema[Kind] === "Intersect") return { unevaluatedProperties: false, ...schema };
  // A larger number has lost digits, and no database accepts it as an integer.
  if (schema[Kind] === "Integer") return { maximum: Number.MAX_SAFE_INTEGER, ...schema };
  const copy = mapBelow(schema, strict);
  return isMap(schema)
    ? { ...copy, additionalProperties: copy["additionalProperties"] ?? false }
    : copy;
}

export function isMap(schema: TSchema): boolean {
  return schema[Kind] === "Object" || schema[Kind] === "Record";
}

/** Returns a copy of the schema with `change` applied to each schema directly below it. */
function mapBelow(schema: TSchema, change: (below: TSchema) => TSchema): TSchema {
  const changeIfSchema = (below: unknown) => (isSchema(below) ? change(below) : below);
  const copy: Record<string, unknown> & TSchema = { ...schema };
  for (const key of ["items", "anyOf", "allOf", "additionalProperties"]) {
    const below: unknown = schema[key];
    if (below !== undefined)
      Object.assign(copy, {
        [key]: Array.isArray(below) ? below.map(changeIfSchema) : changeIfSchema(below),
      });
  }
  for (const key of ["properties", "patternProperties"]) {
    const members = Object.entries((schema[key] ?? {}) as object).map(([name, below]) => [
      name,
      changeIfSchema(below),
    ]);
    if (schema[key]) Object.assign(copy, { [key]: Object.fromEntries(members) });
  }
  return copy;
}

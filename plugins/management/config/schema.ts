/** The schema of the configuration file, as plain JSON Schema for editors. */
import type { TSchema } from "portico";

/** Returns the schema without `required` for keys that have a default or consist of such keys. */
export function printable(schema: TSchema): object {
  return {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    title: "Portico configuration",
    ...(JSON.parse(JSON.stringify(schema), (_key, value) => loosen(value as Schema)) as object),
  };
}

interface Schema {
  type?: string;
  default?: unknown;
  properties?: Record<string, Schema>;
  required?: string[] | undefined;
}

/**
 * Removes keys that have defaults from `required`. Nested schemas have been loosened before, since the reviver runs bottom
 * up.
 */
function loosen(schema: Schema): Schema {
  if (!Array.isArray(schema?.required)) return schema;
  const required = schema.required.filter((key) => !isFillable(schema.properties?.[key]));
  return { ...schema, required: required.length > 0 ? required : undefined };
}

function isFillable(schema: Schema | undefined): boolean {
  return (
    schema?.default !== undefined || (schema?.type === "object" && schema.required === undefined)
  );
}

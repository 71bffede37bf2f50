/** What a person may write into the configuration, as plain JSON Schema for an editor. */
import type { TSchema } from "portico";

/** Keys that have a default, or are made of such keys, are not required. */
export function printable(schema: TSchema): object {
  return {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    title: "Portico configuration",
    ...(JSON.parse(JSON.stringify(schema), (_key, below) => loosen(below as Schema)) as object),
  };
}

interface Schema {
  type?: string;
  default?: unknown;
  properties?: Record<string, Schema>;
  required?: string[] | undefined;
}

/** What lies below has been loosened before. */
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

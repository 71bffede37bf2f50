import { Kind, OptionalKind, type TSchema } from "@sinclair/typebox";
import { Errors } from "@sinclair/typebox/errors";
import { isRecord } from "../text/key-path.ts";

type FillMode = "sections" | "nulls";

/**
 * Returns the value with its schema's defaults filled in. Parts that need none are returned as they are; nothing is
 * changed in place. With `sections`, an absent required object is created from its members' defaults; with `nulls`, an
 * optional `null` counts as absent.
 *
 * This is our own code, because TypeBox's `Default` changes the value in place, creates no required objects, and visits
 * every member twice on each level: 64 times at the sixth.
 */
export function fillDefaults(schema: TSchema, input: unknown, also?: FillMode): unknown {
  const value = input === undefined ? getDefault(schema, also) : input;
  if (typeof value !== "object" || value === null || !(also || mayFill(schema))) return value;
  if (schema["anyOf"]) return fillVariant(schema["anyOf"] as TSchema[], value, also);
  if (schema["allOf"])
    return (schema["allOf"] as TSchema[]).reduce<unknown>(
      (filled, part) => fillDefaults(part, filled, also),
      value,
    );
  if (Array.isArray(value)) return fillItems(schema, value, also);
  return fillMembers(schema, value as Record<string, unknown>, also);
}

function getDefault(schema: TSchema, also: FillMode | undefined): unknown {
  if (schema["default"] !== undefined) return structuredClone(schema["default"]);
  const isSection = /^(Object|Record)$/.test(schema[Kind]) && !(OptionalKind in schema);
  return also === "sections" && isSection ? {} : undefined;
}

/** Fills in the defaults of the first variant for which the value is valid then. */
function fillVariant(
  variants: readonly TSchema[],
  value: object,
  also: FillMode | undefined,
): unknown {
  for (const variant of variants) {
    const filled = fillDefaults(variant, value, also);
    if (Errors(variant, [], filled).First() === undefined) return filled;
  }
  return value;
}

function fillItems(schema: TSchema, value: unknown[], also: FillMode | undefined): unknown[] {
  const items = schema["items"] as TSchema | TSchema[] | undefined;
  if (items === undefined) return value;
  const schemaAt = (i: number) => (Array.isArray(items) ? items[i] : items);
  const filled = value.map((item, i) =>
    schemaAt(i) ? fillDefaults(schemaAt(i)!, item, also) : item,
  );
  return filled.some((item, i) => item !== value[i]) ? filled : value;
}

function fillMembers(
  schema: TSchema,
  value: Record<string, unknown>,
  also: FillMode | undefined,
): Record<string, unknown> {
  let copy: Record<string, unknown> | undefined;
  const fillMember = (key: string, memberSchema: TSchema) => {
    const old = Object.hasOwn(value, key) ? value[key] : undefined;
    const isAbsent = also === "nulls" && isUnset(memberSchema, old);
    const filled = fillDefaults(memberSchema, isAbsent ? undefined : old, also);
    if (filled === old) return;
    copy ??= { ...value };
    if (filled === undefined && old === null) delete copy[key];
    else copy[key] = filled;
  };
  const properties = (schema["properties"] ?? {}) as Record<string, TSchema>;
  for (const key of Object.keys(properties)) fillMember(key, properties[key]!);
  const rest = mapValueSchema(schema);
  if (rest)
    for (const key of Object.keys(value))
      if (!Object.hasOwn(properties, key) && key !== "__proto__") fillMember(key, rest);
  return copy ?? value;
}

/**
 * Whether a value is `null` for a member that may be absent but not null: some clients write null for absent members.
 */
function isUnset(schema: TSchema, value: unknown): boolean {
  const mayBeAbsent = OptionalKind in schema || schema["default"] !== undefined;
  return value === null && mayBeAbsent && Errors(schema, [], null).First() !== undefined;
}

/** Returns the schema of a map's values: of a `Type.Record`, or of the keys that an object does not name. */
export function mapValueSchema(schema: TSchema): TSchema | undefined {
  const rest = schema["additionalProperties"];
  if (isSchema(rest)) return rest;
  const patterns = schema["patternProperties"] as Record<string, TSchema> | undefined;
  return patterns && Object.values(patterns)[0];
}

const mayFillCache = new WeakMap<TSchema, boolean>();

// Request bodies can be large while most of their schema has no default, so whole subtrees are skipped.
function mayFill(schema: TSchema): boolean {
  const cachedResult = mayFillCache.get(schema);
  if (cachedResult !== undefined) return cachedResult;
  mayFillCache.set(schema, false); // a recursive schema ends here
  const result = schema["default"] !== undefined || schemasBelow(schema).some(mayFill);
  mayFillCache.set(schema, result);
  return result;
}

function schemasBelow(schema: TSchema): TSchema[] {
  const members = Object.values((schema["properties"] ?? {}) as Record<string, unknown>);
  const parts: unknown[] = [
    schema["items"],
    schema["anyOf"],
    schema["allOf"],
    members,
    mapValueSchema(schema),
  ];
  return parts.flat().filter(isSchema);
}

/** Whether a part of a schema is a schema itself, not a list or `true`. */
export const isSchema = isRecord as (part: unknown) => part is TSchema;

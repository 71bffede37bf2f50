import { Kind, OptionalKind, type TSchema } from "@sinclair/typebox";
import { Errors } from "@sinclair/typebox/errors";
import { isRecord } from "../text/key-path.ts";

type Also = "sections" | "nulls";

/**
 * The value with its schema's defaults filled in. What needs nothing is returned as it is; nothing is changed in place.
 * With `sections`, an absent required object is made from its members' defaults; with `nulls`, an optional `null` is absent.
 *
 * Ours, because TypeBox's `Default` changes the value in place, makes no required object, and visits every member twice
 * on each level: 64 times at the sixth.
 */
export function fillDefaults(schema: TSchema, input: unknown, also?: Also): unknown {
  const value = input === undefined ? defaultOf(schema, also) : input;
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

function defaultOf(schema: TSchema, also: Also | undefined): unknown {
  if (schema["default"] !== undefined) return structuredClone(schema["default"]);
  const isSection = /^(Object|Record)$/.test(schema[Kind]) && !(OptionalKind in schema);
  return also === "sections" && isSection ? {} : undefined;
}

/** With the defaults of the first variant that the value fits then. */
function fillVariant(variants: readonly TSchema[], value: object, also: Also | undefined): unknown {
  for (const variant of variants) {
    const filled = fillDefaults(variant, value, also);
    if (Errors(variant, [], filled).First() === undefined) return filled;
  }
  return value;
}

function fillItems(schema: TSchema, value: unknown[], also: Also | undefined): unknown[] {
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
  also: Also | undefined,
): Record<string, unknown> {
  let copy: Record<string, unknown> | undefined;
  const member = (key: string, memberSchema: TSchema) => {
    const old = Object.hasOwn(value, key) ? value[key] : undefined;
    const isAbsent = also === "nulls" && isUnset(memberSchema, old);
    const filled = fillDefaults(memberSchema, isAbsent ? undefined : old, also);
    if (filled === old) return;
    copy ??= { ...value };
    if (filled === undefined && old === null) delete copy[key];
    else copy[key] = filled;
  };
  const known = (schema["properties"] ?? {}) as Record<string, TSchema>;
  for (const key of Object.keys(known)) member(key, known[key]!);
  const rest = mapValueSchema(schema);
  if (rest)
    for (const key of Object.keys(value))
      if (!Object.hasOwn(known, key) && key !== "__proto__") member(key, rest);
  return copy ?? value;
}

/** `null` for a member that may be absent, and cannot be null: clients write one for what they leave out. */
function isUnset(schema: TSchema, value: unknown): boolean {
  const mayBeAbsent = OptionalKind in schema || schema["default"] !== undefined;
  return value === null && mayBeAbsent && Errors(schema, [], null).First() !== undefined;
}

/** The schema of a map's values: of a `Type.Record`, or of the keys an object does not name. */
export function mapValueSchema(schema: TSchema): TSchema | undefined {
  const rest = schema["additionalProperties"];
  if (isSchema(rest)) return rest;
  const patterns = schema["patternProperties"] as Record<string, TSchema> | undefined;
  return patterns && Object.values(patterns)[0];
}

const mayFillCache = new WeakMap<TSchema, boolean>();

// Bodies of requests can be large while most of their schema has no default: whole subtrees are passed over.
function mayFill(schema: TSchema): boolean {
  const known = mayFillCache.get(schema);
  if (known !== undefined) return known;
  mayFillCache.set(schema, false); // a recursive schema ends here
  const may = schema["default"] !== undefined || schemasBelow(schema).some(mayFill);
  mayFillCache.set(schema, may);
  return may;
}

function schemasBelow(schema: TSchema): TSchema[] {
  const members = Object.values((schema["properties"] ?? {}) as Record<string, unknown>);
  const below: unknown[] = [
    schema["items"],
    schema["anyOf"],
    schema["allOf"],
    members,
    mapValueSchema(schema),
  ];
  return below.flat().filter(isSchema);
}

/** Of the parts of a schema: what is one too, and no list or `true`. */
export const isSchema = isRecord as (part: unknown) => part is TSchema;

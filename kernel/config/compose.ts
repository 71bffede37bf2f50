import { Kind, OptionalKind, type TObject, type TSchema, Type } from "@sinclair/typebox";
import { mapValueSchema } from "../schema/defaults.ts";
import { isMap, strict } from "../schema/strict.ts";
import { type KeyPath, parseKeyPath } from "../text/key-path.ts";
import type { ConfigSchemas } from "../contract/index.ts";

interface Branch {
  schema: TSchema | undefined;
  children: Map<string, Branch>;
}

/**
 * Composes one schema of the sections of all owners. Object schemas for the same path are merged. `*` in a path stands
 * for any key of a map. Objects accept only the named keys, unless their schemas say otherwise.
 */
export function composeSchema(definitions: Iterable<ConfigSchemas>): TObject {
  const root: Branch = { schema: undefined, children: new Map() };
  for (const schemas of definitions) {
    for (const [path, schema] of Object.entries(schemas)) {
      let branch = root;
      for (const step of path.split(".")) branch = getOrCreateChild(branch, step);
      branch.schema = branch.schema ? mergeSchemas(branch.schema, strict(schema)) : strict(schema);
    }
  }
  return composeBranch(root) as TObject;
}

/** Returns the child branch for a step, and creates it if it is missing. */
function getOrCreateChild({ children }: Branch, step: string): Branch {
  const child = children.get(step) ?? { schema: undefined, children: new Map() };
  children.set(step, child);
  return child;
}

function composeBranch(branch: Branch): TSchema {
  if (branch.children.size === 0)
    return branch.schema ?? Type.Object({}, { additionalProperties: false });
  const members: Record<string, TSchema> = {};
  for (const [key, child] of branch.children) if (key !== "*") members[key] = composeBranch(child);
  const rest = branch.children.get("*");
  const object = Type.Object(members, { additionalProperties: rest ? composeBranch(rest) : false });
  return branch.schema ? mergeSchemas(branch.schema, object) : object;
}

function mergeSchemas(first: TSchema, second: TSchema): TSchema {
  if (!isMap(first) || !isMap(second))
    return hasSameShape(first, second) ? first : uniteSchemas(first, second);
  const members: Record<string, TSchema> = { ...first["properties"] };
  for (const [key, schema] of Object.entries(
    (second["properties"] ?? {}) as Record<string, TSchema>,
  ))
    members[key] = Object.hasOwn(members, key) ? mergeSchemas(members[key]!, schema) : schema;
  const rests = [mapValueSchema(first), mapValueSchema(second)].filter(
    (rest) => rest !== undefined,
  );
  const isOpen = first["additionalProperties"] === true || second["additionalProperties"] === true;
  const rest = rests.length === 2 ? mergeSchemas(rests[0]!, rests[1]!) : rests[0];
  const merged = Type.Object(members, {
    additionalProperties: rest ?? isOpen,
    description: first["description"] ?? second["description"],
    default: first["default"] ?? second["default"],
  });
  return OptionalKind in first && OptionalKind in second ? Type.Optional(merged) : merged;
}

// A plugin and the one that replaces it may define the same path: either schema may apply, and the later default
// counts.
function uniteSchemas(first: TSchema, second: TSchema): TSchema {
  const schema = Type.Union([second, first], {
    description: second["description"] ?? first["description"],
    default: second["default"] ?? first["default"],
  });
  return OptionalKind in first || OptionalKind in second ? Type.Optional(schema) : schema;
}

// Two owners may describe one key in different words, but its type must be the same. `Unsafe` is for owners that only
// read it.
function hasSameShape(first: TSchema, second: TSchema): boolean {
  const shape = ({ description: _d, ...rest }: TSchema) => JSON.stringify(rest);
  return second[Kind] === "Unsafe" || shape(first) === shape(second);
}

/** Returns the schema of the value at a path; of several variants, the first that has the path. */
export function schemaAt(schema: TSchema, path: KeyPath): TSchema | undefined {
  if (path.length === 0 || schema[Kind] === "Any" || schema[Kind] === "Unknown") return schema;
  const variants = (schema["anyOf"] ?? schema["allOf"]) as TSchema[] | undefined;
  if (variants) return findDefined(variants, (variant) => schemaAt(variant, path));
  const [step, ...remainingPath] = path;
  const nextSchema =
    typeof step === "number"
      ? (schema["items"] as TSchema | undefined)
      : findMemberSchema(schema, step as string);
  return nextSchema && schemaAt(nextSchema, remainingPath);
}

function findMemberSchema(schema: TSchema, name: string): TSchema | undefined {
  const members = (schema["properties"] ?? {}) as Record<string, TSchema>;
  if (Object.hasOwn(members, name)) return members[name];
  return schema["additionalProperties"] === true ? Type.Unknown() : mapValueSchema(schema);
}

function findDefined<T, R>(items: readonly T[], map: (item: T) => R | undefined): R | undefined {
  for (const item of items) {
    const result = map(item);
    if (result !== undefined) return result;
  }
  return undefined;
}

/**
 * Returns the changed keys that take effect at the next start: those whose schema, or one above it, has `atNextStart:
 * true`.
 */
export function findKeysAtNextStart(schema: TSchema, changed: readonly string[]): string[] {
  return changed.flatMap((key) => {
    const path = parseKeyPath(key);
    const isMarked = path.some((_, at) => isAtNextStart(schemaAt(schema, path.slice(0, at + 1))));
    if (isMarked) return [key];
    // The key may be a whole section that was added or removed.
    const sectionSchema = schemaAt(schema, path);
    return sectionSchema ? findMarkedKeys(sectionSchema).map((marked) => `${key}.${marked}`) : [];
  });
}

const isAtNextStart = (schema: TSchema | undefined): boolean => schema?.["atNextStart"] === true;

function findMarkedKeys(schema: TSchema): string[] {
  return listAllKeys(schema).filter((key) => isAtNextStart(schemaAt(schema, parseKeyPath(key))));
}

/** Returns the keys that an object schema names. */
export function listNamedKeys(schema: TSchema | undefined): string[] {
  if (!schema) return [];
  const variants = (schema["anyOf"] ?? schema["allOf"] ?? []) as TSchema[];
  return [
    ...new Set([...Object.keys(schema["properties"] ?? {}), ...variants.flatMap(listNamedKeys)]),
  ];
}

/** Returns every named path of a schema in dotted form, without the entries of maps. */
export function listAllKeys(schema: TSchema, prefix = ""): string[] {
  return listNamedKeys(schema).flatMap((key) => {
    const memberSchema = schemaAt(schema, [key]);
    return [
      `${prefix}${key}`,
      ...(memberSchema ? listAllKeys(memberSchema, `${prefix}${key}.`) : []),
    ];
  });
}

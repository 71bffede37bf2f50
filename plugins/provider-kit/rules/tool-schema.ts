/** Converts any JSON Schema to one that a provider accepts for the arguments of a tool. */
import type { JsonObject } from "../request/read-value.ts";

/** A tool's schema, and the constraints that were removed from it. */
export interface ToolSchema {
  schema: JsonObject;
  /** The constraints in words, for the tool's description. */
  constraint: string | undefined;
}

const ALTERNATIVES = ["anyOf", "oneOf", "allOf"] as const;
type Alternative = (typeof ALTERNATIVES)[number];

/** The limit for nested alternatives that are folded into the root, and for references that are followed. */
const MAX_LEVELS = 8;

/**
 * Returns a schema whose root is an object without alternatives and references, and whose keywords are not `null`. Returns
 * the same object if the schema already has this form.
 */
export function asToolSchema(original: JsonObject): ToolSchema {
  const clean = withoutNulls(original) as JsonObject;
  const needsFolding = ALTERNATIVES.some((key) => key in clean) || "$ref" in clean;
  if (!needsFolding) {
    const schema = clean["type"] === "object" ? clean : { ...clean, type: "object" };
    return { schema, constraint: undefined };
  }
  const constraints: string[] = [];
  const schema = foldRoot(clean, clean, constraints, MAX_LEVELS);
  return {
    schema: { ...schema, type: "object" },
    constraint: constraints.length === 0 ? undefined : constraints.join(" "),
  };
}

/** Keywords whose value is data, in which `null` is a valid value. */
const DATA = new Set(["default", "const", "example"]);
/** Keywords whose value is a list of such data. */
const DATA_LISTS = new Set(["enum", "examples"]);
/** Keywords whose value maps names of the author's choice to schemas. */
const MAPS = new Set([
  "properties",
  "patternProperties",
  "$defs",
  "definitions",
  "dependentSchemas",
]);

/** Removes `null`, which libraries of typed languages write for an unset keyword. */
function withoutNulls(schema: unknown): unknown {
  if (Array.isArray(schema)) {
    const schemas = schema.filter((item) => item !== null).map(withoutNulls);
    return sameIfEqual(schema, schemas);
  }
  if (typeof schema !== "object" || schema === null) return schema;
  return cleanMembers(schema as JsonObject, cleanKeyword);
}

/** Returns the keyword's value without nulls; undefined if the keyword counts as unset. */
function cleanKeyword(key: string, value: unknown): unknown {
  if (DATA.has(key)) return value;
  if (DATA_LISTS.has(key)) return value ?? undefined;
  if (key === "type") return cleanType(value);
  if (MAPS.has(key)) return withoutNullSchemas(value);
  if (key === "required") return Array.isArray(value) ? value : undefined;
  return value === null ? undefined : withoutNulls(value);
}

/** Cleans a map of schemas. A schema that is `null` becomes `{}`, which accepts any value. */
function withoutNullSchemas(map: unknown): unknown {
  if (typeof map !== "object" || map === null || Array.isArray(map)) return undefined;
  return cleanMembers(map as JsonObject, (_, value) => (value === null ? {} : withoutNulls(value)));
}

function cleanType(type: unknown): unknown {
  if (type === null) return undefined;
  if (!Array.isArray(type)) return type;
  const names = type.filter((name) => name !== null);
  return names.length === 0 ? undefined : sameIfEqual(type, names);
}

/** Returns the object with each member replaced by the result of `clean`, without those for which it returns undefined. */
function cleanMembers(
  object: JsonObject,
  clean: (key: string, value: unknown) => unknown,
): JsonObject {
  let isSame = true;
  const members: [string, unknown][] = [];
  for (const [key, value] of Object.entries(object)) {
    const cleanValue = clean(key, value);
    isSame &&= cleanValue === value;
    if (cleanValue !== undefined) members.push([key, cleanValue]);
  }
  return isSame ? object : Object.fromEntries(members);
}

function sameIfEqual(original: unknown[], cleaned: unknown[]): unknown[] {
  const isSame =
    original.length === cleaned.length && cleaned.every((item, i) => item === original[i]);
  return isSame ? original : cleaned;
}

/** Folds alternatives and a reference into the root. `document` is the schema in which references are looked up. */
function foldRoot(
  original: JsonObject,
  document: JsonObject,
  constraints: string[],
  levels: number,
): JsonObject {
  if (levels === 0) return original;
  let schema = withReference(original, document, levels);
  for (const key of ALTERNATIVES) {
    const { [key]: value, ...rest } = schema;
    if (value === undefined) continue;
    const branches = branchesOf(value).map((branch) =>
      foldRoot(branch, document, constraints, levels - 1),
    );
    const objects = branches.filter(isObjectSchema);
    schema = fold(rest, objects, key);
    if (key !== "allOf") addConstraint(constraints, key, objects);
  }
  return schema;
}

/** Replaces a reference at the root with its target. Definitions remain in place. */
function withReference(schema: JsonObject, document: JsonObject, levels: number): JsonObject {
  let resolved = schema;
  for (let level = levels; level > 0 && "$ref" in resolved; level--) {
    const { $ref: reference, ...rest } = resolved;
    const target = typeof reference === "string" ? lookUp(document, reference) : undefined;
    resolved = target === undefined ? rest : { ...target, ...rest };
  }
  if (!("$ref" in resolved)) return resolved;
  const { $ref: _, ...rest } = resolved;
  return rest;
}

function lookUp(document: JsonObject, reference: string): JsonObject | undefined {
  if (!reference.startsWith("#/")) return undefined;
  let value: unknown = document;
  for (const step of reference.slice(2).split("/")) {
    const key = decodeStep(step);
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, key)) return undefined;
    value = (value as JsonObject)[key];
  }
  return typeof value === "object" && value !== null ? (value as JsonObject) : undefined;
}

/** Decodes a step of a JSON Pointer in a URI fragment (RFC 6901). */
function decodeStep(step: string): string {
  let text = step;
  try {
    text = decodeURIComponent(step);
  } catch {
    // The step is not percent-encoded, so it is used unchanged.
  }
  return text.replaceAll("~1", "/").replaceAll("~0", "~");
}

function branchesOf(value: unknown): JsonObject[] {
  const list = Array.isArray(value) ? value : [];
  return list.filter((branch) => typeof branch === "object" && branch !== null) as JsonObject[];
}

function isObjectSchema({ type, properties, required }: JsonObject): boolean {
  if (type === undefined) return properties !== undefined || required !== undefined;
  return type === "object" || (Array.isArray(type) && type.includes("object"));
}

/** Returns the root with the properties of all branches. Properties that all branches require remain required. */
function fold(root: JsonObject, branches: readonly JsonObject[], key: Alternative): JsonObject {
  if (branches.length === 0) return root;
  const properties: JsonObject = { ...(root["properties"] as JsonObject | undefined) };
  for (const branch of branches) {
    const branchProperties = (branch["properties"] ?? {}) as JsonObject;
    for (const [name, schema] of Object.entries(branchProperties))
      properties[name] = mergeProperty(properties[name], schema, key);
  }
  const lists = branches.map(requiredIn);
  const shared =
    key === "allOf" || lists.length === 1
      ? lists.flat()
      : lists[0]!.filter((name) => lists.every((list) => list.includes(name)));
  const required = [...new Set([...requiredIn(root), ...shared])];
  const { required: _, ...rest } = root;
  const isClosed =
    key !== "allOf" && branches.every((branch) => branch["additionalProperties"] === false);
  return {
    ...rest,
    properties,
    ...(required.length > 0 && { required }),
    ...(isClosed && root["additionalProperties"] === undefined && { additionalProperties: false }),
  };
}

function mergeProperty(existing: unknown, schema: unknown, key: Alternative): unknown {
  if (existing === undefined || JSON.stringify(existing) === JSON.stringify(schema)) return schema;
  if (key === "allOf") return { allOf: [existing, schema] };
  const anyOf = (existing as JsonObject)["anyOf"];
  const isOnlyAnyOf = Array.isArray(anyOf) && Object.keys(existing as JsonObject).length === 1;
  const choices: unknown[] = isOnlyAnyOf ? anyOf : [existing];
  const text = JSON.stringify(schema);
  const isIncluded = choices.some((choice) => JSON.stringify(choice) === text);
  return { anyOf: isIncluded ? choices : [...choices, schema] };
}

function requiredIn({ required }: JsonObject): string[] {
  return Array.isArray(required) ? required.filter((name) => typeof name === "string") : [];
}

function addConstraint(
  constraints: string[],
  key: Alternative,
  branches: readonly JsonObject[],
): void {
  if (branches.length < 2) return;
  const sets = branches.map((branch) => {
    const required = requiredIn(branch);
    return required.length > 0 ? required : Object.keys((branch["properties"] ?? {}) as JsonObject);
  });
  if (sets.some((names) => names.length === 0)) return;
  const listedSets = sets.map((names) => names.map((name) => `\`${name}\``).join(" and "));
  const quantity = key === "oneOf" ? "exactly one" : "at least one";
  constraints.push(`Give ${quantity} of these sets of arguments: ${listedSets.join("; ")}.`);
}

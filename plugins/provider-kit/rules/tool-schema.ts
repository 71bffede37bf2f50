/** Makes any JSON Schema one that a provider takes for the arguments of a tool. */
import type { JsonObject } from "../request/read-value.ts";

/** A tool's schema, and the constraints that were removed from it. */
export interface ToolSchema {
  schema: JsonObject;
  /** For the tool's description, in words that a model understands. */
  constraint: string | undefined;
}

const ALTERNATIVES = ["anyOf", "oneOf", "allOf"] as const;
type Alternative = (typeof ALTERNATIVES)[number];

/** How deep alternatives within alternatives at the root are folded, and references are followed. */
const MOST_LEVELS = 8;

/**
 * An object at the root, without alternatives and references there, and without `null` in the place of a keyword's value.
 * The same object where the schema is that already.
 */
export function asToolSchema(given: JsonObject): ToolSchema {
  const clean = withoutNulls(given) as JsonObject;
  const needsFolding = ALTERNATIVES.some((key) => key in clean) || "$ref" in clean;
  if (!needsFolding) {
    const schema = clean["type"] === "object" ? clean : { ...clean, type: "object" };
    return { schema, constraint: undefined };
  }
  const constraints: string[] = [];
  const schema = foldRoot(clean, clean, constraints, MOST_LEVELS);
  return {
    schema: { ...schema, type: "object" },
    constraint: constraints.length === 0 ? undefined : constraints.join(" "),
  };
}

/** Keywords whose value is data, where `null` is a value like any other. */
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

/** Libraries of typed languages write `null` for a keyword that is unset. */
function withoutNulls(schema: unknown): unknown {
  if (Array.isArray(schema)) {
    const schemas = schema.filter((item) => item !== null).map(withoutNulls);
    return copiedIfChanged(schema, schemas);
  }
  if (typeof schema !== "object" || schema === null) return schema;
  return cleanMembers(schema as JsonObject, cleanKeyword);
}

/** The keyword's value without nulls; undefined if the keyword counts as unset. */
function cleanKeyword(key: string, value: unknown): unknown {
  if (DATA.has(key)) return value;
  if (DATA_LISTS.has(key)) return value ?? undefined;
  if (key === "type") return cleanType(value);
  if (MAPS.has(key)) return withoutNullSchemas(value);
  if (key === "required") return Array.isArray(value) ? value : undefined;
  return value === null ? undefined : withoutNulls(value);
}

/** A map of schemas; a name whose schema is `null` may hold anything. */
function withoutNullSchemas(map: unknown): unknown {
  if (typeof map !== "object" || map === null || Array.isArray(map)) return undefined;
  return cleanMembers(map as JsonObject, (_, value) => (value === null ? {} : withoutNulls(value)));
}

function cleanType(type: unknown): unknown {
  if (type === null) return undefined;
  if (!Array.isArray(type)) return type;
  const names = type.filter((name) => name !== null);
  return names.length === 0 ? undefined : copiedIfChanged(type, names);
}

/** The object with each member as `clean` returns it, without those for which it returns undefined. */
function cleanMembers(
  object: JsonObject,
  clean: (key: string, value: unknown) => unknown,
): JsonObject {
  let isSame = true;
  const members: [string, unknown][] = [];
  for (const [key, value] of Object.entries(object)) {
    const now = clean(key, value);
    isSame &&= now === value;
    if (now !== undefined) members.push([key, now]);
  }
  return isSame ? object : Object.fromEntries(members);
}

function copiedIfChanged(old: unknown[], now: unknown[]): unknown[] {
  const isSame = old.length === now.length && now.every((item, i) => item === old[i]);
  return isSame ? old : now;
}

/** `document`: what references are looked up in. */
function foldRoot(
  given: JsonObject,
  document: JsonObject,
  constraints: string[],
  levels: number,
): JsonObject {
  if (levels === 0) return given;
  let schema = withReference(given, document, levels);
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

/** A reference at the root is replaced by what it refers to; definitions stay where they are. */
function withReference(schema: JsonObject, document: JsonObject, levels: number): JsonObject {
  let resolved = schema;
  for (let left = levels; left > 0 && "$ref" in resolved; left--) {
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

/** RFC 6901, as a URI fragment. */
function decodeStep(step: string): string {
  let text = step;
  try {
    text = decodeURIComponent(step);
  } catch {
    // It is no encoded text, and stands for itself.
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

/** The root with the properties of all branches. What all branches require stays required. */
function fold(root: JsonObject, branches: readonly JsonObject[], key: Alternative): JsonObject {
  if (branches.length === 0) return root;
  const properties: JsonObject = { ...(root["properties"] as JsonObject | undefined) };
  for (const branch of branches) {
    const own = (branch["properties"] ?? {}) as JsonObject;
    for (const [name, schema] of Object.entries(own))
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

function mergeProperty(old: unknown, schema: unknown, key: Alternative): unknown {
  if (old === undefined || JSON.stringify(old) === JSON.stringify(schema)) return schema;
  if (key === "allOf") return { allOf: [old, schema] };
  const choices = (old as JsonObject)["anyOf"];
  const isOnlyChoice = Array.isArray(choices) && Object.keys(old as JsonObject).length === 1;
  const known: unknown[] = isOnlyChoice ? choices : [old];
  const text = JSON.stringify(schema);
  const isKnown = known.some((choice) => JSON.stringify(choice) === text);
  return { anyOf: isKnown ? known : [...known, schema] };
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
  const listed = sets.map((names) => names.map((name) => `\`${name}\``).join(" and "));
  const many = key === "oneOf" ? "exactly one" : "at least one";
  constraints.push(`Give ${many} of these sets of arguments: ${listed.join("; ")}.`);
}

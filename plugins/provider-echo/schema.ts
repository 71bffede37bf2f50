/** Reads and merges JSON Schemas as clients send them. They may be any JSON; only objects have a meaning here. */

export type Schema = Record<string, unknown>;

export function isSchema(value: unknown): value is Schema {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function numberOf(value: unknown): number | undefined {
  return typeof value === "number" ? value : undefined;
}

export function listOf(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}

/** When two schemas are merged, the higher of two lower bounds applies, and the lower of two upper bounds. */
const LOWER_BOUNDS = new Set([
  "minimum",
  "exclusiveMinimum",
  "minLength",
  "minItems",
  "minProperties",
]);
const UPPER_BOUNDS = new Set(["maximum", "exclusiveMaximum"]);

/** Returns a schema for values that both schemas accept, as far as the maker supports their keywords. */
export function merge(first: Schema, second: Schema): Schema {
  const merged: Schema = { ...first };
  for (const [key, value] of Object.entries(second))
    merged[key] = Object.hasOwn(first, key) ? mergeKeyword(key, first[key], value) : value;
  return merged;
}

function mergeKeyword(key: string, first: unknown, second: unknown): unknown {
  if (typeof first === "number" && typeof second === "number") {
    if (LOWER_BOUNDS.has(key)) return Math.max(first, second);
    if (UPPER_BOUNDS.has(key)) return Math.min(first, second);
  }
  if (key === "required") return [...listOf(first), ...listOf(second)];
  if (key === "type") return commonTypes([first].flat(), [second].flat());
  if (key !== "properties" || !isSchema(first) || !isSchema(second)) return second;
  const shared = Object.keys(second).filter((name) => Object.hasOwn(first, name));
  const both = shared.map((name) => [name, { allOf: [first[name], second[name]] }]);
  return { ...first, ...second, ...Object.fromEntries(both) };
}

function commonTypes(firstTypes: readonly unknown[], secondTypes: readonly unknown[]): unknown[] {
  const allowed = new Set(secondTypes);
  const common = firstTypes.filter(
    (type) => allowed.has(type) || (type === "integer" && allowed.has("number")),
  );
  const isNarrowed = firstTypes.includes("number") && allowed.has("integer");
  return isNarrowed ? [...common, "integer"] : common;
}

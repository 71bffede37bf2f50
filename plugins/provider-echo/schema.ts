/** JSON Schemas as clients send them: any JSON, of which objects count. */

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

/** Bounds of which the higher one holds where two schemas hold together; of the others the lower one does. */
const LOWER_BOUNDS = new Set([
  "minimum",
  "exclusiveMinimum",
  "minLength",
  "minItems",
  "minProperties",
]);
const UPPER_BOUNDS = new Set(["maximum", "exclusiveMaximum"]);

/** What holds where both schemas hold, as far as a value is made for it. */
export function merge(one: Schema, other: Schema): Schema {
  const merged: Schema = { ...one };
  for (const [key, value] of Object.entries(other))
    merged[key] = Object.hasOwn(one, key) ? mergeKeyword(key, one[key], value) : value;
  return merged;
}

function mergeKeyword(key: string, one: unknown, other: unknown): unknown {
  if (typeof one === "number" && typeof other === "number") {
    if (LOWER_BOUNDS.has(key)) return Math.max(one, other);
    if (UPPER_BOUNDS.has(key)) return Math.min(one, other);
  }
  if (key === "required") return [...listOf(one), ...listOf(other)];
  if (key === "type") return commonTypes([one].flat(), [other].flat());
  if (key !== "properties" || !isSchema(one) || !isSchema(other)) return other;
  const shared = Object.keys(other).filter((name) => Object.hasOwn(one, name));
  const both = shared.map((name) => [name, { allOf: [one[name], other[name]] }]);
  return { ...one, ...other, ...Object.fromEntries(both) };
}

function commonTypes(some: readonly unknown[], others: readonly unknown[]): unknown[] {
  const allowed = new Set(others);
  const common = some.filter(
    (type) => allowed.has(type) || (type === "integer" && allowed.has("number")),
  );
  const isNarrowed = some.includes("number") && allowed.has("integer");
  return isNarrowed ? [...common, "integer"] : common;
}

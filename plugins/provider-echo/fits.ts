/** Whether a JSON Schema accepts a value. Formats are not looked at: what is made for them is right. */
import { isDeepStrictEqual } from "node:util";
import { follow, isSchema, listOf, numberOf, type Schema, type Walk } from "./schema.ts";

const MAX_DEPTH = 64;
/** Members and characters that are looked at in one walk: behind it, everything fits. */
const MAX_CHECKS = 300_000;

export function fits(schema: unknown, value: unknown, walk: Walk): boolean {
  if (schema === false) return false;
  if (!isSchema(schema) || walk.depth > MAX_DEPTH || isSpent(walk)) return true;
  walk.spent.checks += 1 + sizeOf(schema) + sizeOf(value) + sizeWithin(schema, value);
  const again = (sub: unknown, one: unknown = value) =>
    fits(sub, one, { ...walk, depth: walk.depth + 1 });
  return (
    (!("const" in schema) || isDeepStrictEqual(schema["const"], value)) &&
    (!Array.isArray(schema["enum"]) ||
      schema["enum"].some((one) => isDeepStrictEqual(one, value))) &&
    (schema["type"] === undefined || [schema["type"]].flat().some((type) => isOf(type, value))) &&
    fitsTogether(schema, again, walk) &&
    (typeof value !== "number" || fitsNumber(schema, value)) &&
    (typeof value !== "string" || fitsString(schema, value, walk)) &&
    (!Array.isArray(value) || fitsArray(schema, value, again)) &&
    (!isSchema(value) || fitsObject(schema, value, again, walk))
  );
}

const isSpent = ({ spent }: Walk): boolean => spent.checks > MAX_CHECKS;

/** Of what is looked at as a whole: the members of a list or object and of what stands in it, a text's characters. */
function sizeOf(value: unknown): number {
  if (typeof value === "string") return value.length;
  if (typeof value !== "object" || value === null) return 0;
  const members = Object.values(value);
  return members.reduce((sum: number, one) => sum + membersOf(one), members.length);
}

export function membersOf(value: unknown): number {
  if (Array.isArray(value)) return value.length;
  return isSchema(value) ? Object.keys(value).length : 0;
}

/** Of a value that is compared with others as a whole, down to its last member. */
function sizeWithin(schema: Schema, value: unknown): number {
  if (typeof value !== "object" || value === null) return 0;
  const times =
    ("const" in schema ? 1 : 0) +
    listOf(schema["enum"]).length +
    (schema["uniqueItems"] === true ? 1 : 0);
  return times === 0 ? 0 : times * JSON.stringify(value).length;
}

type Again = (sub: unknown, value?: unknown) => boolean;

function isOf(type: unknown, value: unknown): boolean {
  if (type === "integer") return Number.isInteger(value);
  if (type === "array") return Array.isArray(value);
  if (type === "object") return isSchema(value);
  return type === "null" ? value === null : typeof value === type;
}

function fitsTogether(schema: Schema, again: Again, walk: Walk): boolean {
  const { $ref, allOf, anyOf, oneOf, not, if: condition } = schema;
  if (typeof $ref === "string" && !again(follow(walk, $ref))) return false;
  if (Array.isArray(allOf) && !allOf.every((one) => again(one))) return false;
  if (Array.isArray(anyOf) && !anyOf.some((one) => again(one))) return false;
  if (Array.isArray(oneOf) && oneOf.filter((one) => again(one)).length !== 1) return false;
  if (not !== undefined && again(not)) return false;
  return condition === undefined || again(schema[again(condition) ? "then" : "else"]);
}

function fitsNumber(schema: Schema, value: number): boolean {
  const {
    minimum,
    maximum,
    exclusiveMinimum: above,
    exclusiveMaximum: below,
    multipleOf: step,
  } = schema;
  return (
    value >= (numberOf(minimum) ?? value) &&
    value <= (numberOf(maximum) ?? value) &&
    !(value <= (numberOf(above) ?? Number.NEGATIVE_INFINITY)) &&
    !(value >= (numberOf(below) ?? Number.POSITIVE_INFINITY)) &&
    (typeof step !== "number" || Number.isInteger(value / step))
  );
}

function fitsString(
  { minLength, maxLength, pattern }: Schema,
  value: string,
  { texts }: Walk,
): boolean {
  const { length } = [...value];
  if (length < (numberOf(minLength) ?? 0) || length > (numberOf(maxLength) ?? length)) return false;
  return typeof pattern !== "string" || texts.fits(pattern, value) !== false;
}

function fitsArray(schema: Schema, value: unknown[], again: Again): boolean {
  const { length } = value;
  if (
    length < (numberOf(schema["minItems"]) ?? 0) ||
    length > (numberOf(schema["maxItems"]) ?? length)
  )
    return false;
  const tuple = listOf(schema["prefixItems"] ?? schema["items"]);
  const rest = Array.isArray(schema["items"]) ? schema["additionalItems"] : schema["items"];
  if (!value.every((item, i) => again(i < tuple.length ? tuple[i] : rest, item))) return false;
  if (
    schema["uniqueItems"] === true &&
    new Set(value.map((item) => JSON.stringify(item))).size < length
  )
    return false;
  if (schema["contains"] === undefined) return true;
  const found = value.filter((item) => again(schema["contains"], item)).length;
  return (
    found >= (numberOf(schema["minContains"]) ?? 1) &&
    found <= (numberOf(schema["maxContains"]) ?? found)
  );
}

function fitsObject(schema: Schema, value: Schema, again: Again, walk: Walk): boolean {
  const names = Object.keys(value);
  const { length } = names;
  if (
    length < (numberOf(schema["minProperties"]) ?? 0) ||
    length > (numberOf(schema["maxProperties"]) ?? length)
  )
    return false;
  const has = (name: unknown) => typeof name !== "string" || Object.hasOwn(value, name);
  if (!listOf(schema["required"]).every(has)) return false;
  for (const [name, others] of Object.entries(
    isSchema(schema["dependentRequired"]) ? schema["dependentRequired"] : {},
  ))
    if (has(name) && !listOf(others).every(has)) return false;
  const patterns = membersOf(schema["patternProperties"]);
  return names.every((name) => {
    walk.spent.checks += patterns;
    if (isSpent(walk)) return true;
    if (schema["propertyNames"] !== undefined && !again(schema["propertyNames"], name))
      return false;
    return schemasOf(schema, name, walk).every((one) => again(one, value[name]));
  });
}

/** What a schema says about the value of one property. */
export function schemasOf(schema: Schema, name: string, { texts }: Walk): unknown[] {
  const { properties, patternProperties } = schema;
  const found = isSchema(properties) && Object.hasOwn(properties, name) ? [properties[name]] : [];
  for (const [pattern, one] of Object.entries(isSchema(patternProperties) ? patternProperties : {}))
    if (texts.fits(pattern, name)) found.push(one);
  return found.length > 0 ? found : [schema["additionalProperties"]];
}

/** The smallest value that a JSON Schema accepts. */
import { refused } from "portico/chat";
import { createFittingTexts, type FittingTexts } from "./fitting-text.ts";

type Schema = Record<string, unknown>;

const MAX_DEPTH = 32;
/** How much may be looked at and made, in members and characters: schemas come from callers. */
const MAX_WORK = 500_000;

/** One walk through a schema. */
interface Walk {
  root: unknown;
  texts: FittingTexts;
  depth: number;
  work: Work;
}

interface Work {
  /** Throws 400 once too much was asked for. */
  take(amount: number): void;
}

/**
 * Only required properties, empty strings and lists, the number nearest to 0; the first of an `enum` or of alternatives.
 * Local `$ref`s are followed. A `pattern` that no simple text fits is the one thing that may not be met. Throws 400 with
 * `param` where the value would be large.
 */
export function smallest(schema: unknown, param = "schema"): unknown {
  return accepted(schema, "object", { root: schema, texts: createFittingTexts(), depth: 0, work: workFor(param) });
}

function workFor(param: string): Work {
  let left = MAX_WORK;
  return {
    take(amount) {
      left -= amount;
      if (!(left >= 0)) throw refused(param, "echo makes small values only: this schema asks for a large one");
    },
  };
}

/** `fallback` is the type where the schema names none. */
function accepted(schema: unknown, fallback: string, walk: Walk): unknown {
  const { root, work } = walk;
  if (!isSchema(schema) || walk.depth > MAX_DEPTH) return fallback === "object" ? {} : null;
  work.take(1 + Object.keys(schema).length);
  const again: Again = (sub, type = fallback) => accepted(sub, type, { ...walk, depth: walk.depth + 1 });
  if ("const" in schema) return given(schema["const"], work);
  if (Array.isArray(schema["enum"]) && schema["enum"].length > 0) return given(schema["enum"][0], work);
  if (typeof schema["$ref"] === "string") return again(follow(root, schema["$ref"], work));
  if (Array.isArray(schema["allOf"])) return again(merge(schema, schema["allOf"], root, work));
  for (const key of ["anyOf", "oneOf"]) {
    const options = schema[key];
    if (Array.isArray(options) && options.length > 0)
      return again({ ...without(schema, key), ...(isSchema(options[0]) ? options[0] : {}) });
  }
  switch (typeOf(schema) ?? fallback) {
    case "object":
      return smallestObject(schema, again, work);
    case "array":
      return smallestArray(schema, again, work);
    case "string":
      return smallestString(schema, walk);
    case "number":
    case "integer":
      return smallestNumber(schema, typeOf(schema) === "integer");
    case "boolean":
      return false;
    default:
      return null;
  }
}

type Again = (sub: unknown, type?: string) => unknown;

/** A value of the schema's own: it may stand there once, and be referred to often. */
function given(value: unknown, work: Work): unknown {
  work.take(JSON.stringify(value).length);
  return value;
}

function typeOf(schema: Schema): string | undefined {
  const type = Array.isArray(schema["type"]) ? schema["type"][0] : schema["type"];
  if (typeof type === "string") return type;
  if ("properties" in schema || "required" in schema) return "object";
  if ("items" in schema || "prefixItems" in schema) return "array";
  if ("minLength" in schema || "pattern" in schema || "format" in schema) return "string";
  if ("minimum" in schema || "maximum" in schema || "multipleOf" in schema) return "number";
  return undefined;
}

function smallestObject(schema: Schema, again: Again, work: Work): Record<string, unknown> {
  const properties = isSchema(schema["properties"]) ? schema["properties"] : {};
  const names = Array.isArray(schema["required"])
    ? schema["required"].filter((name): name is string => typeof name === "string")
    : [];
  const wanted = new Set(names);
  const least = numberOf(schema["minProperties"]) ?? 0;
  work.take(Math.max(least, wanted.size));
  if (wanted.size < least) {
    const declared = Object.keys(properties);
    work.take(declared.length);
    for (const name of declared) {
      if (wanted.size >= least) break;
      wanted.add(name);
    }
  }
  for (let i = 0; wanted.size < least; i++) wanted.add(`property${i}`);
  return Object.fromEntries(
    [...wanted].map((name) => {
      work.take(name.length);
      return [
        name,
        again(Object.hasOwn(properties, name) ? properties[name] : schema["additionalProperties"], "string"),
      ];
    }),
  );
}

function smallestArray(schema: Schema, again: Again, work: Work): unknown[] {
  const prefix = Array.isArray(schema["prefixItems"])
    ? schema["prefixItems"]
    : Array.isArray(schema["items"])
      ? schema["items"]
      : [];
  const least = numberOf(schema["minItems"]) ?? 0;
  work.take(least);
  const items = Array.from({ length: least }, (_, i) => again(prefix[i] ?? schema["items"], "null"));
  if (schema["uniqueItems"] !== true) return items;
  return items.map((item, i) =>
    typeof item === "number" ? item + i : typeof item === "string" && i > 0 ? `${item}${i}` : item,
  );
}

const FORMATS: Record<string, string> = {
  "date-time": "1970-01-01T00:00:00Z",
  date: "1970-01-01",
  time: "00:00:00Z",
  duration: "P0D",
  email: "a@b.co",
  hostname: "a",
  ipv4: "0.0.0.0",
  ipv6: "::",
  uri: "a:b",
  url: "http://a",
  "uri-reference": "",
  uuid: "00000000-0000-0000-0000-000000000000",
  regex: "",
};

function smallestString(schema: Schema, { texts, work }: Walk): string {
  const least = numberOf(schema["minLength"]) ?? 0;
  work.take(least);
  const { format, pattern } = schema;
  let text = typeof format === "string" && Object.hasOwn(FORMATS, format) ? FORMATS[format]! : "";
  if (typeof pattern === "string") text = texts.fitting(pattern, text, Object.values(FORMATS));
  return text.padEnd(least, text === "" ? "a" : text.at(-1));
}

function smallestNumber(schema: Schema, integer: boolean): number {
  const step = numberOf(schema["multipleOf"]) ?? (integer ? 1 : 0);
  const above = numberOf(schema["exclusiveMinimum"]);
  const below = numberOf(schema["exclusiveMaximum"]);
  const low = Math.max(numberOf(schema["minimum"]) ?? Number.NEGATIVE_INFINITY, above ?? Number.NEGATIVE_INFINITY);
  const high = Math.min(numberOf(schema["maximum"]) ?? Number.POSITIVE_INFINITY, below ?? Number.POSITIVE_INFINITY);
  const fits = (n: number) => n >= low && n <= high && n !== above && n !== below;
  if (fits(0)) return 0;
  const start = low > 0 || (low === 0 && above === 0) ? low : high;
  const away = start === low ? 1 : -1;
  if (step > 0) {
    const nearest = (away > 0 ? Math.ceil(start / step) : Math.floor(start / step)) * step;
    return fits(nearest) ? nearest : nearest + away * step;
  }
  if (fits(start)) return start;
  return Number.isFinite(low) && Number.isFinite(high) ? (low + high) / 2 : start + away;
}

function merge(schema: Schema, parts: unknown[], root: unknown, work: Work): Schema {
  const merged: Schema = without(schema, "allOf");
  const properties: Schema = { ...(isSchema(schema["properties"]) ? schema["properties"] : {}) };
  const required: unknown[] = Array.isArray(schema["required"]) ? [...schema["required"]] : [];
  for (const part of parts) {
    const one = isSchema(part) && typeof part["$ref"] === "string" ? follow(root, part["$ref"], work) : part;
    if (!isSchema(one)) continue;
    const { properties: more, required: names, ...rest } = one;
    work.take(1 + Object.keys(rest).length);
    Object.assign(merged, rest);
    if (isSchema(more)) {
      work.take(Object.keys(more).length);
      Object.assign(properties, more);
    }
    if (Array.isArray(names)) {
      work.take(names.length);
      for (const name of names) required.push(name);
    }
  }
  if (Object.keys(properties).length > 0) merged["properties"] = properties;
  if (required.length > 0) merged["required"] = required;
  return merged;
}

/** A `$ref` within the same schema: `#`, `#/$defs/x`. */
function follow(root: unknown, ref: string, work: Work): unknown {
  work.take(ref.length);
  if (!ref.startsWith("#")) return {};
  return ref
    .slice(1)
    .split("/")
    .filter((step) => step !== "")
    .reduce<unknown>((at, step) => {
      const key = decoded(step).replaceAll("~1", "/").replaceAll("~0", "~");
      return isSchema(at) && Object.hasOwn(at, key) ? at[key] : undefined;
    }, root);
}

function decoded(step: string): string {
  try {
    return decodeURIComponent(step);
  } catch {
    return step;
  }
}

function without(schema: Schema, key: string): Schema {
  const { [key]: _, ...rest } = schema;
  return rest;
}

function numberOf(value: unknown): number | undefined {
  return typeof value === "number" ? value : undefined;
}

function isSchema(value: unknown): value is Schema {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

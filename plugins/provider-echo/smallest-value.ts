/** The smallest value that a JSON Schema accepts. */

type Schema = Record<string, unknown>;

const MAX_DEPTH = 32;

/**
 * Only required properties, empty strings and lists, the number nearest to 0; the first of an `enum` or of alternatives.
 * Local `$ref`s are followed. `fallback` is the type where the schema names none. A `pattern` that no simple text fits is
 * the one thing that may not be met.
 */
export function smallest(schema: unknown, fallback = "null", root: unknown = schema, depth = 0): unknown {
  if (!isSchema(schema) || depth > MAX_DEPTH) return fallback === "object" ? {} : null;
  const again = (sub: unknown, type = fallback) => smallest(sub, type, root, depth + 1);
  if ("const" in schema) return schema["const"];
  if (Array.isArray(schema["enum"]) && schema["enum"].length > 0) return schema["enum"][0];
  if (typeof schema["$ref"] === "string") return again(follow(root, schema["$ref"]));
  if (Array.isArray(schema["allOf"])) return again(merge(schema, schema["allOf"], root));
  for (const key of ["anyOf", "oneOf"]) {
    const options = schema[key];
    if (Array.isArray(options) && options.length > 0)
      return again({ ...without(schema, key), ...(isSchema(options[0]) ? options[0] : {}) });
  }
  switch (typeOf(schema) ?? fallback) {
    case "object":
      return smallestObject(schema, again);
    case "array":
      return smallestArray(schema, again);
    case "string":
      return smallestString(schema);
    case "number":
    case "integer":
      return smallestNumber(schema, typeOf(schema) === "integer");
    case "boolean":
      return false;
    default:
      return null;
  }
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

function smallestObject(schema: Schema, again: (sub: unknown, type?: string) => unknown): Record<string, unknown> {
  const properties = isSchema(schema["properties"]) ? schema["properties"] : {};
  const names = Array.isArray(schema["required"])
    ? schema["required"].filter((name): name is string => typeof name === "string")
    : [];
  const wanted = new Set(names);
  const least = numberOf(schema["minProperties"]) ?? 0;
  for (const name of Object.keys(properties)) {
    if (wanted.size >= least) break;
    wanted.add(name);
  }
  for (let i = 0; wanted.size < least; i++) wanted.add(`property${i}`);
  return Object.fromEntries(
    [...wanted].map((name) => [
      name,
      again(Object.hasOwn(properties, name) ? properties[name] : schema["additionalProperties"], "string"),
    ]),
  );
}

function smallestArray(schema: Schema, again: (sub: unknown, type?: string) => unknown): unknown[] {
  const prefix = Array.isArray(schema["prefixItems"])
    ? schema["prefixItems"]
    : Array.isArray(schema["items"])
      ? schema["items"]
      : [];
  const least = numberOf(schema["minItems"]) ?? 0;
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

function smallestString(schema: Schema): string {
  const least = numberOf(schema["minLength"]) ?? 0;
  const format = schema["format"];
  let text = typeof format === "string" && Object.hasOwn(FORMATS, format) ? FORMATS[format]! : "";
  const pattern = typeof schema["pattern"] === "string" ? regex(schema["pattern"]) : undefined;
  if (pattern !== undefined && !pattern.test(text)) text = fitting(pattern) ?? text;
  return text.padEnd(least, text === "" ? "a" : text.at(-1));
}

function regex(source: string): RegExp | undefined {
  try {
    return new RegExp(source, "u");
  } catch {
    return undefined;
  }
}

/** The shortest run of one character, or a common shape, that fits. */
function fitting(pattern: RegExp): string | undefined {
  const shapes = [
    ...Object.values(FORMATS),
    "a-a",
    "a_a",
    "a.a",
    "a/a",
    "a0",
    "A0",
    "Aa",
    "+10000000000",
    "00:00",
    "#000000",
    "0.0.0",
  ];
  for (let length = 1; length <= 40; length++) {
    for (const char of "a0A-_ ") if (pattern.test(char.repeat(length))) return char.repeat(length);
  }
  return shapes.find((shape) => pattern.test(shape));
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

function merge(schema: Schema, parts: unknown[], root: unknown): Schema {
  const merged: Schema = without(schema, "allOf");
  for (const part of parts) {
    const one = isSchema(part) && typeof part["$ref"] === "string" ? follow(root, part["$ref"]) : part;
    if (!isSchema(one)) continue;
    const { properties, required, ...rest } = one;
    Object.assign(merged, rest);
    if (isSchema(properties)) merged["properties"] = { ...(merged["properties"] as Schema | undefined), ...properties };
    if (Array.isArray(required))
      merged["required"] = [...((merged["required"] as unknown[] | undefined) ?? []), ...required];
  }
  return merged;
}

/** A `$ref` within the same schema: `#`, `#/$defs/x`. */
function follow(root: unknown, ref: string): unknown {
  if (!ref.startsWith("#")) return {};
  return ref
    .slice(1)
    .split("/")
    .filter((step) => step !== "")
    .reduce<unknown>((at, step) => {
      const key = decodeURIComponent(step).replaceAll("~1", "/").replaceAll("~0", "~");
      return isSchema(at) && Object.hasOwn(at, key) ? at[key] : undefined;
    }, root);
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

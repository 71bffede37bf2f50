/** Makes a value for a JSON Schema, without checking it against the keywords that are ignored here. */
import { isSchema, listOf, merge, numberOf, type Schema } from "./schema.ts";

/** No value can be made for the schema. The message gives the reason, as the end of a sentence. */
export class Unmet extends Error {
  override name = "Unmet";
}

/** The amount of work that remains: members and characters that may still be visited or made. */
interface WorkBudget {
  remaining: number;
}

/** Makes the value of one schema, up to a nesting depth. */
export class Maker {
  readonly #root: unknown;
  readonly #maxDepth: number;
  readonly #budget: WorkBudget;

  constructor(root: unknown, maxDepth: number, budget: WorkBudget) {
    this.#root = root;
    this.#maxDepth = maxDepth;
    this.#budget = budget;
  }

  /** Makes a value. `fallback` is its type if the schema names none. */
  make(schema: unknown, fallback: string, depth = 0): unknown {
    if (schema === false) throw new Unmet("no value matches the schema `false`");
    if (!isSchema(schema)) return fallback === "object" ? {} : null;
    if (depth > this.#maxDepth) throw new Unmet("it is nested too deeply");
    this.#spend(1 + Object.keys(schema).length);
    const flat = this.#flatten(schema, 0);
    for (const key of ["anyOf", "oneOf"])
      if (Array.isArray(flat[key])) return this.#makeFirst(flat, key, fallback, depth);
    if ("const" in flat) return this.#countValue(flat["const"]);
    if (Array.isArray(flat["enum"]))
      return this.#countValue(firstOfType(flat["enum"], flat["type"]));
    return this.#makeType(firstType(flat) ?? fallback, flat, depth);
  }

  #spend(amount: number): void {
    this.#budget.remaining -= amount;
    if (!(this.#budget.remaining >= 0)) throw new Unmet("it requires a value that is too large");
  }

  /** Counts a value that the schema contains as work, since it may be long and used often. */
  #countValue(value: unknown): unknown {
    this.#spend(JSON.stringify(value)?.length ?? 0);
    return value;
  }

  /** Makes a value of the first alternative that allows one. */
  #makeFirst(schema: Schema, key: string, fallback: string, depth: number): unknown {
    const { [key]: alternatives, ...rest } = schema;
    let reason: unknown = new Unmet(`its ${key} is empty`);
    for (const alternative of alternatives as unknown[]) {
      try {
        const chosen = isSchema(alternative)
          ? merge(rest, this.#flatten(alternative, 0))
          : alternative && rest;
        return this.make(chosen, fallback, depth + 1);
      } catch (error) {
        if (!(error instanceof Unmet) || this.#budget.remaining < 0) throw error;
        reason = error;
      }
    }
    throw reason;
  }

  /** Merges `$ref` and `allOf` into the schema. */
  #flatten(schema: Schema, depth: number): Schema {
    const { $ref, allOf, ...rest } = schema;
    if ($ref === undefined && allOf === undefined) return schema;
    if (depth > this.#maxDepth) throw new Unmet("its references are nested too deeply");
    const parts = Array.isArray(allOf) ? [...allOf] : [];
    if (typeof $ref === "string") parts.push(this.#resolveReference($ref));
    let flat: Schema = rest;
    for (const part of parts) {
      if (part === false) throw new Unmet("no value matches the schema `false`");
      if (!isSchema(part)) continue;
      this.#spend(1 + Object.keys(part).length + Object.keys(flat).length);
      flat = merge(flat, this.#flatten(part, depth + 1));
      this.#spend(isSchema(flat["properties"]) ? Object.keys(flat["properties"]).length : 0);
    }
    return flat;
  }

  /** Looks up a reference within the same schema: `#`, `#/$defs/x`. */
  #resolveReference(reference: string): unknown {
    this.#spend(reference.length);
    const steps = reference.startsWith("#") ? reference.slice(1).split("/") : [];
    let target: unknown = reference.startsWith("#") ? this.#root : undefined;
    for (const step of steps.filter((text) => text !== "")) {
      const key = unescapePointer(step);
      target = isSchema(target) && Object.hasOwn(target, key) ? target[key] : undefined;
    }
    if (target === undefined)
      throw new Unmet(`its reference ${reference.slice(0, 100)} leads to nothing`);
    return target;
  }

  #makeType(type: unknown, schema: Schema, depth: number): unknown {
    if (type === "object") return this.#makeObject(schema, depth);
    if (type === "array") return this.#makeArray(schema, depth);
    if (type === "string") return this.#makeString(schema);
    if (type === "number" || type === "integer") {
      const number = smallestNumber(schema, type === "integer");
      if (number === undefined) throw new Unmet("no number is within its bounds");
      return number + 0; // avoids -0, which `JSON.stringify` does not preserve
    }
    return type === "boolean" ? false : null;
  }

  #makeObject(schema: Schema, depth: number): Schema {
    const properties = isSchema(schema["properties"]) ? schema["properties"] : {};
    const names = new Set(listOf(schema["required"]).filter((name) => typeof name === "string"));
    const minimum = numberOf(schema["minProperties"]) ?? 0;
    this.#spend(names.size + minimum);
    for (const name of Object.keys(properties)) if (names.size < minimum) names.add(name);
    const entries = [...names].map((name) => {
      this.#spend(name.length);
      const isDeclared = Object.hasOwn(properties, name);
      const member = isDeclared ? properties[name] : schema["additionalProperties"];
      return [name, this.make(member, "string", depth + 1)];
    });
    return Object.fromEntries(entries);
  }

  #makeArray(schema: Schema, depth: number): unknown[] {
    const minimum = numberOf(schema["minItems"]) ?? 0;
    this.#spend(minimum);
    const itemSchemas = listOf(schema["prefixItems"] ?? schema["items"]);
    const restSchema = Array.isArray(schema["items"]) ? undefined : schema["items"];
    return Array.from({ length: minimum }, (_, index) =>
      this.make(index < itemSchemas.length ? itemSchemas[index] : restSchema, "null", depth + 1),
    );
  }

  #makeString({ format, minLength }: Schema): string {
    const minimum = numberOf(minLength) ?? 0;
    this.#spend(minimum);
    const isKnownFormat = typeof format === "string" && Object.hasOwn(FORMATS, format);
    return isKnownFormat ? (FORMATS[format] as string) : "a".repeat(minimum);
  }
}

const FORMATS: Record<string, string> = {
  "date-time": "1970-01-01T00:00:00Z",
  date: "1970-01-01",
  time: "00:00:00Z",
  duration: "P0D",
  email: "a@b.co",
  "idn-email": "a@b.co",
  hostname: "a",
  ipv4: "0.0.0.0",
  ipv6: "::",
  uri: "a:b",
  iri: "a:b",
  url: "http://a",
  uuid: "00000000-0000-0000-0000-000000000000",
  "relative-json-pointer": "0",
};

/** Returns the candidate within the bounds that is nearest to 0; `undefined` if no candidate is. */
function smallestNumber(schema: Schema, isInteger: boolean): number | undefined {
  const bound = (key: string, fallback: number) => numberOf(schema[key]) ?? fallback;
  const minimum = bound("minimum", Number.NEGATIVE_INFINITY);
  const maximum = bound("maximum", Number.POSITIVE_INFINITY);
  const above = bound("exclusiveMinimum", Number.NEGATIVE_INFINITY);
  const below = bound("exclusiveMaximum", Number.POSITIVE_INFINITY);
  const step = bound("multipleOf", isInteger ? 1 : 0);
  const roundUp = (value: number) => (step > 0 ? Math.ceil(value / step) * step : value);
  const roundDown = (value: number) => (step > 0 ? Math.floor(value / step) * step : value);
  const low = roundUp(Math.max(minimum, above));
  const high = roundDown(Math.min(maximum, below));
  const unit = step > 0 ? step : 1;
  const candidates = [0, low, low + unit, high, high - unit, (low + high) / 2];
  const isAllowed = (value: number) =>
    value >= minimum &&
    value <= maximum &&
    value > above &&
    value < below &&
    (!isInteger || Number.isInteger(value));
  const [nearest] = candidates
    .filter((value) => Number.isFinite(value) && isAllowed(value))
    .sort((a, b) => Math.abs(a) - Math.abs(b));
  return nearest;
}

/** Returns the first type that the schema names, otherwise the type that its other keywords imply. */
function firstType(schema: Schema): unknown {
  if (schema["type"] !== undefined) return firstTypeIn(schema["type"]);
  const has = (...keys: string[]) => keys.some((key) => key in schema);
  if (has("properties", "required")) return "object";
  if (has("items", "prefixItems")) return "array";
  if (has("minLength", "pattern", "format")) return "string";
  if (has("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"))
    return "number";
  return undefined;
}

function firstTypeIn(type: unknown): unknown {
  if (!Array.isArray(type)) return type;
  if (type.length === 0) throw new Unmet("no type matches all of its parts");
  return type[0];
}

function firstOfType(values: readonly unknown[], type: unknown): unknown {
  const types = [type].flat();
  const index = values.findIndex((value) => type === undefined || types.some(isType(value)));
  if (index < 0) throw new Unmet("its enum has no value that fits its type");
  return values[index];
}

function isType(value: unknown): (type: unknown) => boolean {
  return (type) => {
    if (type === "integer") return Number.isInteger(value);
    if (type === "array") return Array.isArray(value);
    if (type === "object") return isSchema(value);
    return type === "null" ? value === null : typeof value === type;
  };
}

function unescapePointer(step: string): string {
  try {
    return decodeURIComponent(step).replaceAll("~1", "/").replaceAll("~0", "~");
  } catch {
    return step;
  }
}

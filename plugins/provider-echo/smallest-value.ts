/** The smallest value that a JSON Schema accepts. */
import { refused } from "portico/provider";
import { fits, membersOf, schemasOf } from "./fits.ts";
import { endingFirst, within } from "./leads-back.ts";
import { createFittingTexts } from "./fitting-text.ts";
import {
  both,
  flat,
  isSchema,
  listOf,
  numberOf,
  type Schema,
  type Walk,
  type Work,
  without,
} from "./schema.ts";

const MAX_DEPTH = 32;
/** How much may be looked at and made, in members and characters: schemas come from callers. */
const MAX_WORK = 500_000;
/** Values that are tried for one schema before the first one has to do. */
const MAX_TRIED = 40;
/** Values that are thrown away in one walk: behind it, the first one does. */
const MAX_WASTED = 500;

/**
 * Only required properties, empty strings and lists, the number nearest to 0; the first of an `enum` or of alternatives
 * that fits, and does not only lead back to what holds it. Local `$ref`s are followed. What no such value fits (schemas that contradict themselves, patterns with looks
 * ahead) gets one that comes near. Throws 400 with `param` where the value would be large.
 */
export function smallest(schema: unknown, param = "schema"): unknown {
  const work = workFor(param);
  const spent = { checks: 0, wasted: 0 };
  return found(schema, "object", {
    root: schema,
    texts: createFittingTexts(),
    depth: 0,
    refs: ["#"],
    work,
    spent,
  });
}

function workFor(param: string): Work {
  let left = MAX_WORK;
  return {
    take(amount) {
      left -= amount;
      if (!(left >= 0))
        throw refused(param, "echo makes small values only: this schema asks for a large one");
    },
  };
}

/** The first value that fits; else the first one. `fallback` is the type where the schema names none. */
function found(schema: unknown, fallback: string, search: Walk): unknown {
  const [first] = distinct(schema, fallback, 1, search);
  return first;
}

/** So many values that fit and differ, where there are as many. */
function distinct(schema: unknown, fallback: string, count: number, search: Walk): unknown[] {
  const fitting = new Map<string, unknown>();
  let first: unknown;
  let tried = 0;
  for (const value of values(schema, fallback, search)) {
    if (tried++ === 0) first = value;
    if (fits(schema, value, { ...search, depth: 0 })) fitting.set(JSON.stringify(value), value);
    else search.spent.wasted++;
    if (fitting.size >= count || tried >= MAX_TRIED + count || search.spent.wasted > MAX_WASTED)
      break;
  }
  if (fitting.size === 0) return [first ?? null];
  return [...fitting.values()];
}

/** What a schema may accept, the smallest first. */
function* values(schema: unknown, fallback: string, search: Walk): Generator<unknown> {
  const { work } = search;
  if (!isSchema(schema) || search.depth > MAX_DEPTH) return yield fallback === "object" ? {} : null;
  work.take(1 + Object.keys(schema).length);
  const deeper: Walk = { ...search, depth: search.depth + 1 };
  if ("const" in schema) return yield given(schema["const"], work);
  if (Array.isArray(schema["enum"]) && schema["enum"].length > 0) {
    for (const one of schema["enum"]) yield given(one, work);
    return;
  }
  if (typeof schema["$ref"] === "string" || Array.isArray(schema["allOf"]))
    return yield* values(flat(schema, search), fallback, within(deeper, schema));
  for (const key of ["anyOf", "oneOf"]) {
    const options = listOf(schema[key]);
    if (options.length === 0) continue;
    const rest = without(schema, key);
    for (const option of endingFirst(options, search)) {
      const chosen = isSchema(option) ? both(rest, flat(option, search), work) : rest;
      if (option !== false) yield* take(8, values(chosen, fallback, within(deeper, option)));
    }
    return;
  }
  const { if: condition, then, else: otherwise, ...rest } = schema;
  if (condition !== undefined) {
    for (const parts of [[], [condition, then], [otherwise]]) {
      const chosen = parts
        .filter(isSchema)
        .reduce((all, part) => both(all, flat(part, search), work), rest);
      yield* take(8, values(chosen, fallback, deeper));
    }
    return;
  }
  for (const type of typesOf(schema) ?? [fallback])
    yield* take(MAX_TRIED, valuesOf(type, schema, deeper));
}

/** Some lists of values have no end, and the next alternative is to have its turn. */
function* take(count: number, all: Generator<unknown>): Generator<unknown> {
  let left = count;
  for (const one of all) {
    yield one;
    if (--left === 0) return;
  }
}

/** A value of the schema's own: it may stand there once, and be referred to often. */
function given(value: unknown, work: Work): unknown {
  work.take(JSON.stringify(value)?.length ?? 0);
  return value;
}

function typesOf(schema: Schema): unknown[] | undefined {
  if (schema["type"] !== undefined) return [schema["type"]].flat();
  const has = (...keys: string[]) => keys.some((key) => key in schema);
  if (has("properties", "required")) return ["object"];
  if (has("items", "prefixItems")) return ["array"];
  if (has("minLength", "pattern", "format")) return ["string"];
  if (has("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"))
    return ["number"];
  return undefined;
}

function* valuesOf(type: unknown, schema: Schema, search: Walk): Generator<unknown> {
  switch (type) {
    case "object":
      return yield* objects(schema, search);
    case "array":
      return yield smallestArray(schema, search);
    case "string":
      return yield* strings(schema, search);
    case "number":
    case "integer":
      return yield* numbers(schema, type === "integer");
    case "boolean":
      return yield* [false, true];
    default:
      return yield null;
  }
}

function* objects(schema: Schema, search: Walk): Generator<unknown> {
  const properties = isSchema(schema["properties"]) ? schema["properties"] : {};
  const names = namesFor(schema, properties, search);
  const some = (name: string, count: number) => {
    search.work.take(name.length + membersOf(schema["patternProperties"]));
    return distinct(allOf(schemasOf(schema, name, search)), "string", count, search);
  };
  const smallest = Object.fromEntries(names.map((name) => [name, some(name, 1)[0]]));
  yield smallest;
  // others of the same shape, for lists of different items and for what must not be
  for (const name of names)
    for (const other of some(name, 8).slice(1)) yield { ...smallest, [name]: other };
  for (const name of Object.keys(properties))
    if (!Object.hasOwn(smallest, name)) yield { ...smallest, [name]: some(name, 1)[0] };
}

function allOf(schemas: unknown[]): unknown {
  return schemas.length === 1 ? schemas[0] : { allOf: schemas };
}

function namesFor(schema: Schema, properties: Schema, search: Walk): string[] {
  const { work } = search;
  const wanted = new Set<string>();
  const dependent = isSchema(schema["dependentRequired"]) ? schema["dependentRequired"] : {};
  const want = (names: unknown) => {
    for (const name of listOf(names)) {
      if (typeof name !== "string" || wanted.has(name)) continue;
      work.take(1);
      wanted.add(name);
      if (Object.hasOwn(dependent, name)) want(dependent[name]);
    }
  };
  want(schema["required"]);
  const least = numberOf(schema["minProperties"]) ?? 0;
  if (wanted.size >= least) return [...wanted];
  const declared = Object.keys(properties);
  work.take(least + declared.length);
  for (const name of declared) if (wanted.size < least) want([name]);
  if (isSchema(schema["propertyNames"]) && wanted.size < least)
    want(distinct(schema["propertyNames"], "string", least, search).slice(0, least - wanted.size));
  for (const pattern of Object.keys(
    isSchema(schema["patternProperties"]) ? schema["patternProperties"]! : {},
  ))
    for (let i = 0; i < 8 && wanted.size < least; i++) want([search.texts.made(pattern, i, i)]);
  for (let i = 0; wanted.size < least; i++) wanted.add(`property${i}`);
  return [...wanted];
}

function smallestArray(schema: Schema, search: Walk): unknown[] {
  const tuple = listOf(schema["prefixItems"] ?? schema["items"]);
  const rest = Array.isArray(schema["items"]) ? schema["additionalItems"] : schema["items"];
  const contained = schema["contains"] === undefined ? 0 : (numberOf(schema["minContains"]) ?? 1);
  const least = Math.max(numberOf(schema["minItems"]) ?? 0, contained);
  search.work.take(least);
  const items = Array.from({ length: least }, (_, i) => {
    const own = i < tuple.length ? tuple[i] : rest;
    return i < contained
      ? allOf([schema["contains"], own].filter((one) => one !== undefined))
      : own;
  });
  if (schema["uniqueItems"] !== true) return items.map((item) => found(item, "null", search));
  const others = distinct(rest, "null", least, search).values();
  const used = new Set<string>();
  const isFree = (one: unknown) => !used.has(JSON.stringify(one));
  return items.map((item) => {
    const choice = item === rest ? others : distinct(item, "null", 8, search);
    let chosen: unknown = null;
    for (const one of choice) {
      chosen = one;
      if (isFree(one)) break;
    }
    used.add(JSON.stringify(chosen));
    return chosen;
  });
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

function* strings(schema: Schema, { texts, work }: Walk): Generator<string> {
  const least = numberOf(schema["minLength"]) ?? 0;
  work.take(least);
  const { format, pattern } = schema;
  const formatted =
    typeof format === "string" && Object.hasOwn(FORMATS, format) ? FORMATS[format]! : undefined;
  if (formatted !== undefined) yield longer(formatted, least, String(format));
  if (typeof pattern === "string") {
    const made = texts.made(pattern, least, 0);
    // what looks like a date is better one
    yield* Object.values(FORMATS).filter(
      (one) => one.length === made.length && texts.fits(pattern, one),
    );
    for (let pick = 0; pick < 10; pick++) yield texts.made(pattern, least, pick);
    for (let more = 1; more <= 10; more++) yield texts.made(pattern, least + more, 0);
    yield* Object.values(FORMATS);
  }
  const text = longer(formatted ?? "", least, String(format));
  yield text;
  for (const char of "abcdefghijklmnopqrstuvwxyz")
    yield text === "" ? char : text.slice(0, -1) + char;
  for (let i = 0; i < least + MAX_TRIED; i++) yield `${text}${i}`;
}

/** Where it may grow without losing its format. */
function longer(text: string, least: number, format: string): string {
  if (text.length >= least) return text;
  // a part of a second, which has one digit at least
  if (text.endsWith("00Z")) return `${`${text.slice(0, -1)}.0`.padEnd(least - 1, "0")}Z`;
  if (format.endsWith("email")) return text.padStart(least, "a");
  return text.padEnd(least, text.at(-1) ?? "a");
}

function* numbers(schema: Schema, isInteger: boolean): Generator<number> {
  const bound = (...keys: string[]) =>
    keys.map((key) => numberOf(schema[key])).filter((one) => one !== undefined);
  const low = Math.max(Number.NEGATIVE_INFINITY, ...bound("minimum", "exclusiveMinimum"));
  const high = Math.min(Number.POSITIVE_INFINITY, ...bound("maximum", "exclusiveMaximum"));
  const nearest = Math.max(low, Math.min(high, 0)) + 0;
  const step = numberOf(schema["multipleOf"]) ?? (isInteger ? 1 : 0);
  if (!(step > 0)) {
    yield nearest;
    yield Number.isFinite(low) && Number.isFinite(high) ? (low + high) / 2 : nearest + 0.5;
  }
  const size = step > 0 ? step : 1;
  const start =
    step > 0
      ? (nearest > 0 ? Math.ceil(nearest / size) : Math.floor(nearest / size)) * size
      : nearest;
  // to both sides: where one is closed, nothing of it fits
  for (let i = 0; ; i++)
    for (const value of i === 0 ? [start] : [start + i * size, start - i * size]) yield value + 0;
}

import type { TSchema } from "@sinclair/typebox";
import { type ValueError, ValueErrorType as T } from "@sinclair/typebox/errors";
import { formatKeyPath } from "../text/key-path.ts";
import { didYouMean } from "../text/nearest.ts";

/** One way in which a value breaks its schema. */
export interface Problem {
  path: (string | number)[];
  /** What is wrong, to be read after the name of the path: `must be a string, not a number`. */
  message: string;
  kind: "unknown" | "missing" | "type" | "value";
  /** For an unknown key: the keys that the object may have. */
  knownKeys?: readonly string[];
  /** Where only certain values are allowed: these, as they are written. */
  oneOf?: string[];
}

type Path = (string | number)[];

const MOST = 50;
/** An error message does not list more keys than this. */
const MOST_KEYS = 20;

/** Turns TypeBox's errors about `root` into at most 50 problems, the first one for each path; unions are boiled down. */
export function problemsIn(errors: Iterable<ValueError>, root: unknown): Problem[] {
  const problems = new Map<string, Problem>();
  for (const error of errors) {
    for (const problem of describe(error, root)) {
      const key = formatKeyPath(problem.path);
      if (!problems.has(key)) problems.set(key, problem);
    }
    if (problems.size >= MOST) break;
  }
  return [...problems.values()];
}

/** The problem as a sentence: `messages[2].role must be a string, not a number`. */
export function sentence({ path, message, knownKeys }: Problem, root = "The value"): string {
  const subject = path.length === 0 ? root : formatKeyPath(path);
  return `${subject} ${message}${knownKeys ? hintFor(path, knownKeys) : ""}`;
}

/** Suggests the key that was probably meant, or lists all keys if there are few. */
function hintFor(path: Path, knownKeys: readonly string[]): string {
  const parent = path.slice(0, -1);
  const nearest = didYouMean(String(path.at(-1)), knownKeys);
  if (nearest !== undefined) return `; did you mean ${formatKeyPath([...parent, nearest])}?`;
  if (knownKeys.length === 0 || knownKeys.length > MOST_KEYS) return "";
  return `; the known keys are ${knownKeys.join(", ")}`;
}

function describe(error: ValueError, root: unknown): Problem[] {
  const path = toPath(error.path, root);
  if (error.type === T.Union && error.value !== undefined) return describeUnion(error, path, root);
  if (error.type === T.ObjectRequiredProperty || error.value === undefined)
    return [{ path, message: "is missing", kind: "missing" }];
  if (
    error.type === T.ObjectAdditionalProperties ||
    error.type === T.IntersectUnevaluatedProperties
  )
    return [unknownKey(error, path)];
  return [demand(error, path)];
}

function unknownKey({ schema }: ValueError, path: Path): Problem {
  const knownKeys = Object.keys((schema["properties"] ?? {}) as object);
  return { path, message: "is not a known key", kind: "unknown", knownKeys };
}

/**
 * Of the variants of a union, the one that the value was probably meant to be is the one to talk about: one whose literal
 * members (`kind: "one"`) fit, and of several the one with the least to complain about.
 */
function describeUnion(error: ValueError, path: Path, root: unknown): Problem[] {
  const variants = error.errors.map((iterator) => problemsIn(iterator, root));
  const entered = variants.filter((problems) => isOfThatKind(problems, path));
  if (entered.length === 0) return [brokenRule(variants.flat(), path) ?? demand(error, path)];
  const misfits = entered.flatMap((problems) => misfitIn(problems, path) ?? []);
  if (misfits.length === entered.length && entered.length > 1) {
    const joined = joinMisfits(misfits);
    if (joined) return [joined];
  }
  const fitting = entered.filter((problems) => misfitIn(problems, path) === undefined);
  return fewestOf(fitting.length > 0 ? fitting : entered);
}

/** The value is of the variant's type, and something in it is wrong. */
const isOfThatKind = (problems: readonly Problem[], path: Path): boolean =>
  problems.length > 0 && problems.every((problem) => problem.path.length > path.length);

/** The value is of the right type, but breaks that variant's rule. */
const brokenRule = (problems: readonly Problem[], path: Path): Problem | undefined =>
  problems.find(
    ({ kind, oneOf, path: place }) => kind === "value" && !oneOf && place.length === path.length,
  );

/** A literal member, such as `kind`, that is another variant's. */
const misfitIn = (problems: readonly Problem[], path: Path): Problem | undefined =>
  problems.find(({ oneOf, path: place }) => oneOf && place.length === path.length + 1);

/** No variant's literal fits: where all of them ask for the same member, one problem names all that it may be. */
function joinMisfits(misfits: readonly Problem[]): Problem | undefined {
  const [first] = misfits;
  const member = first?.path.at(-1);
  if (!first || misfits.some(({ path }) => path.at(-1) !== member)) return undefined;
  const oneOf = [...new Set(misfits.flatMap((problem) => problem.oneOf ?? []))];
  return { ...first, oneOf, message: `must be ${orList(oneOf)}` };
}

const fewestOf = (lists: readonly Problem[][]): Problem[] =>
  lists.reduce((best, problems) => (problems.length < best.length ? problems : best));

function demand(error: ValueError, path: Path): Problem {
  const literals = literalsOf(error.schema);
  if (!literals)
    return { path, message: rule(error), kind: TYPES.has(error.type) ? "type" : "value" };
  return {
    path,
    message: `must be ${orList(literals)}, not ${shown(error.value)}`,
    kind: "value",
    oneOf: literals,
  };
}

const atLeast = (count: unknown, what: string) =>
  count === 1 ? "must not be empty" : `must have at least ${count} ${what}`;

/** By the rule, whatever kind of value it is for. */
const RULES: Record<string, (schema: TSchema) => string> = {
  MinLength: ({ minLength }) => atLeast(minLength, "characters"),
  MaxLength: ({ maxLength }) => `must have at most ${maxLength} characters`,
  Pattern: ({ pattern, expected }) => `must ${expected ? `be ${expected}` : `match ${pattern}`}`,
  Format: ({ format, expected }) => `must be ${expected ?? `a valid ${format}`}`,
  MinItems: ({ minItems }) => atLeast(minItems, "entries"),
  MaxItems: ({ maxItems }) => `must have at most ${maxItems} entries`,
  MinProperties: ({ minProperties }) => `must have at least ${minProperties} members`,
  MaxProperties: ({ maxProperties }) => `must have at most ${maxProperties} members`,
  Minimum: ({ minimum }) => `must be ${minimum} or more`,
  Maximum: ({ maximum }) => `must be ${maximum} or less`,
  ExclusiveMinimum: ({ exclusiveMinimum }) => `must be more than ${exclusiveMinimum}`,
  ExclusiveMaximum: ({ exclusiveMaximum }) => `must be less than ${exclusiveMaximum}`,
};
const TYPES = new Set([
  T.Union,
  T.String,
  T.Number,
  T.Integer,
  T.Boolean,
  T.Object,
  T.Array,
  T.Null,
  T.Tuple,
]);

function rule({ schema, type, value, message }: ValueError): string {
  if (TYPES.has(type)) {
    const words = wanted(schema);
    // Where a text may be right, the type says nothing: the text itself is the wrong one.
    const received = words.some((word) => word.startsWith('"'))
      ? shown(value)
      : typeOrFraction(value);
    return `must be ${orList(words)}, not ${received}`;
  }
  const name = T[type].replace(/^(?:String|Array|Object|Number|Integer)(?=.)/, "");
  return (
    RULES[name]?.(schema) ?? `is not allowed: ${message.charAt(0).toLowerCase()}${message.slice(1)}`
  );
}

function literalsOf(schema: TSchema): string[] | undefined {
  if ("const" in schema) return [JSON.stringify(schema["const"])];
  const variants = (schema["anyOf"] as TSchema[] | undefined)?.map(literalsOf);
  return variants?.every((variant) => variant !== undefined) ? variants.flat() : undefined;
}

/** What a schema takes, in words: literals as they are written, else the name of the type. */
function wanted(schema: TSchema): string[] {
  if (schema["anyOf"]) return [...new Set((schema["anyOf"] as TSchema[]).flatMap(wanted))];
  if ("const" in schema) return [JSON.stringify(schema["const"])];
  const names: Record<string, string> = {
    integer: "a whole number",
    array: "a list",
    object: "an object",
    null: "null",
  };
  const type = String(schema["type"] ?? "of another kind");
  return [names[type] ?? (schema["type"] ? `a ${type}` : type)];
}

function typeOrFraction(value: unknown): string {
  if (typeof value === "symbol") return describeExactNumber(value);
  return typeof value === "number" && !Number.isInteger(value) ? String(value) : typeName(value);
}

const SHOWN_DIGITS = 40;

/** Checks see an `ExactNumber` as a symbol of its digits: see `withSymbols`. */
function describeExactNumber({ description: digits = "" }: symbol): string {
  const number = digits.length > SHOWN_DIGITS ? `a number of ${digits.length} digits` : digits;
  return `${number}, which is beyond ±${Number.MAX_SAFE_INTEGER}`;
}

/** What kind of value it is, in words. */
export function typeName(value: unknown): string {
  if (value === undefined) return "nothing";
  if (value === null) return "null";
  if (Array.isArray(value)) return "a list";
  return typeof value === "object" ? "an object" : `a ${typeof value}`;
}

// A wrong value may be a secret that slid into the wrong place: only short plain words are repeated.
function shown(value: unknown): string {
  if (typeof value !== "string") return typeOrFraction(value);
  return /^[\w .:/-]{0,24}$/.test(value) ? JSON.stringify(value) : "that text";
}

const orList = (words: readonly string[]): string =>
  words.length < 2 ? words.join("") : `${words.slice(0, -1).join(", ")} or ${words.at(-1)}`;

/** TypeBox gives JSON pointers; whether `/0` is a position or a key shows only in the value. */
function toPath(pointer: string, root: unknown): Path {
  const path: Path = [];
  let here = root;
  for (const escaped of pointer.split("/").slice(1)) {
    const step = escaped.replaceAll("~1", "/").replaceAll("~0", "~");
    path.push(Array.isArray(here) ? Number(step) : step);
    here = memberOf(here, step);
  }
  return path;
}

function memberOf(value: unknown, name: string): unknown {
  if (typeof value !== "object" || value === null) return undefined;
  return (value as Record<string, unknown>)[name];
}

import type { TSchema } from "@sinclair/typebox";
import { type ValueError, ValueErrorType as T } from "@sinclair/typebox/errors";
import { formatKeyPath } from "../text/key-path.ts";
import { didYouMean } from "../text/nearest.ts";

/** One violation of a schema by a value. */
export interface Problem {
  path: (string | number)[];
  /** The predicate that follows the name of the path: `must be a string, not a number`. */
  message: string;
  kind: "unknown" | "missing" | "type" | "value";
  /** The keys that the object may have, if the problem is an unknown key. */
  knownKeys?: readonly string[];
  /** The allowed values in JSON, if there are only certain ones. */
  oneOf?: string[];
}

type Path = (string | number)[];

const MAX_PROBLEMS = 50;
/** The most keys that an error message lists. */
const MAX_LISTED_KEYS = 20;

/**
 * Turns TypeBox's errors about `root` into at most 50 problems, the first one for each path. Errors of unions are
 * reduced to those of the likeliest variant.
 */
export function problemsIn(errors: Iterable<ValueError>, root: unknown): Problem[] {
  const problems = new Map<string, Problem>();
  for (const error of errors) {
    for (const problem of describe(error, root)) {
      const key = formatKeyPath(problem.path);
      if (!problems.has(key)) problems.set(key, problem);
    }
    if (problems.size >= MAX_PROBLEMS) break;
  }
  return [...problems.values()];
}

/** Returns the problem as a sentence: `messages[2].role must be a string, not a number`. */
export function sentence({ path, message, knownKeys }: Problem, root = "The value"): string {
  const subject = path.length === 0 ? root : formatKeyPath(path);
  return `${subject} ${message}${knownKeys ? hintFor(path, knownKeys) : ""}`;
}

/** Suggests the key that was probably meant, or lists all keys if there are few. */
function hintFor(path: Path, knownKeys: readonly string[]): string {
  const parent = path.slice(0, -1);
  const nearest = didYouMean(String(path.at(-1)), knownKeys);
  if (nearest !== undefined) return `; did you mean ${formatKeyPath([...parent, nearest])}?`;
  if (knownKeys.length === 0 || knownKeys.length > MAX_LISTED_KEYS) return "";
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
  return [describeRequirement(error, path)];
}

function unknownKey({ schema }: ValueError, path: Path): Problem {
  const knownKeys = Object.keys((schema["properties"] ?? {}) as object);
  return { path, message: "is not a known key", kind: "unknown", knownKeys };
}

/**
 * Describes the errors of the variant of a union that the value was probably meant to be: one whose literal members
 * (`kind: "one"`) match, and of several the one with the fewest problems.
 */
function describeUnion(error: ValueError, path: Path, root: unknown): Problem[] {
  const variants = error.errors.map((iterator) => problemsIn(iterator, root));
  const candidates = variants.filter((problems) => isOfVariantType(problems, path));
  if (candidates.length === 0)
    return [findViolatedRule(variants.flat(), path) ?? describeRequirement(error, path)];
  const mismatches = candidates.flatMap((problems) => findMismatch(problems, path) ?? []);
  if (mismatches.length === candidates.length && candidates.length > 1) {
    const joinedProblem = joinMismatches(mismatches);
    if (joinedProblem) return [joinedProblem];
  }
  const fitting = candidates.filter((problems) => findMismatch(problems, path) === undefined);
  return pickFewest(fitting.length > 0 ? fitting : candidates);
}

/** Whether the value is of the variant's type, and only something in it is wrong. */
const isOfVariantType = (problems: readonly Problem[], path: Path): boolean =>
  problems.length > 0 && problems.every((problem) => problem.path.length > path.length);

/** Finds the violated rule of a variant whose type the value has. */
const findViolatedRule = (problems: readonly Problem[], path: Path): Problem | undefined =>
  problems.find(
    ({ kind, oneOf, path: place }) => kind === "value" && !oneOf && place.length === path.length,
  );

/** Finds a literal member, such as `kind`, that belongs to another variant. */
const findMismatch = (problems: readonly Problem[], path: Path): Problem | undefined =>
  problems.find(({ oneOf, path: place }) => oneOf && place.length === path.length + 1);

/**
 * Joins the mismatches of all variants into one problem that lists the allowed values, if they concern the same member.
 */
function joinMismatches(mismatches: readonly Problem[]): Problem | undefined {
  const [first] = mismatches;
  const member = first?.path.at(-1);
  if (!first || mismatches.some(({ path }) => path.at(-1) !== member)) return undefined;
  const oneOf = [...new Set(mismatches.flatMap((problem) => problem.oneOf ?? []))];
  return { ...first, oneOf, message: `must be ${orList(oneOf)}` };
}

const pickFewest = (lists: readonly Problem[][]): Problem[] =>
  lists.reduce((best, problems) => (problems.length < best.length ? problems : best));

function describeRequirement(error: ValueError, path: Path): Problem {
  const literals = listLiterals(error.schema);
  if (!literals)
    return { path, message: ruleMessage(error), kind: TYPES.has(error.type) ? "type" : "value" };
  return {
    path,
    message: `must be ${orList(literals)}, not ${showValue(error.value)}`,
    kind: "value",
    oneOf: literals,
  };
}

const atLeast = (count: unknown, noun: string) =>
  count === 1 ? "must not be empty" : `must have at least ${count} ${noun}`;

/** The messages by rule, for all kinds of values. */
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

function ruleMessage({ schema, type, value, message }: ValueError): string {
  if (TYPES.has(type)) {
    const words = describeAllowed(schema);
    // If some text is allowed, the type of the value does not explain the problem, so its text is shown.
    const received = words.some((word) => word.startsWith('"'))
      ? showValue(value)
      : typeOrFraction(value);
    return `must be ${orList(words)}, not ${received}`;
  }
  const name = T[type].replace(/^(?:String|Array|Object|Number|Integer)(?=.)/, "");
  return (
    RULES[name]?.(schema) ?? `is not allowed: ${message.charAt(0).toLowerCase()}${message.slice(1)}`
  );
}

function listLiterals(schema: TSchema): string[] | undefined {
  if ("const" in schema) return [JSON.stringify(schema["const"])];
  const variants = (schema["anyOf"] as TSchema[] | undefined)?.map(listLiterals);
  return variants?.every((variant) => variant !== undefined) ? variants.flat() : undefined;
}

/** Describes the values that a schema allows: literals in JSON, else the name of the type. */
function describeAllowed(schema: TSchema): string[] {
  if (schema["anyOf"]) return [...new Set((schema["anyOf"] as TSchema[]).flatMap(describeAllowed))];
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

const MAX_SHOWN_DIGITS = 40;

/** Describes an `ExactNumber`, which checks see as a symbol of its digits: see `withSymbols`. */
function describeExactNumber({ description: digits = "" }: symbol): string {
  const number = digits.length > MAX_SHOWN_DIGITS ? `a number of ${digits.length} digits` : digits;
  return `${number}, which is beyond ±${Number.MAX_SAFE_INTEGER}`;
}

/** Names the type of a value in words. */
export function typeName(value: unknown): string {
  if (value === undefined) return "nothing";
  if (value === null) return "null";
  if (Array.isArray(value)) return "a list";
  return typeof value === "object" ? "an object" : `a ${typeof value}`;
}

// A wrong value may be a misplaced secret, so only short plain words are repeated.
function showValue(value: unknown): string {
  if (typeof value !== "string") return typeOrFraction(value);
  return /^[\w .:/-]{0,24}$/.test(value) ? JSON.stringify(value) : "that text";
}

const orList = (words: readonly string[]): string =>
  words.length < 2 ? words.join("") : `${words.slice(0, -1).join(", ")} or ${words.at(-1)}`;

/** Converts one of TypeBox's JSON pointers. Only the value shows whether `/0` is a position or a key. */
function toPath(pointer: string, root: unknown): Path {
  const path: Path = [];
  let current = root;
  for (const escaped of pointer.split("/").slice(1)) {
    const step = escaped.replaceAll("~1", "/").replaceAll("~0", "~");
    path.push(Array.isArray(current) ? Number(step) : step);
    current = getMember(current, step);
  }
  return path;
}

function getMember(value: unknown, name: string): unknown {
  if (typeof value !== "object" || value === null) return undefined;
  return (value as Record<string, unknown>)[name];
}

import type { TSchema } from "@sinclair/typebox";
import { Errors } from "@sinclair/typebox/errors";
import { fillDefaults, mapValueSchema } from "../schema/defaults.ts";
import { formatKeyPath, type KeyPath, parseKeyPath, valueAt } from "../text/key-path.ts";
import { didYouMean } from "../text/nearest.ts";
import { type Problem, problemsIn } from "../schema/problems.ts";
import { listAllKeys, listNamedKeys, schemaAt } from "./compose.ts";
import type { ConfigProblem } from "./config-error.ts";
import { listEntries, findNode } from "./json5/parse.ts";
import type { Reading } from "./read.ts";
import { expandReferences } from "./references.ts";
import { refusalsIn } from "./refusals.ts";

/** The message of problems with a key that no schema defines (yet). */
export const UNKNOWN = "is not a known key";

/**
 * Returns the values of the file with references replaced and defaults filled in, and a function that lists the
 * problems.
 */
export function evaluate(reading: Reading, schema: TSchema) {
  const { references, ...expanded } = expandReferences(reading.raw, reading.env, (text, path) =>
    convertVariable(text, schemaAt(schema, path)),
  );
  const value = fillDefaults(schema, expanded.value, "sections") as Record<string, unknown>;
  const schemaProblems = problemsIn(Errors(schema, [], value), value);
  const valueProblems = keepFirstPerPath(
    [...refusalsIn(value, schema, references), ...schemaProblems],
    expanded.problems,
  );
  const problems = (isRelevant: (problem: Problem) => boolean = () => true) =>
    [...expanded.problems, ...valueProblems]
      .filter(isRelevant)
      .map((problem) => explain(problem, value, reading, schema));
  return { value, references, problems };
}

/**
 * Keeps one problem per path, because a value whose variable is unset, or that is refused, violates the schema as well.
 */
function keepFirstPerPath(problems: readonly Problem[], before: readonly Problem[]): Problem[] {
  const paths = new Set(before.map(({ path }) => formatKeyPath(path)));
  return problems.filter(({ path }) => {
    const key = formatKeyPath(path);
    if (paths.has(key)) return false;
    paths.add(key);
    return true;
  });
}

// A variable is always text. If the schema requires a number or a boolean, "18789" and "true" are converted.
function convertVariable(text: string, schema: TSchema | undefined): unknown {
  const variants = (schema?.["anyOf"] ?? [schema ?? {}]) as TSchema[];
  const allows = (type: string) =>
    variants.some((variant) => variant["type"] === type && !("const" in variant));
  if (allows("boolean") && (text === "true" || text === "false")) return text === "true";
  const isNumber =
    (allows("number") || allows("integer")) && text.trim() !== "" && Number.isFinite(Number(text));
  return isNumber && !allows("string") ? Number(text) : text;
}

function explain(
  { path, message, kind }: Problem,
  value: unknown,
  reading: Reading,
  schema: TSchema,
): ConfigProblem {
  const key = formatKeyPath(path);
  const line = findLine(reading, path);
  if (kind !== "unknown") {
    const isMap = isMapOfEntries(schemaAt(schema, path)) && Array.isArray(valueAt(value, path));
    return {
      key,
      message,
      line,
      hint: isMap ? "write an object with one entry per name: { NAME: { … } }" : undefined,
    };
  }
  return { key, message, line, ...suggestFix(path, schema) };
}

const isMapOfEntries = (schema: TSchema | undefined) =>
  schema !== undefined && mapValueSchema(schema) !== undefined;

/** Suggests a fix for an unknown key. In a map of entries, an entry is named by its key. */
function suggestFix(path: KeyPath, schema: TSchema): Pick<ConfigProblem, "nearest" | "hint"> {
  const [map, entry] = [path.slice(0, -2), path.at(-2)];
  const isName = path.at(-1) === "name" || path.at(-1) === "id";
  const isEntry = typeof entry === "string" && isMapOfEntries(schemaAt(schema, map));
  if (isName && isEntry && !listNamedKeys(schemaAt(schema, map)).includes(entry))
    return {
      hint: `entries of ${formatKeyPath(map)} are named by their keys, so this entry already has the name ${entry}: remove this field`,
    };
  const nearest = findNearestKey(path, schema);
  return nearest === undefined ? { hint: describeSiblings(path, schema) } : { nearest };
}

const MAX_SIBLINGS = 15;

/** Lists the known keys at this place, if they are few enough. */
function describeSiblings(path: KeyPath, schema: TSchema): string | undefined {
  const parent = path.slice(0, -1);
  const siblings = listNamedKeys(schemaAt(schema, parent));
  if (parent.length === 0 || siblings.length === 0 || siblings.length > MAX_SIBLINGS)
    return undefined;
  return `${formatKeyPath(parent)} knows ${siblings.join(", ")}`;
}

/** Returns the problem of a key that no schema defines; undefined if one does. */
export function explainUnknown(path: KeyPath, schema: TSchema): ConfigProblem | undefined {
  const unknownDepth = path.findIndex(
    (_, i) => schemaAt(schema, path.slice(0, i + 1)) === undefined,
  );
  if (unknownDepth === -1) return undefined;
  const { nearest: near, hint } = suggestFix(path.slice(0, unknownDepth + 1), schema);
  const completedPath =
    near === undefined ? [] : [...parseKeyPath(near), ...path.slice(unknownDepth + 1)];
  const nearest =
    near !== undefined && schemaAt(schema, completedPath) ? formatKeyPath(completedPath) : near;
  return { key: formatKeyPath(path), message: UNKNOWN, nearest, hint };
}

/**
 * Finds the known key that was probably meant. Siblings come first: by their spelling, then one that contains the word
 * (`timeout`, `shutdownTimeoutMs`); then, for a key near the top, keys of the same section and of others.
 */
function findNearestKey(path: KeyPath, schema: TSchema): string | undefined {
  const word = String(path.at(-1));
  const parent = path.slice(0, -1);
  const siblings = listNamedKeys(schemaAt(schema, parent));
  const sibling = didYouMean(word, siblings) ?? findByPart(word, siblings);
  if (sibling !== undefined) return formatKeyPath([...parent, sibling]);
  if (path.length > NEAR_TOP) return undefined;
  const keys = listAllKeys(schema);
  const sameSection = keys.filter((key) => key.startsWith(`${String(path[0])}.`));
  return findKeyByName(word, sameSection) ?? findKeyByName(word, keys);
}

/** Deeper keys have enough siblings; a key with the same name in another section has another meaning. */
const NEAR_TOP = 2;
const SHORTEST_PART = 4;

function findByPart(word: string, names: readonly string[]): string | undefined {
  if (word.length < SHORTEST_PART) return undefined;
  const parts = names.filter((name) => name.toLowerCase().includes(word.toLowerCase()));
  return parts.length === 1 ? parts[0] : undefined;
}

/** Returns the first of the dotted keys whose last step resembles the word. */
function findKeyByName(word: string, keys: readonly string[]): string | undefined {
  const byName = new Map<string, string>();
  for (const key of keys) {
    const name = key.slice(key.lastIndexOf(".") + 1);
    if (!byName.has(name)) byName.set(name, key);
  }
  return byName.get(didYouMean(word, byName.keys()) ?? "");
}

// A missing key has no line in the file, so the line is that of its object.
export function findLine({ node }: Reading, path: KeyPath): number | undefined {
  for (let depth = path.length; depth > 0; depth--) {
    const parent = findNode(node, path.slice(0, depth - 1));
    const entry = parent && listEntries(parent).find(({ key }) => key === path[depth - 1]);
    if (entry) return entry.line;
  }
  return undefined;
}

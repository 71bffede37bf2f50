import type { TSchema } from "@sinclair/typebox";
import { Errors } from "@sinclair/typebox/errors";
import { fillDefaults } from "../defaults.ts";
import { formatKeyPath, type KeyPath, parseKeyPath, valueAt } from "../text/key-path.ts";
import { didYouMean } from "../text/nearest.ts";
import { type Problem, problemsIn } from "../problems.ts";
import { allKeys, namedKeys, schemaAt } from "./compose.ts";
import type { ConfigProblem } from "./error.ts";
import { entriesOf, nodeAt } from "./json5.ts";
import type { Reading } from "./read.ts";

/** Problems of this message are about a key that nobody has defined (yet). */
export const UNKNOWN = "is not a known key";

/** The value with its defaults, and what is wrong with it. */
export function evaluate(
  reading: Reading,
  schema: TSchema,
): { value: Record<string, unknown>; problems: ConfigProblem[] } {
  const value = fillDefaults(schema, typed(reading, schema), { sections: true }) as Record<string, unknown>;
  const unset = reading.references.filter((reference) => reference.unset.length > 0);
  // A string with an unset variable has no value yet: that is the one thing to say about it.
  const found = problemsIn(Errors(schema, [], value), value).filter(
    ({ path }) => !unset.some((reference) => formatKeyPath(reference.path) === formatKeyPath(path)),
  );
  const problems = [...reading.problems, ...found].map((problem) => explain(problem, reading, schema));
  return { value, problems };
}

// A variable is always text: where the schema wants a number or a yes or no, "18789" and "true" are taken as such.
function typed(reading: Reading, schema: TSchema): unknown {
  let value = reading.value;
  for (const { path, whole, unset } of reading.references) {
    const text = valueAt(value, path);
    const wanted = schemaAt(schema, path)?.["type"];
    if (!whole || unset.length > 0 || typeof text !== "string") continue;
    if ((wanted === "number" || wanted === "integer") && text.trim() !== "" && Number.isFinite(Number(text)))
      value = replaceAt(value, path, Number(text));
    else if (wanted === "boolean" && (text === "true" || text === "false"))
      value = replaceAt(value, path, text === "true");
  }
  return value;
}

function replaceAt(value: unknown, path: KeyPath, put: unknown): unknown {
  const [step, ...further] = path;
  if (step === undefined) return put;
  const below = replaceAt(valueAt(value, [step]), further, put);
  if (Array.isArray(value)) return value.map((item, i) => (i === step ? below : item));
  return { ...(value as object), [step]: below };
}

function explain({ path, message, kind }: Problem, reading: Reading, schema: TSchema): ConfigProblem {
  const nearest = kind === "unknown" ? nearestKey(path, schema) : undefined;
  return { key: formatKeyPath(path), message, line: lineOf(reading, path), nearest };
}

/** What is wrong with a key that no schema knows; undefined where one does. */
export function explainUnknown(path: KeyPath, schema: TSchema): ConfigProblem | undefined {
  const below = path.findIndex((_, i) => schemaAt(schema, path.slice(0, i + 1)) === undefined);
  if (below === -1) return undefined;
  const near = nearestKey(path.slice(0, below + 1), schema);
  const whole = near === undefined ? [] : [...parseKeyPath(near), ...path.slice(below + 1)];
  const nearest = near !== undefined && schemaAt(schema, whole) ? formatKeyPath(whole) : near;
  return { key: formatKeyPath(path), message: UNKNOWN, nearest };
}

/** The known key that was probably meant: a neighbour of like name, else a key of that name elsewhere. */
function nearestKey(path: KeyPath, schema: TSchema): string | undefined {
  const word = String(path.at(-1));
  const parent = path.slice(0, -1);
  const neighbour = didYouMean(word, namedKeys(schemaAt(schema, parent)));
  if (neighbour !== undefined) return formatKeyPath([...parent, neighbour]);
  const elsewhere = new Map(
    allKeys(schema)
      .map((key) => [key.slice(key.lastIndexOf(".") + 1), key])
      .reverse() as [string, string][],
  );
  return elsewhere.get(didYouMean(word, elsewhere.keys()) ?? "");
}

// A missing key has no place; the object that lacks it has.
function lineOf({ node }: Reading, path: KeyPath): number | undefined {
  for (let depth = path.length; depth > 0; depth--) {
    const parent = nodeAt(node, path.slice(0, depth - 1));
    const entry = parent && entriesOf(parent).find(({ key }) => key === path[depth - 1]);
    if (entry) return entry.line;
  }
  return undefined;
}

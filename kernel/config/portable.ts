/**
 * The configuration on its way to another gateway: its secrets stay behind, and a reference to a variable stands in the
 * place of each.
 */
import type { TSchema } from "@sinclair/typebox";
import { isRecord, type KeyPath, mapStrings, parseKeyPath, valueAt } from "../text/key-path.ts";
import { schemaAt } from "./compose.ts";
import { differencesBetween } from "./differences.ts";
import { type ConfigEdit, isMapOfEntries } from "./edits.ts";
import { isWholeReference } from "./references.ts";
import { maskText } from "./secrets.ts";

/** A secret that was left out. */
interface LeftOutSecret {
  path: KeyPath;
  /** The variable that replaces the secret. */
  variable: string;
}

export interface PortableConfig {
  configuration: unknown;
  secrets: LeftOutSecret[];
}

/** The content of the file, with `${CHANNELS_MAIN_API_KEY}` in place of a secret. References stay unchanged. */
export function withoutSecretValues(raw: unknown, schema: TSchema): PortableConfig {
  const secrets: LeftOutSecret[] = [];
  const configuration = mapStrings(raw, (text, at) => {
    if (!isSecret(text, at, schema)) return text;
    const path = [...at];
    const variable = freeName(variableFor(path), secrets);
    secrets.push({ path, variable });
    return reference(variable);
  });
  return { configuration, secrets };
}

/** The edits that make a file, which says `raw`, say what an exported configuration says. */
export function editsForImport(
  configuration: Readonly<Record<string, unknown>>,
  raw: Readonly<Record<string, unknown>>,
  schema: TSchema,
): ConfigEdit[] {
  const wanted = withOwnSecrets(configuration, raw, schema) as Record<string, unknown>;
  return differencesBetween(raw, wanted, schema).map(({ key, kind }) => {
    const path = parseKeyPath(key);
    return kind === "removed" ? { path, remove: true } : { path, value: valueAt(wanted, path) };
  });
}

/**
 * What the file is to say after an import: what was exported, with the secrets that are here already. These fill the
 * places that an export made, and those that the imported text leaves open.
 */
function withOwnSecrets(wanted: unknown, raw: unknown, schema: TSchema): unknown {
  const filled = mapStrings(wanted, (text, path) => {
    const own = valueAt(raw, path);
    return typeof own === "string" && isPlaceFor(text, path) ? own : text;
  });
  let result = filled;
  mapStrings(raw, (text, path) => {
    if (maskText(text, path, schema) !== text && isOpen(result, path, schema))
      result = withValue(result, path, text);
    return text;
  });
  return result;
}

/** A reference is no secret: it says where the secret is. */
function isSecret(text: string, path: KeyPath, schema: TSchema): boolean {
  return !isWholeReference(text) && maskText(text, path, schema) !== text;
}

function reference(variable: string): string {
  return `\${${variable}}`;
}

/** `channels.main.apiKey` → `CHANNELS_MAIN_API_KEY`. */
function variableFor(path: KeyPath): string {
  const words = path.map((step) => String(step).replace(/([a-z\d])([A-Z])/g, "$1_$2"));
  const name = words.join("_").replace(/\W+/g, "_").toUpperCase();
  return /^\d/.test(name) ? `_${name}` : name;
}

/** Two keys may come to the same name: `my-key` and `my_key`. */
function freeName(name: string, taken: readonly LeftOutSecret[]): string {
  const names = new Set(taken.map(({ variable }) => variable));
  let free = name;
  for (let n = 2; names.has(free); n += 1) free = `${name}_${n}`;
  return free;
}

function isPlaceFor(text: string, path: KeyPath): boolean {
  const [, variable = ""] = /^\$\{(\w+)\}$/.exec(text) ?? [];
  return variable.replace(/_\d+$/, "") === variableFor(path).replace(/_\d+$/, "");
}

/** Whether nothing stands there, and no entry of a map that the place belongs to was left out on purpose. */
function isOpen(value: unknown, path: KeyPath, schema: TSchema): boolean {
  if (valueAt(value, path) !== undefined) return false;
  return path.every((step, i) => {
    if (typeof step === "number") return false;
    const above = path.slice(0, i);
    const isEntry = isMapOfEntries(schemaAt(schema, above));
    return !isEntry || valueAt(value, path.slice(0, i + 1)) !== undefined;
  });
}

/** A copy with the value at the path; the objects above it are made where they are not there. */
function withValue(target: unknown, [step, ...further]: KeyPath, value: unknown): unknown {
  if (step === undefined) return value;
  const members = isRecord(target) ? target : {};
  return { ...members, [step]: withValue(members[step], further, value) };
}

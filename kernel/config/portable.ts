/** Transfers the configuration to another gateway without its secrets: a reference to a variable replaces each. */
import type { TSchema } from "@sinclair/typebox";
import { isRecord, type KeyPath, mapStrings, parseKeyPath, valueAt } from "../text/key-path.ts";
import { schemaAt } from "./compose.ts";
import { findDifferences } from "./differences.ts";
import { type ConfigEdit, isMapOfEntries } from "./edits.ts";
import { isWholeReference } from "./references.ts";
import { maskText } from "./secrets.ts";

/** A secret that was replaced. */
interface LeftOutSecret {
  path: KeyPath;
  /** The variable that replaces the secret. */
  variable: string;
}

export interface PortableConfig {
  configuration: unknown;
  secrets: LeftOutSecret[];
}

/** Replaces each secret by a reference such as `${CHANNELS_MAIN_API_KEY}`. Existing references stay unchanged. */
export function replaceSecrets(raw: unknown, schema: TSchema): PortableConfig {
  const secrets: LeftOutSecret[] = [];
  const configuration = mapStrings(raw, (text, at) => {
    if (!isSecret(text, at, schema)) return text;
    const path = [...at];
    const variable = findFreeName(deriveVariableName(path), secrets);
    secrets.push({ path, variable });
    return formatReference(variable);
  });
  return { configuration, secrets };
}

/** Returns the edits that turn a file with the content `raw` into an exported configuration. */
export function planImport(
  configuration: Readonly<Record<string, unknown>>,
  raw: Readonly<Record<string, unknown>>,
  schema: TSchema,
): ConfigEdit[] {
  const target = restoreSecrets(configuration, raw, schema) as Record<string, unknown>;
  return findDifferences(raw, target, schema).map(({ key, kind }) => {
    const path = parseKeyPath(key);
    return kind === "removed" ? { path, remove: true } : { path, value: valueAt(target, path) };
  });
}

/**
 * Returns the content of the file after an import: the exported configuration with the secrets that exist here. These
 * replace the references that the export created, and fill places that the imported text leaves empty.
 */
function restoreSecrets(target: unknown, raw: unknown, schema: TSchema): unknown {
  const withReplacedReferences = mapStrings(target, (text, path) => {
    const ownValue = valueAt(raw, path);
    return typeof ownValue === "string" && isReferenceFor(text, path) ? ownValue : text;
  });
  let result = withReplacedReferences;
  mapStrings(raw, (text, path) => {
    if (maskText(text, path, schema) !== text && isUnset(result, path, schema))
      result = setValue(result, path, text);
    return text;
  });
  return result;
}

/** Whether a text is a secret. A reference is not: it only names the variable with the secret. */
function isSecret(text: string, path: KeyPath, schema: TSchema): boolean {
  return !isWholeReference(text) && maskText(text, path, schema) !== text;
}

function formatReference(variable: string): string {
  return `\${${variable}}`;
}

/** `channels.main.apiKey` → `CHANNELS_MAIN_API_KEY`. */
function deriveVariableName(path: KeyPath): string {
  const words = path.map((step) => String(step).replace(/([a-z\d])([A-Z])/g, "$1_$2"));
  const name = words.join("_").replace(/\W+/g, "_").toUpperCase();
  return /^\d/.test(name) ? `_${name}` : name;
}

/** Returns a name that is not yet used, because two keys may yield the same name: `my-key` and `my_key`. */
function findFreeName(name: string, secrets: readonly LeftOutSecret[]): string {
  const names = new Set(secrets.map(({ variable }) => variable));
  let candidate = name;
  for (let n = 2; names.has(candidate); n += 1) candidate = `${name}_${n}`;
  return candidate;
}

function isReferenceFor(text: string, path: KeyPath): boolean {
  const [, variable = ""] = /^\$\{(\w+)\}$/.exec(text) ?? [];
  return variable.replace(/_\d+$/, "") === deriveVariableName(path).replace(/_\d+$/, "");
}

/** Whether the path has no value, and is not within an entry of a map that was omitted on purpose. */
function isUnset(value: unknown, path: KeyPath, schema: TSchema): boolean {
  if (valueAt(value, path) !== undefined) return false;
  return path.every((step, i) => {
    if (typeof step === "number") return false;
    const parentPath = path.slice(0, i);
    const isEntry = isMapOfEntries(schemaAt(schema, parentPath));
    return !isEntry || valueAt(value, path.slice(0, i + 1)) !== undefined;
  });
}

/** Returns a copy with the value at the path. Missing objects above it are created. */
function setValue(target: unknown, [step, ...further]: KeyPath, value: unknown): unknown {
  if (step === undefined) return value;
  const members = isRecord(target) ? target : {};
  return { ...members, [step]: setValue(members[step], further, value) };
}

/** Edits of single keys, and the rule that entries of a map are only removed by name. */
import type { TSchema } from "@sinclair/typebox";
import { mapValueSchema } from "../schema/defaults.ts";
import { formatKeyPath, isAtOrBelow, isRecord, type KeyPath, valueAt } from "../text/key-path.ts";
import { schemaAt } from "./compose.ts";
import { errors } from "./errors.ts";
import { setInText, unsetInText } from "./json5/edit.ts";
import type { Reading } from "./read.ts";
import { expandReferences } from "./references.ts";

export type ConfigEdit =
  /** Strings are written as in the file: `${NAME}` is a reference. Undefined members keep their text. */
  | { path: KeyPath; value: unknown }
  /** Removes the key, which restores its default. */
  | { path: KeyPath; remove: true };

export const isRemoval = (edit: ConfigEdit): edit is { path: KeyPath; remove: true } =>
  "remove" in edit;

/** Returns the file's text with the edit applied. Comments, order and references of all other keys stay. */
export function applyEdit(text: string, edit: ConfigEdit, { raw, env }: Reading): string {
  if (isRemoval(edit)) return unsetInText(text, edit.path);
  const meaning = expandReferences(valueAt(raw, edit.path), env).value;
  return setInText(text, edit.path, edit.value, meaning);
}

/**
 * Throws if entries of a map (a channel, a key, a mapping) would be removed without an edit that names them: a caller
 * that writes a whole map may not know entries that others have added.
 */
export function refuseLostEntries(
  before: unknown,
  after: unknown,
  edits: readonly ConfigEdit[],
  schema: TSchema,
): void {
  const removed = edits.filter(isRemoval).map(({ path }) => formatKeyPath(path));
  const isNamed = (key: string) => removed.some((path) => isAtOrBelow(key, path));
  const lostPaths = listEntries(before, schema, [])
    .filter((path) => valueAt(after, path) === undefined)
    .map(formatKeyPath)
    .filter((key) => !isNamed(key));
  if (lostPaths.length === 0) return;
  throw errors.entriesLost(
    { entries: lostPaths.slice(0, 10).join(", ") },
    { param: lostPaths[0] as string, details: { lost: lostPaths } },
  );
}

/** Throws if an edit would remove a map with all its entries. */
export function refuseWholeMaps(
  before: unknown,
  edits: readonly ConfigEdit[],
  schema: TSchema,
): void {
  for (const { path } of edits.filter(isRemoval)) {
    const entries = listEntries(valueAt(before, path), schemaAt(schema, path), path);
    if (entries.length === 0) continue;
    const key = formatKeyPath(path);
    throw errors.wholeMapRemoved(
      { key, entries: entries.slice(0, 10).map(formatKeyPath).join(", ") },
      { param: key },
    );
  }
}

/** Returns the paths of all entries of maps in a value, such as `hooks.entries.hello`. */
function listEntries(value: unknown, schema: TSchema | undefined, path: KeyPath): KeyPath[] {
  if (!schema || !isRecord(value)) return [];
  const isMap = isMapOfEntries(schema);
  const properties = (schema["properties"] ?? {}) as Record<string, unknown>;
  return Object.entries(value).flatMap(([name, item]) => {
    const nestedEntries = listEntries(item, schemaAt(schema, [name]), [...path, name]);
    const isEntry = isMap && !Object.hasOwn(properties, name);
    return isEntry ? [[...path, name], ...nestedEntries] : nestedEntries;
  });
}

/** Whether the schema is a map of objects by name. Headers and variables are maps of strings. */
export function isMapOfEntries(schema: TSchema | undefined): boolean {
  const value = schema && mapValueSchema(schema);
  return value !== undefined && allowsObjects(value);
}

function allowsObjects(schema: TSchema): boolean {
  const variants = (schema["anyOf"] ?? schema["allOf"]) as TSchema[] | undefined;
  return variants ? variants.some(allowsObjects) : schema["type"] === "object";
}

/** What differs between two versions of the configuration, key by key, as it may be shown. */
import { isDeepStrictEqual } from "node:util";
import type { TSchema } from "@sinclair/typebox";
import { formatKeyPath, isRecord, type KeyPath, mapStrings } from "../text/key-path.ts";
import { schemaAt } from "./compose.ts";
import type { ConfigDifference } from "../contract/changes.ts";
import { isMapOfEntries } from "./edits.ts";
import { isWholeReference } from "./references.ts";
import { maskText } from "./secrets.ts";

/** Descends while both sides are objects, so that it names an entry of a map and not the whole map. */
export function differencesBetween(
  before: Readonly<Record<string, unknown>>,
  after: Readonly<Record<string, unknown>>,
  schema: TSchema,
): ConfigDifference[] {
  const compare = (one: unknown, other: unknown, path: KeyPath): ConfigDifference[] => {
    if (isDeepStrictEqual(one, other)) return [];
    const [left, right] = [membersOf(one), membersOf(other)];
    const isWholeEntry = (one === undefined || other === undefined) && isEntry(path, schema);
    if (!left || !right || isWholeEntry) return [difference(one, other, path, schema)];
    const names = [...new Set([...Object.keys(left), ...Object.keys(right)])];
    if (names.length === 0) return [difference(one, other, path, schema)];
    return names.flatMap((name) => compare(own(left, name), own(right, name), [...path, name]));
  };
  return compare(before, after, []);
}

/** A section that is not there has no members; what is no object has none that could be compared. */
function membersOf(value: unknown): Record<string, unknown> | undefined {
  if (value === undefined) return {};
  return isRecord(value) ? value : undefined;
}

/** An added or removed entry of a map is one difference; in a section, each key is one. */
function isEntry(path: KeyPath, schema: TSchema): boolean {
  return path.length > 0 && isMapOfEntries(schemaAt(schema, path.slice(0, -1)));
}

function difference(
  before: unknown,
  after: unknown,
  path: KeyPath,
  schema: TSchema,
): ConfigDifference {
  const key = formatKeyPath(path);
  if (before === undefined) return { key, kind: "added", after: masked(after, path, schema) };
  if (after === undefined) return { key, kind: "removed", before: masked(before, path, schema) };
  return {
    key,
    kind: "changed",
    before: masked(before, path, schema),
    after: masked(after, path, schema),
  };
}

const own = (value: Record<string, unknown>, name: string): unknown =>
  Object.hasOwn(value, name) ? value[name] : undefined;

/** A reference to a variable is not a secret: it only names the variable that holds one. */
function masked(value: unknown, path: KeyPath, schema: TSchema): unknown {
  const show = (text: string, at: KeyPath) =>
    isWholeReference(text) ? text : maskText(text, at, schema);
  return mapStrings(value, show, [...path]);
}

/** Compares two versions of the configuration key by key, with secrets masked. */
import { isDeepStrictEqual } from "node:util";
import type { TSchema } from "@sinclair/typebox";
import { formatKeyPath, isRecord, type KeyPath, mapStrings } from "../text/key-path.ts";
import { schemaAt } from "./compose.ts";
import type { ConfigDifference } from "../contract/changes.ts";
import { isMapOfEntries } from "./edits.ts";
import { isWholeReference } from "./references.ts";
import { maskText } from "./secrets.ts";

/**
 * Returns the differences. Descends while both sides are objects, so that it names an entry of a map and not the whole
 * map.
 */
export function findDifferences(
  before: Readonly<Record<string, unknown>>,
  after: Readonly<Record<string, unknown>>,
  schema: TSchema,
): ConfigDifference[] {
  const compare = (earlier: unknown, later: unknown, path: KeyPath): ConfigDifference[] => {
    if (isDeepStrictEqual(earlier, later)) return [];
    const [earlierMembers, laterMembers] = [getMembers(earlier), getMembers(later)];
    const isWholeEntry = (earlier === undefined || later === undefined) && isEntry(path, schema);
    if (!earlierMembers || !laterMembers || isWholeEntry)
      return [describeDifference(earlier, later, path, schema)];
    const names = [...new Set([...Object.keys(earlierMembers), ...Object.keys(laterMembers)])];
    if (names.length === 0) return [describeDifference(earlier, later, path, schema)];
    return names.flatMap((name) =>
      compare(ownMember(earlierMembers, name), ownMember(laterMembers, name), [...path, name]),
    );
  };
  return compare(before, after, []);
}

/** Returns the members of an object; none for a missing section, and undefined for a value that is no object. */
function getMembers(value: unknown): Record<string, unknown> | undefined {
  if (value === undefined) return {};
  return isRecord(value) ? value : undefined;
}

/**
 * Whether the path is an entry of a map. Adding or removing one is a single difference; in a section, each key is one.
 */
function isEntry(path: KeyPath, schema: TSchema): boolean {
  return path.length > 0 && isMapOfEntries(schemaAt(schema, path.slice(0, -1)));
}

function describeDifference(
  before: unknown,
  after: unknown,
  path: KeyPath,
  schema: TSchema,
): ConfigDifference {
  const key = formatKeyPath(path);
  if (before === undefined) return { key, kind: "added", after: maskValue(after, path, schema) };
  if (after === undefined) return { key, kind: "removed", before: maskValue(before, path, schema) };
  return {
    key,
    kind: "changed",
    before: maskValue(before, path, schema),
    after: maskValue(after, path, schema),
  };
}

const ownMember = (value: Record<string, unknown>, name: string): unknown =>
  Object.hasOwn(value, name) ? value[name] : undefined;

/** A reference to a variable is not a secret: it only names the variable that holds one. */
function maskValue(value: unknown, path: KeyPath, schema: TSchema): unknown {
  const show = (text: string, at: KeyPath) =>
    isWholeReference(text) ? text : maskText(text, at, schema);
  return mapStrings(value, show, [...path]);
}

/** Finds the new items of a list. */
import { createHash } from "node:crypto";
import { exactJson } from "portico";
import { errors } from "./errors.ts";
import { TimeSlices } from "./time-slices.ts";

/** An item that a source lists. */
export interface Item {
  /** The value of `item` in templates. */
  value: unknown;
  /** The id that the source gives the item (`key`, guid). */
  id?: string;
  link?: string;
}

const shortHash = (text: string): string =>
  createHash("sha256").update(text).digest("base64url").slice(0, 16);

/** Genuine JSON is never nested more deeply. A deeper item is meant to exhaust the gateway. */
const MAX_DEPTH = 500;

/**
 * Returns JSON with sorted keys, so that equal values have equal texts. Throws `upstream_error` for a value that is too
 * deep.
 */
function canonicalize(value: unknown, depth = 0): string {
  if (depth > MAX_DEPTH) throw errors.itemTooDeep();
  if (Array.isArray(value))
    return `[${value.map((entry) => canonicalize(entry, depth + 1)).join(",")}]`;
  if (typeof value !== "object" || value === null || exactJson.isNumber(value))
    return exactJson.stringify(value) ?? "null";
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${entries.map(([key, inner]) => `${JSON.stringify(key)}:${canonicalize(inner, depth + 1)}`).join(",")}}`;
}

interface KeyedItem {
  item: Item;
  /** Hashes of the item's id, link and content, in this order. */
  keys: string[];
}

const addKeys = (item: Item): KeyedItem => ({
  item,
  keys: [
    ...(item.id === undefined || item.id === "" ? [] : [shortHash(`i ${item.id}`)]),
    ...(item.link === undefined || item.link === "" ? [] : [shortHash(`l ${item.link}`)]),
    shortHash(`h ${canonicalize(item.value)}`),
  ],
});

/**
 * Finds the new items of a list. An item is identified by its id, else its link, else its content. A key that several items
 * of the list share identifies none of them, so their next key counts. All keys of every item are stored, so that no item
 * is reported twice if other keys become unique.
 */
export async function findNewItems(
  items: readonly Item[],
  seenKeys: readonly string[],
): Promise<{ newItems: Item[]; seenKeys: string[] }> {
  const keyedItems = await TimeSlices.map(items, addKeys);
  const counts = await countKeys(keyedItems);
  const previousKeys = new Set(seenKeys);
  const newKeys = new Set<string>();
  const newKeyedItems = await TimeSlices.filter(keyedItems, ({ keys }) => {
    const identifyingKey = keys.find((key) => counts.get(key) === 1) ?? keys.at(-1)!;
    if (previousKeys.has(identifyingKey) || newKeys.has(identifyingKey)) return false;
    newKeys.add(identifyingKey);
    return true;
  });
  return {
    newItems: newKeyedItems.map(({ item }) => item),
    seenKeys: mergeSeenKeys(
      seenKeys,
      keyedItems.flatMap(({ keys }) => keys),
    ),
  };
}

/** Counts the items that have each key. */
async function countKeys(keyedItems: readonly KeyedItem[]): Promise<ReadonlyMap<string, number>> {
  const slices = new TimeSlices();
  const counts = new Map<string, number>();
  for (const { keys } of keyedItems) {
    if (slices.isOver) await slices.pause();
    for (const key of keys) counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  return counts;
}

const KEEP_AT_LEAST = 3_000;

/** Moves the current keys to the end and keeps all of them. Of the others, the oldest are dropped. */
function mergeSeenKeys(seenKeys: readonly string[], current: readonly string[]): string[] {
  const currentKeys = new Set(current);
  const remainingCount = Math.max(KEEP_AT_LEAST, 2 * currentKeys.size) - currentKeys.size;
  const older = seenKeys.filter((key) => !currentKeys.has(key));
  return [...older.slice(Math.max(0, older.length - remainingCount)), ...currentKeys];
}

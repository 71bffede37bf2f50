/** Which items are new. */
import { createHash } from "node:crypto";
import { exactJson } from "portico";
import { errors } from "./errors.ts";
import { TimeSlices } from "./time-slices.ts";

/** One thing that a source lists. */
export interface Item {
  /** What templates see as `item`. */
  value: unknown;
  /** The source's own name for it (`key`, guid). */
  id?: string;
  link?: string;
}

const short = (text: string): string =>
  createHash("sha256").update(text).digest("base64url").slice(0, 16);

/** Deeper than any JSON that people read; a deeper item was made to exhaust the gateway. */
const MAX_DEPTH = 500;

/** JSON with sorted keys: the same content always reads the same. Throws `upstream_error` where it is too deep. */
function canonical(value: unknown, depth = 0): string {
  if (depth > MAX_DEPTH) throw errors.itemTooDeep();
  if (Array.isArray(value))
    return `[${value.map((entry) => canonical(entry, depth + 1)).join(",")}]`;
  if (typeof value !== "object" || value === null || exactJson.isNumber(value))
    return exactJson.stringify(value) ?? "null";
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${entries.map(([key, inner]) => `${JSON.stringify(key)}:${canonical(inner, depth + 1)}`).join(",")}}`;
}

interface Known {
  item: Item;
  /** From the most to the least telling; the last is the content's hash. */
  keys: string[];
}

const keysOf = (item: Item): Known => ({
  item,
  keys: [
    ...(item.id === undefined || item.id === "" ? [] : [short(`i ${item.id}`)]),
    ...(item.link === undefined || item.link === "" ? [] : [short(`l ${item.link}`)]),
    short(`h ${canonical(item.value)}`),
  ],
});

/**
 * Splits a list into what was seen and what is new. An item is identified by its id, else its link, else its content; a
 * key that several items of one list share identifies none of them, and the next one counts. All keys of every item are remembered,
 * so a source that changes which of them are unique brings nothing twice.
 */
export async function newItems(
  items: readonly Item[],
  seen: readonly string[],
): Promise<{ fresh: Item[]; seen: string[] }> {
  const known = await TimeSlices.map(items, keysOf);
  const times = await countKeys(known);
  const before = new Set(seen);
  const newIds = new Set<string>();
  const fresh = await TimeSlices.filter(known, ({ keys }) => {
    const telling = keys.find((key) => times.get(key) === 1) ?? keys.at(-1)!;
    if (before.has(telling) || newIds.has(telling)) return false;
    newIds.add(telling);
    return true;
  });
  return {
    fresh: fresh.map(({ item }) => item),
    seen: remembered(
      seen,
      known.flatMap(({ keys }) => keys),
    ),
  };
}

/** How many items have each key. */
async function countKeys(known: readonly Known[]): Promise<ReadonlyMap<string, number>> {
  const slices = new TimeSlices();
  const times = new Map<string, number>();
  for (const { keys } of known) {
    if (slices.isOver) await slices.pause();
    for (const key of keys) times.set(key, (times.get(key) ?? 0) + 1);
  }
  return times;
}

const KEEP_AT_LEAST = 3_000;

/** What is listed now goes to the end and always stays; of the rest the oldest are forgotten. */
function remembered(seen: readonly string[], current: readonly string[]): string[] {
  const now = new Set(current);
  const room = Math.max(KEEP_AT_LEAST, 2 * now.size) - now.size;
  const older = seen.filter((key) => !now.has(key));
  return [...older.slice(Math.max(0, older.length - room)), ...now];
}

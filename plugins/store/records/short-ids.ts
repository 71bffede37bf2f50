/**
 * Ids in short. An id is `<kind>_`, the moment, and random bits: those of one hour begin alike, so that its end is what
 * tells them apart.
 */
import { errors } from "../errors.ts";

/** Fewer characters are no name for anything. */
const SHORTEST = 6;

/** For each id, `<kind>_` and as much of its end as tells it from the others. */
export function shortIds(ids: readonly string[]): string[] {
  let length = SHORTEST;
  const cut = (id: string) => id.slice(Math.max(kindOf(id).length, id.length - length));
  const distinct = new Set(ids).size;
  while (length < 64 && new Set(ids.map(cut)).size < distinct) length++;
  return ids.map((id) => kindOf(id) + cut(id));
}

/**
 * The record that `given` means: its beginning or its end, with or without `<kind>_`. Throws `conflict` where it fits
 * several.
 */
export function byShortId<T extends { id: string }>(
  records: readonly T[],
  shortId: string,
): T | undefined {
  const fits = ({ id }: T): boolean => {
    const kind = kindOf(id);
    const part = shortId.startsWith(kind) ? shortId.slice(kind.length) : shortId;
    return (
      part !== "" &&
      (id.startsWith(shortId) || id.startsWith(part, kind.length) || id.endsWith(part))
    );
  };
  const [record, ...more] = records.filter(fits);
  if (more.length === 0) return record;
  throw errors.ambiguousId({ count: more.length + 1, part: shortId });
}

const kindOf = (id: string): string => id.slice(0, id.indexOf("_") + 1);

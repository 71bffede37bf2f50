/**
 * Shortened ids. An id consists of `<kind>_`, a time and random bits. Ids of the same hour begin alike, so a shortened id is
 * the end of the id.
 */
import { errors } from "../errors.ts";

/** The smallest number of characters in a shortened id. */
const MIN_LENGTH = 6;

/** Returns for each id `<kind>_` and as much of its end as makes it distinct from the others. */
export function shortIds(ids: readonly string[]): string[] {
  let length = MIN_LENGTH;
  const cut = (id: string) => id.slice(Math.max(getKindPrefix(id).length, id.length - length));
  const distinct = new Set(ids).size;
  while (length < 64 && new Set(ids.map(cut)).size < distinct) length++;
  return ids.map((id) => getKindPrefix(id) + cut(id));
}

/**
 * Returns the record whose id begins or ends with `shortId`, with or without `<kind>_`. Throws `conflict` if several records
 * match.
 */
export function byShortId<T extends { id: string }>(
  records: readonly T[],
  shortId: string,
): T | undefined {
  const matches = ({ id }: T): boolean => {
    const kind = getKindPrefix(id);
    const part = shortId.startsWith(kind) ? shortId.slice(kind.length) : shortId;
    return (
      part !== "" &&
      (id.startsWith(shortId) || id.startsWith(part, kind.length) || id.endsWith(part))
    );
  };
  const [record, ...more] = records.filter(matches);
  if (more.length === 0) return record;
  throw errors.ambiguousId({ count: more.length + 1, part: shortId });
}

const getKindPrefix = (id: string): string => id.slice(0, id.indexOf("_") + 1);

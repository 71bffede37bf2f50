import { isDeepStrictEqual } from "node:util";
import { shorten } from "./clip.ts";

/**
 * Returns a `refuse` function for a map by name. Its message about an invalid name continues a sentence that begins with
 * the map's key.
 */
export function refuseNames(fits: RegExp, expected: string): (map: unknown) => string | undefined {
  return (map) => {
    const invalidName = Object.keys(Object(map) as object).find((name) => !fits.test(name));
    return invalidName === undefined
      ? undefined
      : `has an entry named ${shorten(JSON.stringify(invalidName), 60)}, but a name must consist of ${expected}`;
  };
}

/**
 * Returns a function that is true for an entry of a map that was already invalid at the start, and is unchanged. Such an
 * entry is ignored and reported, and does not block other changes. `entries` is the map at the start.
 */
export function wrongAtStart<T>(
  entries: Readonly<Record<string, T>>,
  isWrong: (name: string, entry: T) => boolean,
): (name: string, entry: T | undefined) => boolean {
  const invalidEntries = new Map(
    Object.entries(entries).filter(([name, entry]) => isWrong(name, entry)),
  );
  return (name, entry) =>
    invalidEntries.has(name) && isDeepStrictEqual(entry, invalidEntries.get(name));
}

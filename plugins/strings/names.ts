import { isDeepStrictEqual } from "node:util";
import { shorten } from "./clip.ts";

/** For the `refuse` of a map by name: a name in it that does not fit, to be read after the map's key. */
export function refuseNames(fits: RegExp, expected: string): (map: unknown) => string | undefined {
  return (map) => {
    const wrong = Object.keys(Object(map) as object).find((name) => !fits.test(name));
    return wrong === undefined
      ? undefined
      : `has the name ${shorten(JSON.stringify(wrong), 60)}: write ${expected}`;
  };
}

/**
 * Whether an entry of a map by name, as a change brings it, was wrong at the start already, word for word: such a one stays
 * out and is named, and keeps no other change from being taken. `entries`: the map at the start.
 */
export function wrongAtStart<T>(
  entries: Readonly<Record<string, T>>,
  isWrong: (name: string, entry: T) => boolean,
): (name: string, entry: T | undefined) => boolean {
  const wrong = new Map(Object.entries(entries).filter(([name, entry]) => isWrong(name, entry)));
  return (name, entry) => wrong.has(name) && isDeepStrictEqual(entry, wrong.get(name));
}

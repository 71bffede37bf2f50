import { shorten } from "./clip.ts";

/** For the `refuse` of a map by name: a name in it that does not fit, to be read after the map's key. */
export function refuseNames(fits: RegExp, expected: string): (map: unknown) => string | undefined {
  return (map) => {
    const wrong = Object.keys(Object(map) as object).find((name) => !fits.test(name));
    return wrong === undefined ? undefined : `has the name ${shorten(JSON.stringify(wrong), 60)}: write ${expected}`;
  };
}

/** Finds members of a request that a translation does not read, for `x-portico-dropped`. */
import { isObject } from "./is-object.ts";
import type { JsonObject } from "./read-value.ts";

/** The paths of the members of an object that are not among the `known` ones. None for a value that is no object. */
export function unknownMembers(object: unknown, known: readonly string[], path: string): string[] {
  if (!isObject(object)) return [];
  return Object.entries(object)
    .filter(([name, value]) => value != null && !known.includes(name))
    .map(([name]) => `${path}.${name}`);
}

/** The paths that `pathsIn` returns for the objects of a list. None for a value that is no list. */
export function pathsInList(
  list: unknown,
  path: string,
  pathsIn: (object: JsonObject, path: string) => string[],
): string[] {
  if (!Array.isArray(list)) return [];
  return list.flatMap((item, i) => (isObject(item) ? pathsIn(item, `${path}[${i}]`) : []));
}

/** Finds members of a request that a translation does not read, for `x-portico-dropped`. */
import { isObject, type JsonMembers } from "./is-object.ts";

/** The members of an object that a translation reads. */
export interface ReadObject {
  members: readonly string[];
  /** The members that are read of those that are objects, or lists of objects. */
  within?: ReadMembers;
}

/** By member name. A function returns undefined for an object that the translation refuses, or drops as a whole. */
export type ReadMembers = Readonly<
  Record<string, ReadObject | ((object: JsonMembers) => ReadObject | undefined)>
>;

/** Returns the paths of the members that are not read, at every level below the object itself. */
export function unreadMembers(object: JsonMembers, read: ReadMembers, path = ""): string[] {
  return Object.entries(read).flatMap(([name, memberRead]) => {
    const at = path === "" ? name : `${path}.${name}`;
    const value = object[name];
    if (!Array.isArray(value)) return unreadIn(value, memberRead, at);
    return value.flatMap((item, i) => unreadIn(item, memberRead, `${at}[${i}]`));
  });
}

function unreadIn(value: unknown, read: ReadMembers[string], path: string): string[] {
  if (!isObject(value)) return [];
  const readObject = typeof read === "function" ? read(value) : read;
  if (readObject === undefined) return [];
  return [
    ...unknownMembers(value, readObject.members, path),
    ...unreadMembers(value, readObject.within ?? {}, path),
  ];
}

/** Returns the paths of the members of an object that are not in `knownNames`. Empty for a value that is not an object. */
export function unknownMembers(
  object: unknown,
  knownNames: readonly string[],
  path: string,
): string[] {
  if (!isObject(object)) return [];
  return Object.entries(object)
    .filter(([name, value]) => value != null && !knownNames.includes(name))
    .map(([name]) => `${path}.${name}`);
}

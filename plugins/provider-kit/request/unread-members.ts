/** Finds members of a request that a translation does not read, for `x-portico-dropped`. */
import { isObject, type JsonMembers } from "./is-object.ts";

/** The members of an object that a translation reads. */
export interface ReadObject {
  members: readonly string[];
  /** The same for its members that are objects, or lists of objects. */
  within?: ReadMembers;
}

/** By name of the member. A function returns undefined for an object that the translation refuses, or drops as a whole. */
export type ReadMembers = Readonly<
  Record<string, ReadObject | ((object: JsonMembers) => ReadObject | undefined)>
>;

/** The paths of the members that are not read, at every depth below the object itself. */
export function unreadMembers(object: JsonMembers, read: ReadMembers, path = ""): string[] {
  return Object.entries(read).flatMap(([name, ofMember]) => {
    const at = path === "" ? name : `${path}.${name}`;
    const value = object[name];
    if (!Array.isArray(value)) return unreadIn(value, ofMember, at);
    return value.flatMap((item, i) => unreadIn(item, ofMember, `${at}[${i}]`));
  });
}

function unreadIn(value: unknown, read: ReadMembers[string], path: string): string[] {
  if (!isObject(value)) return [];
  const known = typeof read === "function" ? read(value) : read;
  if (known === undefined) return [];
  return [
    ...unknownMembers(value, known.members, path),
    ...unreadMembers(value, known.within ?? {}, path),
  ];
}

/** The paths of the members of an object that are not among the `known` ones. None for a value that is no object. */
export function unknownMembers(object: unknown, known: readonly string[], path: string): string[] {
  if (!isObject(object)) return [];
  return Object.entries(object)
    .filter(([name, value]) => value != null && !known.includes(name))
    .map(([name]) => `${path}.${name}`);
}

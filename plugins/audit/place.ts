/** Where a page of the trail ends: the time and the id of its last entry. */
import { errors } from "./errors.ts";

export interface Place {
  at: number;
  id: string;
}

/** Whether the first comes after the second, the newest being first. */
export function isAfter(one: Place, other: Place): boolean {
  return one.at < other.at || (one.at === other.at && one.id < other.id);
}

export function placeText({ at, id }: Place): string {
  return `${at}.${id}`;
}

export function readPlace(text: string | null): Place | undefined {
  if (text === null) return undefined;
  const [, at, id] = /^(\d{1,15})\.([\w-]{1,100})$/.exec(text) ?? [];
  if (at === undefined || id === undefined) throw errors.badPlace({ param: "before" });
  return { at: Number(at), id };
}

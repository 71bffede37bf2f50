/** The position at which a page of the trail ends: the time and the id of its last entry. */
import { errors } from "./errors.ts";

export interface Place {
  at: number;
  id: string;
}

/** True if `a` comes after `b` in the order from newest to oldest. */
export function isAfter(a: Place, b: Place): boolean {
  return a.at < b.at || (a.at === b.at && a.id < b.id);
}

export function formatPlace({ at, id }: Place): string {
  return `${at}.${id}`;
}

export function parsePlace(text: string | null): Place | undefined {
  if (text === null) return undefined;
  const [, at, id] = /^(\d{1,15})\.([\w-]{1,100})$/.exec(text) ?? [];
  if (at === undefined || id === undefined) throw errors.badPlace({ param: "before" });
  return { at: Number(at), id };
}

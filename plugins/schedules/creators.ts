/** The rights of principals to jobs and polls, which act on behalf of the principal that created them. */
import type { Principal } from "portico";
import { errors } from "./errors.ts";

/** An entry as its routes send it. */
type EntryView = Record<string, unknown>;

/** Selects the entries that the principal created; the owner sees all of them. */
export function entriesOf(principal: Principal, entries: readonly EntryView[]): EntryView[] {
  return entries.filter((entry) => isTheirs(principal, entry));
}

/**
 * Throws `not_found` for an entry that another principal created. The error does not even confirm that the name exists.
 */
export function refuseOthersEntry(principal: Principal, noun: string, entry: EntryView): void {
  if (isTheirs(principal, entry)) return;
  throw errors.notYours({ noun });
}

function isTheirs(principal: Principal, entry: EntryView): boolean {
  return principal === "owner" || (entry["createdBy"] ?? entry["principal"]) === principal;
}

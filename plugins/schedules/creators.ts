/** Who made a job or a poll, and so whom it acts for. */
import type { Principal } from "portico";
import { errors } from "./errors.ts";

/** An entry as its routes send it. */
type EntryView = Record<string, unknown>;

/** Selects the entries that the principal made; the owner sees all of them. */
export function entriesOf(principal: Principal, entries: readonly EntryView[]): EntryView[] {
  return entries.filter((entry) => isTheirs(principal, entry));
}

/** Throws `not_found` for an entry that another principal made: the error does not even confirm its name. */
export function refuseOthersEntry(principal: Principal, noun: string, entry: EntryView): void {
  if (isTheirs(principal, entry)) return;
  throw errors.notYours({ noun });
}

function isTheirs(principal: Principal, entry: EntryView): boolean {
  return principal === "owner" || (entry["createdBy"] ?? entry["principal"]) === principal;
}

/** Everything that goes by one name: the directories that could provide it, which of them is meant, and what runs. */
import type { Scope } from "../../timing/scope.ts";
import type { Logger } from "../../contract/index.ts";
import type { Attempt } from "./attempt.ts";
import type { Found } from "./discover.ts";
import type { Problem } from "../../loader/problem.ts";
import type { Source } from "../../loader/load.ts";

/** A directory that could provide a name, as it was when it was read. */
export interface Candidate<M = unknown> extends Found {
  /** What it says of itself; undefined where that cannot be read. */
  meta?: M;
  source?: Source;
  /** Of the version on disk: changes with anything in it that counts. */
  hash: string;
  /** What is odd but harmless. */
  warnings: readonly string[];
  /** Why it cannot be loaded. */
  problem?: Problem;
}

/** One loaded state of a candidate's files, with what its kind knows of it. */
export interface Version {
  candidate: Candidate;
  loadMs: number;
}

/** The version that runs, with all that it registered. */
interface Active<V> {
  version: V;
  scope: Scope;
  /** Counts up with each swap since the gateway started. */
  generation: number;
  loadedAt: string;
}

/** Why a candidate is not to run, though it could be loaded. */
export interface DisabledReason {
  state: "disabled" | "ineligible" | "refused" | "unapproved";
  reasons: readonly string[];
}

export interface Slot<V extends Version = Version> {
  readonly name: string;
  readonly log: Logger;
  /** Highest first, one of each root. Empty: the extension was removed. */
  candidates: readonly V["candidate"][];
  /** Further directories of that name in one root: they do not run. */
  duplicates: readonly V["candidate"][];
  /** The one that is meant to run: the highest that may. */
  top?: V["candidate"];
  disabled: ReadonlyMap<Candidate, DisabledReason>;
  active?: Active<V>;
  /** How far the newest version has come, and why it does not run. */
  attempt: Attempt;
  generation: number;
}

/** Names a version: the directory that it comes from and the hash of its content. */
export const idOf = ({ realDir, hash }: Candidate): string => `${realDir} ${hash}`;

/** Whether no directory provides the name any more. */
export const isGone = ({ candidates }: Slot): boolean => candidates.length === 0;

/** Whether a version of it is meant to run. */
export const isWanted = ({ top, disabled }: Slot): boolean =>
  top !== undefined && !disabled.has(top);

/** By name: within one root the directory that bears the name itself comes first, else the first by name. */
export function groupByName<C extends Candidate>(
  candidates: readonly C[],
): Map<string, { candidates: C[]; duplicates: C[] }> {
  const groups = new Map<string, { candidates: C[]; duplicates: C[] }>();
  const ordered = [...candidates].sort(
    (a, b) =>
      b.root.rank - a.root.rank ||
      Number(b.dir.endsWith(`/${b.name}`)) - Number(a.dir.endsWith(`/${a.name}`)) ||
      (a.dir < b.dir ? -1 : 1),
  );
  for (const candidate of ordered) {
    const group = groups.get(candidate.name) ?? { candidates: [], duplicates: [] };
    groups.set(candidate.name, group);
    const holder = group.candidates.find((other) => other.root.dir === candidate.root.dir);
    if (!holder) group.candidates.push(candidate);
    else {
      const message = `the name ${candidate.name} is taken by ${holder.dir} in the same root: rename one of them`;
      group.duplicates.push({ ...candidate, problem: { message, file: candidate.entry } });
    }
  }
  return groups;
}

/**
 * Decides which candidate is meant. A candidate that must not run replaces nothing. One that is switched off or broken
 * still replaces those below it.
 */
export function choose<V extends Version>(
  slot: Pick<Slot<V>, "candidates" | "top" | "disabled">,
  why: (candidate: V["candidate"]) => DisabledReason | undefined,
): void {
  const disabled = new Map<Candidate, DisabledReason>();
  slot.disabled = disabled;
  slot.top = undefined;
  for (const candidate of slot.candidates) {
    const { refused } = candidate;
    const reason: DisabledReason | undefined = refused
      ? { state: "refused", reasons: [refused] }
      : why(candidate);
    if (reason) disabled.set(candidate, reason);
    slot.top = candidate;
    if (reason?.state !== "refused" && reason?.state !== "unapproved") return;
  }
  // No candidate may run, so the highest one shows why.
  slot.top = slot.candidates[0];
}

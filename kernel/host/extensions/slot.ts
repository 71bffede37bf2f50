/**
 * A slot holds everything that belongs to one name: the directories that could provide it, the one that should run, and
 * the version that does.
 */
import type { Scope } from "../../timing/scope.ts";
import type { Logger } from "../../contract/index.ts";
import type { Attempt } from "./attempt.ts";
import type { ExtensionDirectory } from "./discover.ts";
import type { Problem } from "../../loader/problem.ts";
import type { Source } from "../../loader/load.ts";

/** A directory that could provide a name, as of the time when it was read. */
export interface Candidate<M = unknown> extends ExtensionDirectory {
  /** The extension's description of itself; undefined if it cannot be read. */
  meta?: M;
  source?: Source;
  /** The hash of the version on disk: it changes with every relevant part of the content. */
  hash: string;
  /** Problems that do not prevent the extension from running. */
  warnings: readonly string[];
  /** The reason why it cannot be loaded. */
  problem?: Problem;
}

/** One loaded state of a candidate's files. Each kind adds its own members. */
export interface Version {
  candidate: Candidate;
  loadMs: number;
}

/** The version that runs, with its registrations. */
interface Active<V> {
  version: V;
  scope: Scope;
  /** Counts up with each swap since the gateway started. */
  generation: number;
  loadedAt: string;
}

/** The reason why a candidate must not run, although it could be loaded. */
export interface DisabledReason {
  state: "disabled" | "ineligible" | "refused" | "unapproved";
  reasons: readonly string[];
}

export interface Slot<V extends Version = Version> {
  readonly name: string;
  readonly log: Logger;
  /** At most one candidate per root, the highest root first. Empty if the extension was removed. */
  candidates: readonly V["candidate"][];
  /** Further directories with the same name in the same root. They do not run. */
  duplicates: readonly V["candidate"][];
  /** The candidate that should run: the highest one that may. */
  top?: V["candidate"];
  disabled: ReadonlyMap<Candidate, DisabledReason>;
  active?: Active<V>;
  /** The progress of the newest version, and why it does not run. */
  attempt: Attempt;
  generation: number;
}

/** Names a version: the directory that it comes from and the hash of its content. */
export const identifyVersion = ({ realDir, hash }: Candidate): string => `${realDir} ${hash}`;

/** Whether no directory provides the name any more. */
export const isRemoved = ({ candidates }: Slot): boolean => candidates.length === 0;

/** Whether a version of the extension should run. */
export const shouldRun = ({ top, disabled }: Slot): boolean =>
  top !== undefined && !disabled.has(top);

/**
 * Groups candidates by name. Within one root, the directory with the same name comes first, else the first in
 * alphabetical order.
 */
export function groupByName<C extends Candidate>(
  candidates: readonly C[],
): Map<string, { candidates: C[]; duplicates: C[] }> {
  const groups = new Map<string, { candidates: C[]; duplicates: C[] }>();
  const sortedCandidates = [...candidates].sort(
    (a, b) =>
      b.root.rank - a.root.rank ||
      Number(b.dir.endsWith(`/${b.name}`)) - Number(a.dir.endsWith(`/${a.name}`)) ||
      (a.dir < b.dir ? -1 : 1),
  );
  for (const candidate of sortedCandidates) {
    const group = groups.get(candidate.name) ?? { candidates: [], duplicates: [] };
    groups.set(candidate.name, group);
    const holder = group.candidates.find((other) => other.root.dir === candidate.root.dir);
    if (!holder) group.candidates.push(candidate);
    else {
      const message = `the name ${candidate.name} is already used by ${holder.dir} in the same root: rename one of them`;
      group.duplicates.push({ ...candidate, problem: { message, file: candidate.entry } });
    }
  }
  return groups;
}

/**
 * Decides which candidate should run. A candidate that must not run replaces nothing. One that is disabled or broken
 * still replaces those below it.
 */
export function choose<V extends Version>(
  slot: Pick<Slot<V>, "candidates" | "top" | "disabled">,
  whyDisabled: (candidate: V["candidate"]) => DisabledReason | undefined,
): void {
  const disabled = new Map<Candidate, DisabledReason>();
  slot.disabled = disabled;
  slot.top = undefined;
  for (const candidate of slot.candidates) {
    const { refused } = candidate;
    const reason: DisabledReason | undefined = refused
      ? { state: "refused", reasons: [refused] }
      : whyDisabled(candidate);
    if (reason) disabled.set(candidate, reason);
    slot.top = candidate;
    if (reason?.state !== "refused" && reason?.state !== "unapproved") return;
  }
  // No candidate may run, so the highest one shows why.
  slot.top = slot.candidates[0];
}

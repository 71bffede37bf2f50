/** Describes extensions of every kind for display. */
import { formatProblem } from "../../loader/problem.ts";
import type { Candidate, DisabledReason, Slot, Version } from "./slot.ts";

/**
 * `active` runs; `stale` runs its last good version because the one on disk does not load; `failed` does not run;
 * `loading` is about to; `waiting` needs something else to run; `resting` failed too often in a row; `disabled` by the
 * configuration or by itself; `ineligible` lacks something that it requires; `refused` is unsafe to load; `unapproved`
 * waits for its approval; `shadowed` is replaced by one of the same name in a higher root.
 */
export type ExtensionState =
  | "active"
  | "stale"
  | "failed"
  | "loading"
  | "waiting"
  | "resting"
  | "shadowed"
  | DisabledReason["state"];

export type DescribedSlot<V extends Version = Version> = Omit<Slot<V>, "log" | "generation">;

/**
 * Returns the state of a candidate: `error` says why it does not run, or not in its newest version; `reason` says why
 * it is off. Takes a tenth of the time of a whole record.
 */
export function describeState(slot: DescribedSlot, candidate: Candidate) {
  const { top, active } = slot;
  const isTop = top === candidate;
  const runs = active?.version.candidate.dir === candidate.dir;
  const disabled = slot.disabled.get(candidate);
  const problem = disabled
    ? undefined
    : (candidate.problem ?? (isTop ? slot.attempt.problem : undefined));
  const explanation =
    disabled?.reasons.join("; ") ?? (problem && formatProblem(problem, candidate.realDir));
  // A disabled extension is no error.
  const [error, reason] = disabled?.state === "disabled" ? [undefined, explanation] : [explanation];
  return {
    name: slot.name,
    dir: candidate.dir,
    state: slot.duplicates.includes(candidate)
      ? "failed"
      : (disabled?.state ?? decideState({ isTop, runs, hasProblem: problem !== undefined })),
    error,
    reason,
    problem,
    isTop,
    runs,
  };
}

/** The state of an extension that may run. */
function decideState(facts: {
  isTop: boolean;
  runs: boolean;
  hasProblem: boolean;
}): ExtensionState {
  const { isTop, runs, hasProblem } = facts;
  if (!isTop) return runs ? "active" : "shadowed";
  if (hasProblem) return runs ? "stale" : "failed";
  return runs ? "active" : "loading";
}

export function describe(
  slot: DescribedSlot,
  candidate: Candidate,
  standing = describeState(slot, candidate),
) {
  const { top, active } = slot;
  const { name, dir, state, error, reason, problem, isTop, runs } = standing;
  const shadowedCandidate = isTop
    ? slot.candidates.find((other) => other.root.rank < candidate.root.rank)
    : undefined;
  const shadowingCandidate = !isTop && top && top.root.rank > candidate.root.rank ? top : undefined;
  return {
    name,
    state,
    error,
    reason,
    file: problem?.file,
    line: problem?.line,
    /** The name of the root: `bundled`, `extra`, `managed` or `workspace`. */
    root: candidate.root.name as string,
    dir,
    /** The directory that this one replaces. `shadowedBy` is the one that replaces it. */
    shadows: shadowedCandidate && { root: shadowedCandidate.root.name, dir: shadowedCandidate.dir },
    shadowedBy: shadowingCandidate && {
      root: shadowingCandidate.root.name,
      dir: shadowingCandidate.dir,
    },
    loaded:
      active && (isTop || runs)
        ? {
            generation: active.generation,
            hash: active.version.candidate.hash,
            /** ISO 8601. */
            loadedAt: active.loadedAt,
            loadMs: roundMs(active.version.loadMs),
            /** Differs from the record's directory while a broken override leaves an older version running. */
            dir: active.version.candidate.dir,
          }
        : undefined,
  };
}
export type ExtensionRecord = ReturnType<typeof describe>;

/** Rounds a time to the precision in which times are shown. */
export const roundMs = (ms: number): number => Math.round(ms * 100) / 100;
